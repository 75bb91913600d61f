//! What the engine does not have yet: `StartMessageMoveTask`, which brings dead letters back to the queue they came from.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::Response;
use rustack_sqs_core::handler::RustackSqsHandler;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::body::SqsResponseBody;
use rustack_sqs_http::dispatch::SqsHandler;
use rustack_sqs_http::response::json_response;
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{
    DeleteMessageInput, GetQueueAttributesInput, GetQueueUrlInput, ListDeadLetterSourceQueuesInput,
    ListMessageMoveTasksInput, ReceiveMessageInput, SendMessageInput, StartMessageMoveTaskInput,
};
use rustack_sqs_model::operations::SqsOperation;
use rustack_sqs_model::output::{ListMessageMoveTasksOutput, StartMessageMoveTaskOutput};
use rustack_sqs_model::types::ListMessageMoveTasksResultEntry;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

const WAITING: &str = "ApproximateNumberOfMessages";

/// The engine's API, and the operations it lacks.
pub(super) struct Api {
    engine: Arc<RustackSqs>,
    handler: RustackSqsHandler,
    tasks: Tasks,
}

/// The tasks so far, the newest first.
type Tasks = Arc<Mutex<Vec<ListMessageMoveTasksResultEntry>>>;

impl Api {
    pub(super) fn new(engine: Arc<RustackSqs>) -> Self {
        Self { handler: RustackSqsHandler::new(Arc::clone(&engine)), engine, tasks: Arc::default() }
    }
}

type Handled = Pin<Box<dyn Future<Output = Result<Response<SqsResponseBody>, SqsError>> + Send>>;

impl SqsHandler for Api {
    fn handle_operation(&self, operation: SqsOperation, body: Bytes) -> Handled {
        let (engine, tasks) = (Arc::clone(&self.engine), Arc::clone(&self.tasks));
        match operation {
            SqsOperation::StartMessageMoveTask => {
                Box::pin(async move { answer(&start(&engine, &tasks, read(&body)?).await?) })
            }
            SqsOperation::ListMessageMoveTasks => Box::pin(async move { answer(&list(&tasks, &read(&body)?)) }),
            _ => self.handler.handle_operation(operation, body),
        }
    }
}

/// Moves what lies in the queue now, and answers when it is done: a task that is listed is never under way.
///
/// A message is sent before it is deleted, so that nothing is lost; it may come twice, which SQS allows.
async fn start(
    engine: &RustackSqs,
    tasks: &Tasks,
    input: StartMessageMoveTaskInput,
) -> Result<StartMessageMoveTaskOutput, SqsError> {
    let source = url(engine, &input.source_arn).await?;
    let destination = match &input.destination_arn {
        Some(arn) => url(engine, arn).await?,
        None => origin(engine, &source).await?,
    };
    // No more than there are, for one that fails again comes back here.
    let waiting = waiting(engine, &source).await?;
    let mut moved = 0;
    while moved < waiting {
        let batch = receive(engine, &source).await?;
        if batch.is_empty() {
            break;
        }
        for message in batch {
            let sent = SendMessageInput {
                queue_url: destination.clone(),
                message_body: message.body.unwrap_or_default(),
                message_attributes: message.message_attributes,
                ..SendMessageInput::default()
            };
            engine.send_message(sent).await?;
            let receipt_handle = message.receipt_handle.unwrap_or_default();
            engine.delete_message(DeleteMessageInput { queue_url: source.clone(), receipt_handle }).await?;
            moved += 1;
        }
    }
    let task_handle = Some(Uuid::new_v4().to_string());
    let task = ListMessageMoveTasksResultEntry {
        task_handle: task_handle.clone(),
        source_arn: Some(input.source_arn),
        destination_arn: input.destination_arn,
        max_number_of_messages_per_second: input.max_number_of_messages_per_second,
        approximate_number_of_messages_moved: Some(moved),
        approximate_number_of_messages_to_move: Some(waiting),
        failure_reason: None,
        status: Some("COMPLETED".to_owned()),
        started_timestamp: now(),
    };
    tasks.lock().unwrap_or_else(PoisonError::into_inner).insert(0, task);
    Ok(StartMessageMoveTaskOutput { task_handle })
}

fn list(tasks: &Tasks, input: &ListMessageMoveTasksInput) -> ListMessageMoveTasksOutput {
    let tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let of_queue = tasks.iter().filter(|task| task.source_arn.as_ref() == Some(&input.source_arn));
    // One unless asked for more.
    let most = input.max_results.and_then(|most| most.try_into().ok()).unwrap_or(1);
    ListMessageMoveTasksOutput { results: of_queue.take(most).cloned().collect() }
}

async fn url(engine: &RustackSqs, arn: &str) -> Result<String, SqsError> {
    let queue_name = arn.rsplit(':').next().unwrap_or_default().to_owned();
    let found = engine.get_queue_url(GetQueueUrlInput { queue_name, ..GetQueueUrlInput::default() }).await?;
    Ok(found.queue_url.unwrap_or_default())
}

/// The queue whose dead letters these are.
async fn origin(engine: &RustackSqs, dead_letters: &str) -> Result<String, SqsError> {
    let input =
        ListDeadLetterSourceQueuesInput { queue_url: dead_letters.to_owned(), next_token: None, max_results: None };
    let mut sources = engine.list_dead_letter_source_queues(input).await?.queue_urls;
    sources.pop().ok_or_else(|| SqsError::invalid_parameter_value("The source queue is no dead-letter queue."))
}

async fn waiting(engine: &RustackSqs, queue: &str) -> Result<i64, SqsError> {
    let (queue_url, attribute_names) = (queue.to_owned(), vec![WAITING.to_owned()]);
    let found = engine.get_queue_attributes(GetQueueAttributesInput { queue_url, attribute_names }).await?;
    Ok(found.attributes.get(WAITING).and_then(|number| number.parse().ok()).unwrap_or_default())
}

async fn receive(engine: &RustackSqs, queue: &str) -> Result<Vec<rustack_sqs_model::types::Message>, SqsError> {
    let input = ReceiveMessageInput {
        queue_url: queue.to_owned(),
        max_number_of_messages: Some(super::LARGEST_BATCH),
        wait_time_seconds: Some(0),
        message_attribute_names: vec!["All".to_owned()],
        ..ReceiveMessageInput::default()
    };
    Ok(engine.receive_message(input).await?.messages)
}

fn now() -> Option<i64> {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis().try_into().ok()
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body).map_err(|error| SqsError::invalid_parameter_value(error.to_string()))
}

fn answer(output: &impl Serialize) -> Result<Response<SqsResponseBody>, SqsError> {
    let json = serde_json::to_vec(output).map_err(|error| SqsError::internal_error(error.to_string()))?;
    Ok(json_response(json, &Uuid::new_v4().to_string()))
}
