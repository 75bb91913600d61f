//! Messages of up to 1 MiB. The engine limits a body to 256 KiB, the limit of SQS until August 2025:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
//!
//! The engine does not limit attributes, so a larger message is packed into an attribute, and unpacked when it is received.

use std::collections::HashMap;

use rustack_sqs_core::message::{md5_of_body, md5_of_message_attributes};
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_model::error::{SqsError, SqsErrorCode};
use rustack_sqs_model::input::{GetQueueAttributesInput, ReceiveMessageInput, SendMessageBatchInput, SendMessageInput};
use rustack_sqs_model::output::{
    GetQueueAttributesOutput, ReceiveMessageOutput, SendMessageBatchOutput, SendMessageOutput,
};
use rustack_sqs_model::types::{Message, MessageAttributeValue};
use serde::{Deserialize, Serialize};

/// The largest number of bytes of a message, or of all messages of a batch, with their attributes.
const MAX_BYTES: usize = 1024 * 1024;

/// The largest number of bytes of a body that the engine accepts.
const MAX_ENGINE_BYTES: usize = 256 * 1024;

/// The largest number of attributes of a message.
const MAX_ATTRIBUTES: usize = 10;

/// The attribute that contains a packed message. No client can use this name: in SQS a name may not begin with a period.
const PACKED: &str = ".packed";

/// The attribute of a queue with the largest size of a message.
const LIMIT: &str = "MaximumMessageSize";

type Attributes = HashMap<String, MessageAttributeValue>;

#[derive(Serialize, Deserialize)]
struct Packed {
    body: String,
    attributes: Attributes,
}

pub(super) async fn send(engine: &RustackSqs, mut input: SendMessageInput) -> Result<SendMessageOutput, SqsError> {
    if size(&input.message_body, &input.message_attributes) > MAX_BYTES {
        return Err(SqsError::invalid_parameter_value(format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {MAX_BYTES} bytes."
        )));
    }
    let mut digests = None;
    if is_large(&input.message_body) && takes_large(engine, &input.queue_url).await? {
        digests = pack(&mut input.message_body, &mut input.message_attributes)?;
    }
    let mut sent = engine.send_message(input).await?;
    if let Some(digests) = digests {
        (sent.md5_of_message_body, sent.md5_of_message_attributes) = (Some(digests.body), digests.attributes);
    }
    Ok(sent)
}

pub(super) async fn send_batch(
    engine: &RustackSqs,
    mut input: SendMessageBatchInput,
) -> Result<SendMessageBatchOutput, SqsError> {
    let entries = input.entries.iter();
    let size: usize = entries.map(|entry| size(&entry.message_body, &entry.message_attributes)).sum();
    if size > MAX_BYTES {
        let message = format!("Batch requests cannot be longer than {MAX_BYTES} bytes. You have sent {size} bytes.");
        return Err(SqsError::new(SqsErrorCode::BatchRequestTooLong, message));
    }
    let mut digests = HashMap::new();
    for entry in input.entries.iter_mut().filter(|entry| is_large(&entry.message_body)) {
        if takes_large(engine, &input.queue_url).await?
            && let Some(packed) = pack(&mut entry.message_body, &mut entry.message_attributes)?
        {
            digests.insert(entry.id.clone(), packed);
        }
    }
    let mut sent = engine.send_message_batch(input).await?;
    for entry in &mut sent.successful {
        if let Some(digests) = digests.remove(&entry.id) {
            (entry.md5_of_message_body, entry.md5_of_message_attributes) = (digests.body, digests.attributes);
        }
    }
    Ok(sent)
}

pub(super) async fn receive(
    engine: &RustackSqs,
    mut input: ReceiveMessageInput,
) -> Result<ReceiveMessageOutput, SqsError> {
    let names = input.message_attribute_names.clone();
    input.message_attribute_names.push(PACKED.to_owned());
    let mut received = engine.receive_message(input).await?;
    for message in &mut received.messages {
        unpack(message, &names)?;
    }
    Ok(received)
}

/// The attributes of a queue, with the real limit of 1 MiB.
pub(super) async fn attributes(
    engine: &RustackSqs,
    input: GetQueueAttributesInput,
) -> Result<GetQueueAttributesOutput, SqsError> {
    let mut found = engine.get_queue_attributes(input).await?;
    if let Some(limit) = found.attributes.get_mut(LIMIT).filter(|limit| **limit == MAX_ENGINE_BYTES.to_string()) {
        *limit = MAX_BYTES.to_string();
    }
    Ok(found)
}

fn is_large(body: &str) -> bool {
    body.len() > MAX_ENGINE_BYTES
}

/// Whether a queue accepts large messages: it does unless its owner has set a lower limit.
async fn takes_large(engine: &RustackSqs, queue_url: &str) -> Result<bool, SqsError> {
    let input = GetQueueAttributesInput { queue_url: queue_url.to_owned(), attribute_names: vec![LIMIT.to_owned()] };
    let limit = engine.get_queue_attributes(input).await?.attributes.remove(LIMIT);
    Ok(limit == Some(MAX_ENGINE_BYTES.to_string()))
}

/// The digests in the response to the sender, which checks them.
struct Digests {
    body: String,
    attributes: Option<String>,
}

/// Packs a message, unless it has too many attributes: then the engine rejects it.
fn pack(body: &mut String, attributes: &mut Attributes) -> Result<Option<Digests>, SqsError> {
    if attributes.len() > MAX_ATTRIBUTES {
        return Ok(None);
    }
    let digests = Digests { body: md5_of_body(body), attributes: md5_of_message_attributes(attributes) };
    let packed = Packed { body: std::mem::replace(body, PACKED.to_owned()), attributes: std::mem::take(attributes) };
    let packed = serde_json::to_string(&packed).map_err(|error| SqsError::internal_error(error.to_string()))?;
    let attribute = MessageAttributeValue {
        data_type: "String".to_owned(),
        string_value: Some(packed),
        ..MessageAttributeValue::default()
    };
    attributes.insert(PACKED.to_owned(), attribute);
    Ok(Some(digests))
}

/// Restores the original message, with the attributes of these names.
fn unpack(message: &mut Message, names: &[String]) -> Result<(), SqsError> {
    let Some(packed) = message.message_attributes.remove(PACKED).and_then(|packed| packed.string_value) else {
        return Ok(());
    };
    let Packed { body, mut attributes } =
        serde_json::from_str(&packed).map_err(|error| SqsError::internal_error(error.to_string()))?;
    message.md5_of_body = Some(md5_of_body(&body));
    message.md5_of_message_attributes = md5_of_message_attributes(&attributes);
    message.body = Some(body);
    let all = names.iter().any(|name| name == "All" || name == ".*");
    attributes.retain(|name, _| all || names.contains(name));
    message.message_attributes = attributes;
    Ok(())
}

fn size(body: &str, attributes: &Attributes) -> usize {
    let attribute = |(name, value): (&String, &MessageAttributeValue)| {
        let text = value.string_value.as_ref().map_or(0, String::len);
        let binary = value.binary_value.as_ref().map_or(0, Vec::len);
        name.len() + value.data_type.len() + text + binary
    };
    body.len() + attributes.iter().map(attribute).sum::<usize>()
}
