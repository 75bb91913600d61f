//! A topic that speaks the wire of SNS, keeps its limits, and fails as the test says.
//! <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_sdk_sns::Client;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::config::{BehaviorVersion, Config, Credentials, Region};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use outbox::SnsTopic;
use tokio::net::TcpListener;

pub(crate) const ARN: &str = "arn:aws:sns:us-east-1:123456789012:domain-events";

/// A message as the topic gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// Name, data type and value.
    pub(crate) attributes: Vec<(String, String, String)>,
}

impl Message {
    fn size(&self) -> usize {
        self.text.len()
            + self.attributes.iter().map(|(name, kind, value)| name.len() + kind.len() + value.len()).sum::<usize>()
    }
}

/// The topic's result for one message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryResult {
    Taken,
    Failed {
        code: &'static str,
        sender_fault: bool,
    },
    /// It is in neither list.
    LeftOut,
}

/// The topic's response to one request.
pub(crate) enum Response {
    Each(Vec<EntryResult>),
    Error(u16, &'static str, &'static str),
}

type Script = dyn Fn(usize, &[Message]) -> Response + Send + Sync;

#[derive(Default)]
struct Seen {
    requests: Vec<Vec<Message>>,
    taken: Vec<Message>,
}

/// The topic on a free port, until it is dropped.
pub(crate) struct Topic {
    url: String,
    seen: Arc<Mutex<Seen>>,
    server: tokio::task::JoinHandle<()>,
}

impl Topic {
    /// A topic that takes everything.
    pub(crate) async fn start() -> Self {
        Self::scripted(|_, messages| Response::Each(vec![EntryResult::Taken; messages.len()])).await
    }

    /// A topic that responds as `script` says; the first request is number 1.
    pub(crate) async fn scripted(script: impl Fn(usize, &[Message]) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::<Mutex<Seen>>::default();
        let (of_server, script) = (Arc::clone(&seen), Arc::<Script>::from(Box::new(script) as Box<Script>));
        let router = Router::new().route("/", post(async move |body: String| respond(&of_server, &*script, &body)));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { url, seen, server }
    }

    pub(crate) fn publisher(&self) -> SnsTopic {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&self.url)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "topic"))
            .retry_config(RetryConfig::disabled())
            .http_client(aws_smithy_http_client::Builder::new().build_http());
        SnsTopic::new(Client::from_conf(config.build()), ARN)
    }

    /// The messages of each request.
    pub(crate) fn requests(&self) -> Vec<Vec<Message>> {
        self.seen.lock().expect("no panic").requests.clone()
    }

    /// How many messages each request had.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.requests().iter().map(Vec::len).collect()
    }

    /// The messages that were taken, in order.
    pub(crate) fn taken(&self) -> Vec<Message> {
        self.seen.lock().expect("no panic").taken.clone()
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn respond(seen: &Mutex<Seen>, script: &Script, body: &str) -> (StatusCode, String) {
    let (ids, messages): (Vec<_>, Vec<_>) = entries(body).into_iter().unzip();
    let mut seen = seen.lock().expect("no panic");
    seen.requests.push(messages.clone());
    let response = match &messages[..] {
        [] => Response::Error(400, "EmptyBatchRequest", "no entries"),
        all if all.len() > 10 => Response::Error(400, "TooManyEntriesInBatchRequest", "more than 10"),
        all if all.iter().map(Message::size).sum::<usize>() > 262_144 => {
            Response::Error(400, "BatchRequestTooLong", "more than 262144 bytes")
        }
        all => script(seen.requests.len(), all),
    };
    let results = match response {
        Response::Each(results) => results,
        Response::Error(status, code, message) => {
            let fault = if status < 500 { "Sender" } else { "Receiver" };
            let xml = format!(
                "<ErrorResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><Error><Type>{fault}</Type>\
                 <Code>{code}</Code><Message>{message}</Message></Error><RequestId>r</RequestId></ErrorResponse>"
            );
            return (StatusCode::from_u16(status).expect("a status"), xml);
        }
    };
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for ((id, message), result) in ids.iter().zip(messages).zip(results) {
        match result {
            EntryResult::Taken => {
                seen.taken.push(message);
                successful.push(format!("<member><MessageId>m-{id}</MessageId><Id>{id}</Id></member>"));
            }
            EntryResult::Failed { code, sender_fault } => {
                failed.push(format!(
                    "<member><Id>{id}</Id><Code>{code}</Code><Message>{code}</Message>\
                     <SenderFault>{sender_fault}</SenderFault></member>"
                ));
            }
            EntryResult::LeftOut => {}
        }
    }
    let (failed, successful) = (failed.concat(), successful.concat());
    let xml = format!(
        "<PublishBatchResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><PublishBatchResult>\
         <Failed>{failed}</Failed><Successful>{successful}</Successful></PublishBatchResult>\
         <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></PublishBatchResponse>"
    );
    (StatusCode::OK, xml)
}

/// The ids and messages of a `PublishBatch` to our topic.
fn entries(body: &str) -> Vec<(String, Message)> {
    let mut entries = BTreeMap::<usize, (String, Message)>::new();
    for (name, value) in form_urlencoded::parse(body.as_bytes()) {
        let value = value.into_owned();
        match name.split('.').collect::<Vec<_>>()[..] {
            ["Action"] => assert_eq!(value, "PublishBatch"),
            ["Version"] => assert_eq!(value, "2010-03-31"),
            ["TopicArn"] => assert_eq!(value, ARN),
            // An empty list.
            ["PublishBatchRequestEntries"] => assert_eq!(value, ""),
            ["PublishBatchRequestEntries", "member", number, ref member @ ..] => {
                let (id, message) = entries.entry(number.parse().expect("a number")).or_default();
                match member {
                    ["Id"] => *id = value,
                    ["Message"] => message.text = value,
                    ["MessageAttributes", "entry", _, "Name"] => {
                        message.attributes.push((value, String::new(), String::new()));
                    }
                    ["MessageAttributes", "entry", _, "Value", "DataType"] => {
                        message.attributes.last_mut().expect("a name before").1 = value;
                    }
                    ["MessageAttributes", "entry", _, "Value", "StringValue"] => {
                        message.attributes.last_mut().expect("a name before").2 = value;
                    }
                    other => panic!("unexpected member {other:?}"),
                }
            }
            _ => panic!("unexpected parameter {name}"),
        }
    }
    entries.into_values().collect()
}
