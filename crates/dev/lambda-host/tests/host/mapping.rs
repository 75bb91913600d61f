//! Messages over the SQS API to a real function process (`examples/echo.rs`), which this test answers.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lambda_host::lambda::{PAYLOAD_LIMIT, Settings};
use lambda_host::mapping::{Batching, Mapping};
use lambda_host::queues::{self, Queues, Redrive};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::echo::{Handler, Invocation, TIMEOUT, settings};

/// The visibility timeout of messages that are retried: short, but longer than a function takes to answer.
const RETRY_TIME: Duration = Duration::from_secs(2);

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn a_batch_becomes_an_event_in_lambdas_format() {
    let source = Source::start(TIMEOUT).await;
    let sent = source.send_with_attributes("grüezi").await;
    let invocation = source.invocation().await;
    let mut event = invocation.event();

    let record = &mut event["Records"][0];
    let receipt = record["receiptHandle"].take();
    let sent_at = record["attributes"]["SentTimestamp"].take();
    let received_at = record["attributes"]["ApproximateFirstReceiveTimestamp"].take();
    assert_eq!(
        event,
        json!({"Records": [{
            "messageId": sent["MessageId"],
            "receiptHandle": null,
            "body": "grüezi",
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": null,
                "SenderId": "000000000000",
                "ApproximateFirstReceiveTimestamp": null,
            },
            "messageAttributes": {
                "event-type": {
                    "stringValue": "OrderCreated",
                    "stringListValues": [],
                    "binaryListValues": [],
                    "dataType": "String",
                },
                "trace": {
                    "binaryValue": "/wD+",
                    "stringListValues": [],
                    "binaryListValues": [],
                    "dataType": "Binary",
                },
            },
            "md5OfBody": sent["MD5OfMessageBody"],
            "md5OfMessageAttributes": sent["MD5OfMessageAttributes"],
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:events",
            "awsRegion": "us-east-1",
        }]})
    );
    assert!(!receipt.as_str().unwrap().is_empty());
    for time in [sent_at, received_at] {
        assert!(time.as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000_000, "{time} is in milliseconds");
    }
    invocation.succeed().await;
    source.done(1).await;
}

