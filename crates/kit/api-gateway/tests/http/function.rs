//! The deadline, `HEAD` and the log. Time is paused: it passes when every task waits.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use api_gateway::{Clock, Failure, HttpFunction, JSON, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing_subscriber::fmt::MakeWriter;

use crate::request;

const NOW: SystemTime = UNIX_EPOCH;

fn function() -> HttpFunction {
    HttpFunction::new("greeter", "Example", "1", Clock::from_fn(|| NOW))
}

#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is broken")
    }
}

impl Error for Broken {}

enum Problem {
    OutOfTime,
    NotFound,
    Internal(Broken),
}

impl Failure for Problem {
    fn out_of_time() -> Self {
        Self::OutOfTime
    }

    fn cause(&self) -> Option<(&'static str, &(dyn Error + 'static))> {
        match self {
            Self::OutOfTime | Self::NotFound => None,
            Self::Internal(error) => Some(("broken", error)),
        }
    }

    fn respond(self, request_id: &str) -> Response {
        let status = match self {
            Self::OutOfTime => 503,
            Self::NotFound => 404,
            Self::Internal(_) => 500,
        };
        Response::json(status, JSON, json!({"requestId": request_id}).to_string())
    }
}

async fn respond(method: &str, deadline: Duration, work: impl Future<Output = Result<Response, Problem>>) -> Response {
    let context = json!({"requestId": "r-1", "http": {"method": method}});
    let request = request(json!({"rawPath": "/hello/secret", "requestContext": context}));
    function().respond(&request, "/hello/{name}", NOW + deadline, work).await
}

fn hello() -> Response {
    Response::json(200, JSON, "\"hello\"".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_fails_half_a_second_before_the_deadline() {
    for (deadline, took, status, waited) in [
        (3_000, 2_499, 200, 2_499),
        (3_000, 2_501, 503, 2_500),
        (3_000, 60_000, 503, 2_500),
        (500, 1, 503, 0),
        (0, 1, 503, 0),
    ] {
        let begun = Instant::now();
        let slow = async {
            sleep(Duration::from_millis(took)).await;
            Ok(hello())
        };
        let response = respond("GET", Duration::from_millis(deadline), slow).await;
        assert_eq!(response.status_code, status, "{deadline} {took}");
        // Tokio's timers are exact to a millisecond.
        let late = begun.elapsed().checked_sub(Duration::from_millis(waited)).unwrap();
        assert!(late <= Duration::from_millis(1), "{deadline} {took}: {late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_needs_no_time_is_sent_after_the_deadline_too() {
    assert_eq!(respond("GET", Duration::ZERO, async { Ok(hello()) }).await, hello());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_is_now() {
    let function = function();
    assert_eq!(function.before(NOW - Duration::from_secs(1), Duration::ZERO), Instant::now());
    let in_two = function.before(NOW + Duration::from_secs(3), Duration::from_secs(1));
    assert_eq!(in_two, Instant::now() + Duration::from_secs(2));
}

#[tokio::test]
async fn the_response_to_head_has_the_length_but_not_the_body() {
    let minute = Duration::from_mins(1);
    let head = respond("HEAD", minute, async { Ok(hello()) }).await;
    assert_eq!((head.status_code, head.body.as_deref(), head.headers["content-length"].as_str()), (200, None, "7"));
    let head = respond("HEAD", minute, async { Err(Problem::NotFound) }).await;
    let get = respond("GET", minute, async { Err(Problem::NotFound) }).await;
    assert_eq!((head.status_code, head.body), (404, None));
    assert_eq!(head.headers["content-length"], get.body.unwrap().len().to_string());
}

#[tokio::test]
async fn the_response_to_a_failure_has_the_id_of_the_request() {
    let response = respond("GET", Duration::from_mins(1), async { Err(Problem::NotFound) }).await;
    assert_eq!((response.status_code, response.body.as_deref()), (404, Some(r#"{"requestId":"r-1"}"#)));
}

#[tokio::test]
async fn a_cause_is_logged_with_its_code_and_nothing_that_the_client_wrote() {
    let (log, _guard) = Log::start();
    respond("GET", Duration::from_mins(1), async { Err(Problem::NotFound) }).await;
    assert_eq!(log.lines(), [] as [Value; 0], "a client's mistake is not logged");
    respond("GET", Duration::from_mins(1), async { Err(Problem::Internal(Broken)) }).await;
    let [line] = log.lines().try_into().unwrap();
    let expected = json!({
        "level": "ERROR", "request_id": "r-1", "route": "/hello/{name}", "reason": "broken", "error": "it is broken",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(line[name], *value, "{name}");
    }
    assert!(!line.to_string().contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_response_of_a_second_or_more_is_logged() {
    for (took, is_logged) in [(999, false), (1_001, true)] {
        let (log, _guard) = Log::start();
        let slow = async {
            sleep(Duration::from_millis(took)).await;
            Ok(hello())
        };
        respond("GET", Duration::from_mins(1), slow).await;
        let lines = log.lines();
        assert_eq!(!lines.is_empty(), is_logged, "{lines:?}");
        for line in lines {
            assert_eq!(
                (&line["status"], &line["method"], &line["took_ms"]),
                (&json!(200), &json!("GET"), &json!(took))
            );
        }
    }
}

/// Metrics are lines on standard output, which belongs to the whole process. So another process responds: this test once more.
#[tokio::test]
async fn a_response_of_500_or_more_is_counted_for_its_version() {
    const STATUS: &str = "STATUS_OF_THE_RESPONSE";
    if let Ok(status) = std::env::var(STATUS) {
        let response = Response::json(status.parse().unwrap(), JSON, "{}".to_owned());
        respond("GET", Duration::from_mins(1), async { Ok(response) }).await;
        return;
    }
    for (status, is_counted) in [("200", false), ("499", false), ("500", true), ("503", true)] {
        let mut once_more = Command::new(std::env::current_exe().unwrap());
        once_more.args(["--exact", "function::a_response_of_500_or_more_is_counted_for_its_version", "--nocapture"]);
        let output = once_more.env(STATUS, status).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert!(output.contains("1 passed"), "{output}");
        // The test's own name may stand before the line.
        let line = output.lines().find_map(|line| line.find('{').map(|start| &line[start..]));
        assert_eq!(line.is_some(), is_counted, "{status}: {output}");
        if let Some(line) = line {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["ServerErrors"], &line["request_id"]), (&json!(1), &json!("r-1")));
            assert_eq!((&line["Function"], &line["Version"]), (&json!("greeter"), &json!("1")));
        }
    }
}

/// The log lines, in JSON, that are written while the guard lives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        // While there is only one subscriber, `tracing` asks the thread that comes to a log line first whether anybody wants it, and keeps the
        // answer for all threads. The thread of another test has no subscriber, so the line would be lost here. A second one prevents that.
        static SECOND: Once = Once::new();
        SECOND.call_once(|| {
            let discard = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
            tracing::subscriber::set_global_default(discard).unwrap();
        });
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(log.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
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
