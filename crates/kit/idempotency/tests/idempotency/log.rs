//! What is logged of a batch, and of one piece of work.

use std::io::Write;
use std::sync::{Arc, Mutex, Once};

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::sqs::{MessageError, SqsEvent, process_batch};
use idempotency::{Error, Fingerprint, idempotent};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::world::{World, expect_new};

#[tokio::test]
async fn every_failure_of_a_batch_is_one_line_with_its_causes_and_without_the_body() {
    let world = World::start().await;
    let _claim = expect_new(world.store().claim("busy", &Fingerprint::none()).await);
    let (log, _guard) = Log::start();
    let bodies = ["not JSON: secret", r#""works""#, r#""busy""#, r#""fails""#, r#""""#, r#""panics""#];
    let work = async |order: &String| match order.as_str() {
        "fails" => Err(Error::Throttled("slow down".into())),
        "panics" => panic!("a bug"),
        _ => Ok(()),
    };
    process_batch(&world.store(), batch(&bodies), Clone::clone, work).await.expect("one is done");
    let mut lines = log.lines();
    lines.sort_by_key(|line| line["message_id"].to_string());
    let errors: Vec<_> = lines.iter().map(|line| (&line["level"], &line["message_id"], &line["error"])).collect();
    let [level, m0, m3, m4, m5] = ["ERROR", "m0", "m3", "m4", "m5"].map(|text| json!(text));
    let unreadable = json!("the body is not the expected JSON (Syntax error at line 1, column 2)");
    let throttled = json!("the idempotency table is throttled: try again later, or raise its capacity: slow down");
    let empty = json!("the idempotency key is empty: take the key from a value that is never empty");
    let panicked = json!("the message's parser or work panicked: the panic's own message is on standard error");
    assert_eq!(
        errors,
        [(&level, &m0, &unreadable), (&level, &m3, &throttled), (&level, &m4, &empty), (&level, &m5, &panicked)]
    );
    assert!(lines.iter().all(|line| line["message"] == "message failed"));
    assert!(!format!("{lines:?}").contains("secret"));
}

/// An outage of the table passes. A missing permission does not, and a lost claim may mean work that is done twice.
#[tokio::test]
async fn a_record_that_is_not_completed_is_an_error_unless_the_table_is_only_slow() {
    const DENIED: &str = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not allowed"}"#;
    const LOST: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#;
    for (disturbance, level, reason, cause) in [
        (Disturbance::Throttle, "WARN", "record_throttled", "ProvisionedThroughputExceededException"),
        (Disturbance::Respond(400, DENIED), "ERROR", "record_rejected", "not allowed"),
        (Disturbance::Respond(400, LOST), "ERROR", "claim_lost", "another caller took it over"),
    ] {
        let world = World::start().await;
        let wire = Wire::disturbed(move |request| match request.operation.as_str() {
            "UpdateItem" => disturbance,
            _ => Disturbance::None,
        });
        let (log, _guard) = Log::start();
        let batch = batch(&[r#""a""#, r#""a""#]);
        let work = async |_: &String| Ok::<_, Error>(());
        process_batch(&world.store_over(&wire), batch, Clone::clone, work).await.expect("it is done");
        let [line] = log.lines().try_into().expect("one line");
        assert_eq!((&line["level"], &line["reason"]), (&json!(level), &json!(reason)));
        assert_eq!(line["message_ids"], "m0, m1");
        assert!(line["error"].as_str().expect("a text").contains(cause), "{line}");
    }
}

#[tokio::test]
async fn a_claim_that_is_not_released_is_a_warning() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "DeleteItem" => Disturbance::Throttle,
        _ => Disturbance::None,
    });
    let store = world.store_over(&wire);
    let (log, _guard) = Log::start();
    let work = async |_: &String| Err(Error::Contended);
    process_batch(&store, batch(&[r#""a""#]), Clone::clone, work).await.expect_err("none is done");
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let warning = lines.iter().find(|line| line["level"] == "WARN").expect("a warning");
    assert_eq!((&warning["message_ids"], &warning["reason"]), (&json!("m0"), &json!("record_throttled")));

    let failed = idempotent(&store, "b", "", || async { Err::<(), _>(Error::Contended) }).await;
    assert!(failed.is_err());
    let warning = log.lines().pop().expect("a line");
    assert_eq!(warning["level"], "WARN");
    assert!(warning["error"].as_str().expect("a text").contains("ProvisionedThroughputExceededException"), "{warning}");
}

#[test]
fn the_reason_of_a_message_is_its_own_or_that_of_the_work() {
    for (error, code, is_retryable) in [
        (MessageError::Parse("no date"), "no date", true),
        (MessageError::Work("no card"), "no card", true),
        (MessageError::Panicked, "panicked", false),
        (MessageError::PayloadMismatch, "payload_mismatch", false),
        (MessageError::Record(Error::Contended), "record_contended", true),
        (MessageError::Record(Error::EmptyKey), "record_key_empty", false),
        (MessageError::OutOfTime, "out_of_time", true),
        (MessageError::FifoQueue, "fifo_queue", false),
    ] {
        assert_eq!((error.code(|error| error), error.is_retryable(|_| true)), (code, is_retryable));
    }
    assert!(!MessageError::Work("no card").is_retryable(|_| false));
}

fn batch(bodies: &[&str]) -> SqsEvent {
    let message = |(place, body)| json!({"messageId": format!("m{place}"), "body": body});
    let records: Vec<Value> = bodies.iter().enumerate().map(message).collect();
    serde_json::from_value(json!({ "Records": records })).expect("a batch")
}

/// What is logged while it lives, one line of JSON each. For tests on one thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        // While there is only one subscriber, `tracing` asks the thread that comes to a log line first whether anybody wants it, and keeps the
        // answer for all threads. The thread of another test has no subscriber, so the line would be lost here. A second one prevents that.
        static SECOND: Once = Once::new();
        SECOND.call_once(|| {
            let discard = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
            tracing::subscriber::set_global_default(discard).expect("the only one of the process");
        });
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(log.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