#[tokio::test]
async fn a_batch_has_up_to_ten_messages() {
    let source = Source::start(TIMEOUT).await;
    source.send("first").await;
    let busy = source.invocation().await;
    for number in 0..12 {
        source.send(&number.to_string()).await;
    }
    busy.succeed().await;

    let mut bodies = BTreeSet::new();
    for size in [10, 2] {
        let invocation = source.invocation().await;
        assert_eq!(invocation.bodies().len(), size);
        bodies.extend(invocation.bodies());
        invocation.succeed().await;
    }
    assert_eq!(bodies, (0..12).map(|number| number.to_string()).collect());
    source.done(13).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn with_a_window_a_batch_has_all_messages_that_arrive_in_it() {
    let window = Duration::from_secs(3);
    let source = Source::start_batching(TIMEOUT, Batching { size: 10_000, window }).await;
    for number in 0..25 {
        source.send(&number.to_string()).await;
    }
    let invocation = source.invocation().await;
    let bodies: BTreeSet<_> = invocation.bodies().into_iter().collect();
    assert_eq!(bodies, (0..25).map(|number| number.to_string()).collect(), "more than one receive returns");
    invocation.succeed().await;
    source.done(25).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn a_full_batch_does_not_wait_for_the_end_of_the_window() {
    let source = Source::start_batching(TIMEOUT, Batching { size: 12, window: 10 * TIMEOUT }).await;
    for number in 0..24 {
        source.send(&number.to_string()).await;
    }
    for _ in 0..2 {
        let invocation = source.invocation().await;
        assert_eq!(invocation.bodies().len(), 12);
        invocation.succeed().await;
    }
    source.done(24).await;
}

#[tokio::test]
async fn failed_messages_are_retried_and_the_others_are_not() {
    let source = Source::start(RETRY_TIME).await;
    source.send("first").await;
    let busy = source.invocation().await;
    for body in ["good", "bad", "fine"] {
        source.send(body).await;
    }
    busy.succeed().await;

    let batch = source.invocation().await;
    assert_eq!(batch.bodies(), ["good", "bad", "fine"]);
    let bad = batch.id_of("bad");
    batch.respond(&json!({"batchItemFailures": [{"itemIdentifier": bad}]})).await;
    source.done(3).await;

    let again = source.invocation().await;
    assert_eq!((again.bodies(), again.receives()), (vec!["bad".to_owned()], 2));
    assert_eq!(again.id_of("bad"), bad);
    again.succeed().await;
    source.done(4).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn a_message_that_always_fails_ends_in_the_dead_letter_queue_after_five_receives() {
    let source = Source::start(RETRY_TIME).await;
    source.send("poison").await;
    for receives in 1..=5 {
        let invocation = source.invocation().await;
        assert_eq!(invocation.receives(), receives);
        let poison = invocation.id_of("poison");
        invocation.respond(&json!({"batchItemFailures": [{"itemIdentifier": poison}]})).await;
    }
    let dead = source.receive("events-dlq").await;
    assert_eq!(dead["Messages"][0]["Body"], "poison");
    source.assert_is_empty().await;

    source.send("healthy").await;
    let next = source.invocation().await;
    assert_eq!(next.bodies(), ["healthy"]);
    next.succeed().await;
    source.done(1).await;
}

#[tokio::test]
async fn a_process_that_ended_is_replaced_and_no_message_is_lost() {
    let source = Source::start(RETRY_TIME).await;
    source.send("a").await;
    let first = source.invocation().await;
    let process = first.process();
    first.exit().await;

    let again = source.invocation().await;
    assert_eq!((again.bodies(), again.receives()), (vec!["a".to_owned()], 2));
    assert_ne!(again.process(), process);
    again.succeed().await;
    source.done(1).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn killing_an_idle_process_does_not_cost_a_receive() {
    let source = Source::start(TIMEOUT).await;
    source.send("a").await;
    let first = source.invocation().await;
    let process = first.process();
    first.succeed().await;
    source.done(1).await;
    kill(process).await;

    source.send("b").await;
    let next = source.invocation().await;
    assert_eq!((next.bodies(), next.receives()), (vec!["b".to_owned()], 1));
    assert_ne!(next.process(), process);
    next.succeed().await;
    source.done(2).await;
}

#[tokio::test]
async fn a_process_that_timed_out_is_replaced_and_its_batch_is_retried() {
    let source = Source::start_with(RETRY_TIME, Settings { timeout: RETRY_TIME, ..settings() }, 1).await;
    source.send("a").await;
    let stuck = source.invocation().await;
    let again = source.invocation().await;
    assert_eq!(again.bodies(), ["a"]);
    assert!(again.receives() > stuck.receives());
    assert_ne!(again.process(), stuck.process());
    again.succeed().await;
    source.done(1).await;
}

#[tokio::test]
async fn a_process_that_reported_an_error_is_reused_and_its_batch_is_retried() {
    let source = Source::start(RETRY_TIME).await;
    source.send("a").await;
    let first = source.invocation().await;
    let process = first.process();
    first.fail().await;

    let again = source.invocation().await;
    assert_eq!((again.receives(), again.process()), (2, process));
    again.succeed().await;
    source.done(1).await;
}

#[tokio::test]
async fn a_response_that_is_not_a_batch_response_deletes_no_message() {
    let responses = [
        "not JSON",
        "",
        "[]",
        r#""done""#,
        r#"{"batchItemFailures": {}}"#,
        r#"{"batchItemFailures": "ID"}"#,
        r#"{"batchItemFailures": ["ID"]}"#,
        r#"{"batchItemFailures": [{"itemIdentifier": null}]}"#,
        r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#,
        r#"{"batchItemFailures": [{"ItemIdentifier": "ID"}]}"#,
        r#"{"batchItemFailures": [{"itemIdentifier": "of another batch"}]}"#,
        r#"{"batchItemFailures": [{"itemIdentifier": "ID"}, {"itemIdentifier": "of another batch"}]}"#,
    ];
    let mut checks = JoinSet::new();
    for response in responses {
        checks.spawn(async move {
            let source = Source::start(RETRY_TIME).await;
            source.send("a").await;
            let first = source.invocation().await;
            let response = response.replace("ID", &first.id_of("a"));
            first.finish("response", &response).await;
            let again = source.invocation().await;
            assert_eq!((again.bodies(), again.receives()), (vec!["a".to_owned()], 2), "after {response}");
            again.succeed().await;
            source.done(1).await;
        });
    }
    while let Some(checked) = checks.join_next().await {
        checked.unwrap();
    }
}

#[tokio::test]
async fn a_response_without_failures_means_success() {
    let source = Source::start(TIMEOUT).await;
    for (response, sent) in
        ["null", "{}", r#"{"batchItemFailures": null}"#, r#"{"batchItemFailures": []}"#].iter().zip(1..)
    {
        source.send("a").await;
        source.invocation().await.finish("response", response).await;
        source.done(sent).await;
    }
    source.assert_is_empty().await;
}

#[tokio::test]
async fn a_second_process_is_started_only_when_the_first_is_busy() {
    let source = Source::start_with(TIMEOUT, settings(), 2).await;
    let mut processes = BTreeSet::new();
    for (body, sent) in ["a", "b"].iter().zip(1..) {
        source.send(body).await;
        let invocation = source.invocation().await;
        processes.insert(invocation.process());
        invocation.succeed().await;
        source.done(sent).await;
    }
    assert_eq!(processes.len(), 1, "one after the other");

    source.send("c").await;
    let busy = source.invocation().await;
    source.send("d").await;
    let other = source.invocation().await;
    assert_ne!(busy.process(), other.process(), "at the same time");
    busy.succeed().await;
    other.succeed().await;
    source.done(4).await;
}

#[tokio::test]
async fn dead_letters_are_moved_back_to_the_queue_they_came_from() {
    let source = Source::start(RETRY_TIME).await;
    let sent = source.send_with_attributes("a").await;
    for _ in 0..5 {
        source.invocation().await.fail().await;
    }
    source.redrive_one().await;
    let again = source.invocation().await;
    assert_eq!((again.bodies(), again.receives()), (vec!["a".to_owned()], 1));
    let record = &again.records()[0];
    assert_eq!(record["md5OfMessageAttributes"], sent["MD5OfMessageAttributes"], "its attributes are kept");
    again.succeed().await;
    source.done(1).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn dead_letters_are_moved_back_at_a_rate() {
    let source = Source::start(TIMEOUT).await;
    for body in ["a", "b", "c"] {
        source.call("SendMessage", "events-dlq", json!({"MessageBody": body})).await;
    }
    let mut task = json!({"SourceArn": "arn:aws:sqs:us-east-1:000000000000:events-dlq"});
    for rate in [0, 501] {
        task["MaxNumberOfMessagesPerSecond"] = json!(rate);
        let refused = source.rejection("StartMessageMoveTask", "", task.clone()).await;
        assert_eq!(refused["__type"], "InvalidParameterValue", "{refused}");
    }
    task["MaxNumberOfMessagesPerSecond"] = json!(2);
    let started = Instant::now();
    source.call("StartMessageMoveTask", "", task.clone()).await;
    let listed = async || source.call("ListMessageMoveTasks", "", task.clone()).await["Results"][0].clone();
    assert_eq!(listed().await["Status"], "RUNNING");
    let second = source.rejection("StartMessageMoveTask", "", task.clone()).await;
    assert!(second.to_string().contains("There is already a task running"), "{second}");

    for body in ["a", "b", "c"] {
        let invocation = source.invocation().await;
        assert_eq!(invocation.bodies(), [body]);
        invocation.succeed().await;
    }
    assert!(started.elapsed() >= Duration::from_secs(1), "the third comes a second after the first");
    let completed = async {
        loop {
            let task = listed().await;
            if task["Status"] != "RUNNING" {
                return task;
            }
        }
    };
    let task = timeout(TIMEOUT, completed).await.expect("the task did not end");
    assert_eq!((&task["Status"], &task["ApproximateNumberOfMessagesMoved"]), (&json!("COMPLETED"), &json!(3)));
}

#[tokio::test]
async fn a_message_may_have_one_mebibyte_and_no_more() {
    let source = Source::start(TIMEOUT).await;
    let attribute = |value: &str| json!({"DataType": "String", "StringValue": value});
    let attributes: Value = (0..10).map(|number| (format!("name-{number}"), attribute("value"))).collect();
    let body = "ü".repeat((MEBIBYTE - 10 * "name-0Stringvalue".len()) / 2);
    let message = json!({"MessageBody": body, "MessageAttributes": attributes});
    // Sent to the dead-letter queue, so that moving is tested too.
    let sent = source.call("SendMessage", "events-dlq", message.clone()).await;
    let received =
        json!({"WaitTimeSeconds": 20, "VisibilityTimeout": 0, "MessageAttributeNames": ["name-1", "name-11"]});
    let received = source.call("ReceiveMessage", "events-dlq", received).await["Messages"][0].clone();
    assert!(received["Body"] == body);
    assert_eq!(received["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(received["MessageAttributes"], json!({"name-1": attribute("value")}));
    source.redrive_one().await;

    let invocation = source.invocation().await;
    let record = &invocation.records()[0];
    assert!(record["body"] == body);
    assert_eq!(record["md5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(record["md5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
    assert_eq!(record["messageAttributes"].as_object().unwrap().len(), 10);
    invocation.succeed().await;
    source.done(1).await;
    source.assert_is_empty().await;

    let mut larger = message;
    larger["MessageBody"] = json!(body + "xx");
    let refused = source.rejection("SendMessage", "events", larger).await;
    let reason = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.";
    assert_eq!((&refused["__type"], &refused["message"]), (&json!("InvalidParameterValue"), &json!(reason)));
    let limit = source.call("GetQueueAttributes", "events", json!({"AttributeNames": ["MaximumMessageSize"]})).await;
    assert_eq!(limit["Attributes"]["MaximumMessageSize"], "1048576");
}

#[tokio::test]
async fn the_messages_of_a_batch_may_have_one_mebibyte_and_no_more() {
    let source = Source::start(TIMEOUT).await;
    let batch = |last: usize| {
        let entry = |id: &str, length| json!({"Id": id, "MessageBody": "x".repeat(length)});
        json!({"Entries": [entry("small", 1), entry("large", 600_000), entry("last", last)]})
    };
    let rest = MEBIBYTE - 600_001;
    let sent = source.call("SendMessageBatch", "events-dlq", batch(rest)).await;
    assert_eq!(sent["Successful"].as_array().unwrap().len(), 3);
    let received = json!({"WaitTimeSeconds": 20, "MaxNumberOfMessages": 10});
    let received = source.call("ReceiveMessage", "events-dlq", received).await["Messages"].clone();
    for (message, (sent, length)) in
        received.as_array().unwrap().iter().zip(sent["Successful"].as_array().unwrap().iter().zip([1, 600_000, rest]))
    {
        assert_eq!(message["Body"].as_str().unwrap().len(), length);
        assert_eq!((&message["MessageId"], &message["MD5OfBody"]), (&sent["MessageId"], &sent["MD5OfMessageBody"]));
        assert_eq!(message.get("MessageAttributes"), None);
    }

    let refused = source.rejection("SendMessageBatch", "events", batch(rest + 1)).await;
    assert_eq!(refused["__type"], "AWS.SimpleQueueService.BatchRequestTooLong", "{refused}");
    source.assert_is_empty().await;
}

#[tokio::test]
async fn a_batch_does_not_exceed_lambdas_payload_limit() {
    let source = Source::start(TIMEOUT).await;
    source.send("first").await;
    let busy = source.invocation().await;
    let body = "x".repeat(MEBIBYTE);
    for _ in 0..7 {
        source.send(&body).await;
    }
    busy.succeed().await;
    let mut handled = 0;
    while handled < 7 {
        let invocation = source.invocation().await;
        assert!(invocation.event().to_string().len() <= PAYLOAD_LIMIT);
        handled += invocation.records().len();
        invocation.succeed().await;
    }
    assert_eq!(handled, 7);
    source.done(8).await;
    source.assert_is_empty().await;
}

#[tokio::test]
async fn a_queue_has_the_attributes_its_owner_sets() {
    let source = Source::start(TIMEOUT).await;
    let attributes = source.call("GetQueueAttributes", "events", json!({"AttributeNames": ["All"]})).await;
    let attributes = &attributes["Attributes"];
    assert_eq!(attributes["VisibilityTimeout"], "60");
    assert_eq!(attributes["MessageRetentionPeriod"], "345600");
    let redrive: Value = serde_json::from_str(attributes["RedrivePolicy"].as_str().unwrap()).unwrap();
    let dead_letters = "arn:aws:sqs:us-east-1:000000000000:events-dlq";
    assert_eq!(redrive, json!({"deadLetterTargetArn": dead_letters, "maxReceiveCount": 5}));
}

/// A queue `events`, its API, and the mapping to a function that this test answers. All end with this value.
struct Source {
    api: SocketAddr,
    handler: Handler,
    mapping: Mapping,
    _server: JoinSet<std::io::Result<()>>,
}

impl Source {
    async fn start(visibility_timeout: Duration) -> Self {
        Self::start_with(visibility_timeout, settings(), 1).await
    }

    async fn start_with(visibility_timeout: Duration, settings: Settings, concurrency: usize) -> Self {
        Self::start_all(visibility_timeout, settings, 10.into(), concurrency).await
    }

    async fn start_batching(visibility_timeout: Duration, batching: Batching) -> Self {
        Self::start_all(visibility_timeout, settings(), batching, 1).await
    }

    async fn start_all(
        visibility_timeout: Duration,
        mut settings: Settings,
        batching: Batching,
        concurrency: usize,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = listener.local_addr().unwrap();
        let handler = Handler::of(&mut settings).await;
        let queues = Queues::new(api);
        let dead_letters = queues::Settings {
            name: "events-dlq".to_owned(),
            visibility_timeout: TIMEOUT.as_secs(),
            message_retention_period: 1_209_600,
            redrive: None,
        };
        queues.create(&dead_letters).await.unwrap();
        let redrive = Redrive { dead_letter_queue: dead_letters.name, max_receive_count: 5 };
        let events = queues::Settings {
            name: "events".to_owned(),
            visibility_timeout: visibility_timeout.as_secs(),
            message_retention_period: 345_600,
            redrive: Some(redrive),
        };
        let queue = queues.create(&events).await.unwrap();
        let mapping = Mapping::start(queue, settings, batching, concurrency);
        let mut server = JoinSet::new();
        server.spawn(async move { queues.serve(listener).await });
        Self { api, handler, mapping, _server: server }
    }

    async fn send(&self, body: &str) {
        self.call("SendMessage", "events", json!({"MessageBody": body})).await;
    }

    async fn send_with_attributes(&self, body: &str) -> Value {
        let attributes = json!({
            "event-type": {"DataType": "String", "StringValue": "OrderCreated"},
            "trace": {"DataType": "Binary", "BinaryValue": "/wD+"},
        });
        self.call("SendMessage", "events", json!({"MessageBody": body, "MessageAttributes": attributes})).await
    }

    /// Receives from a queue; the result may be empty after a while.
    async fn receive(&self, queue: &str) -> Value {
        self.call("ReceiveMessage", queue, json!({"WaitTimeSeconds": 20})).await
    }

    /// The function's next invocation.
    async fn invocation(&self) -> Invocation {
        self.handler.invocation().await
    }

    /// Moves one dead letter back, as soon as it is visible.
    async fn redrive_one(&self) {
        let task = json!({"SourceArn": "arn:aws:sqs:us-east-1:000000000000:events-dlq"});
        let moved = async {
            loop {
                self.call("StartMessageMoveTask", "", task.clone()).await;
                let tasks = self.call("ListMessageMoveTasks", "", task.clone()).await;
                if tasks["Results"][0]["ApproximateNumberOfMessagesMoved"] == 1 {
                    return tasks["Results"][0]["Status"].clone();
                }
            }
        };
        assert_eq!(timeout(TIMEOUT, moved).await.expect("there is no dead letter"), "COMPLETED");
    }

    async fn done(&self, messages: u64) {
        timeout(TIMEOUT, self.mapping.done(messages)).await.expect("the messages were not deleted");
    }

    /// No message is waiting or in flight.
    async fn assert_is_empty(&self) {
        let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
        let response = self.call("GetQueueAttributes", "events", json!({"AttributeNames": names})).await;
        for name in names {
            assert_eq!(response["Attributes"][name], "0", "{name}");
        }
    }

    /// One request to the SQS API, in its JSON protocol.
    async fn call(&self, operation: &str, queue: &str, request: Value) -> Value {
        let (status, response) = self.exchange(operation, queue, request).await;
        assert_eq!(status, 200, "{operation}: {response}");
        response
    }

    /// A request that SQS rejects.
    async fn rejection(&self, operation: &str, queue: &str, request: Value) -> Value {
        let (status, response) = self.exchange(operation, queue, request).await;
        assert_eq!(status, 400, "{operation}: {response}");
        response
    }

    async fn exchange(&self, operation: &str, queue: &str, mut request: Value) -> (u16, Value) {
        request["QueueUrl"] = json!(format!("http://{}/000000000000/{queue}", self.api));
        let request = request.to_string();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-target: AmazonSQS.{operation}\r\ncontent-length: {}\r\n\r\n",
            request.len()
        );
        let mut stream = TcpStream::connect(self.api).await.unwrap();
        stream.write_all((head + &request).as_bytes()).await.unwrap();
        let mut response = String::new();
        timeout(TIMEOUT, stream.read_to_string(&mut response)).await.expect("there was no response").unwrap();
        let (head, body) = response.split_once("\r\n\r\n").expect("the response has no head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }
}

/// Kills a process, and waits until it has ended.
async fn kill(process: u64) {
    let process = process.to_string();
    assert!(Command::new("kill").args(["-9", &process]).status().await.unwrap().success());
    let ended = async {
        loop {
            let state = Command::new("ps").args(["-o", "stat=", "-p", &process]).output().await.unwrap().stdout;
            if state.is_empty() || state.starts_with(b"Z") {
                return;
            }
        }
    };
    timeout(TIMEOUT, ended).await.expect("the killed process still runs");
}
