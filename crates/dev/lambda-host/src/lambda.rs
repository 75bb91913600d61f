//! A Lambda function: its binary as a process, behind the Runtime API.

mod log;

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use uuid::Uuid;

use self::log::{Log, keep_lines};
use crate::{ACCOUNT, REGION, body};

/// The largest number of bytes an event or a response may have: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
pub const PAYLOAD_LIMIT: usize = 6 * 1024 * 1024;

/// The configuration of a function.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name, as in `AWS_LAMBDA_FUNCTION_NAME`.
    pub name: String,
    /// The function's `Handler`.
    pub handler: String,
    /// The executable: `bootstrap` on AWS.
    pub binary: PathBuf,
    /// The function's own environment variables, and the AWS ones: region, credentials, endpoints.
    pub environment: Vec<(String, String)>,
    /// The longest time of one invocation.
    pub timeout: Duration,
    /// The function's memory, in megabytes. The function sees this number, but the host does not enforce it.
    pub memory_size: u32,
    /// The file that gets all output of the function's processes. Its folder is created when a process starts. If the file
    /// cannot be opened, a warning is logged and the function runs without it.
    pub log_file: Option<PathBuf>,
}

impl Settings {
    /// A function with an empty environment, a timeout of 30 seconds and 256 MB of memory.
    #[must_use]
    pub fn new(name: &str, handler: &str, binary: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            handler: handler.to_owned(),
            binary,
            environment: Vec::new(),
            timeout: Duration::from_secs(30),
            memory_size: 256,
            log_file: None,
        }
    }
}

/// A running function. Its process ends when this value is dropped.
#[derive(Debug)]
pub struct Function {
    invocations: mpsc::UnboundedSender<Invocation>,
    process: AsyncMutex<Process>,
    process_id: Option<u32>,
    next_called: Arc<Notify>,
    log: Arc<Mutex<Log>>,
    timeout: Duration,
    /// The Runtime API; it ends with this value.
    _api: JoinSet<()>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// The tasks that read the output of the process. They end after it.
    readers: JoinSet<()>,
}

/// Why an invocation has no response.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// No process could be started.
    #[error("the function did not start")]
    NotStarted(#[source] io::Error),
    /// The function reported an error: an object with `errorType` and `errorMessage`.
    #[error("the function failed: {0}")]
    Function(Value),
    /// Lambda rejects the response: it is too large, or not JSON.
    #[error("the function's response was rejected: {0}")]
    Refused(String),
    /// The process ended; its log says why.
    #[error("the function's process ended before it answered: {log}")]
    Exited {
        /// The last lines of its output.
        log: String,
    },
    /// The function took longer than its timeout.
    #[error("the function timed out after {0:?}")]
    TimedOut(Duration),
}

impl InvokeError {
    /// Keeps only the last lines of the output: they say why the process ended.
    pub(crate) fn shortened(self) -> Self {
        match self {
            Self::Exited { log } => {
                let lines: Vec<&str> = log.lines().collect();
                Self::Exited { log: lines[lines.len().saturating_sub(3)..].join("\n") }
            }
            other @ (Self::NotStarted(_) | Self::Function(_) | Self::Refused(_) | Self::TimedOut(_)) => other,
        }
    }
}

/// The result of an invocation.
pub type InvokeResult = Result<Value, InvokeError>;

#[derive(Debug)]
struct Invocation {
    request_id: String,
    payload: Value,
    deadline: SystemTime,
    /// Notified when the process gets the event.
    delivered: oneshot::Sender<()>,
    result: oneshot::Sender<InvokeResult>,
}

/// When to kill a process that has not answered yet. By default never.
#[derive(Debug, Default)]
pub(crate) struct Kill {
    /// On this signal.
    pub(crate) signal: Option<oneshot::Receiver<()>>,
    /// This long after the process got the event.
    pub(crate) after: Option<Duration>,
}

impl Kill {
    async fn due(self, delivered: oneshot::Receiver<()>) {
        let signal = async {
            let is_signalled = match self.signal {
                Some(signal) => signal.await.is_ok(),
                None => false,
            };
            // A dropped sender does not count as a signal.
            if !is_signalled {
                pending::<()>().await;
            }
        };
        let after = async {
            match self.after {
                Some(after) if delivered.await.is_ok() => tokio::time::sleep(after).await,
                _ => pending().await,
            }
        };
        tokio::select! {
            () = signal => {}
            () = after => {}
        }
    }
}

impl Function {
    /// Starts the Runtime API and the process.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let api = listener.local_addr()?;
        let (invocations, waiting) = mpsc::unbounded_channel();
        let next_called = Arc::default();
        let routes = runtime_api(waiting, Arc::clone(&next_called), &settings.name);
        let mut api_server = JoinSet::new();
        api_server.spawn(async move {
            // It serves until the task is dropped. If it fails, the invocation times out.
            let _ = axum::serve(listener, routes).await;
        });

        let mut command = Command::new(&settings.binary);
        // Ctrl-C must reach only the host: it would make the function's current invocation fail.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("AWS_LAMBDA_RUNTIME_API", api.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", &settings.name)
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", settings.memory_size.to_string())
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("_HANDLER", &settings.handler)
            .envs(settings.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                // The system's error does not name the file.
                io::Error::new(error.kind(), format!("cannot start {}: {error}", settings.binary.display()))
            })?;
        let log = Arc::new(Mutex::new(Log::new(settings.log_file)));
        let mut readers = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(keep_lines(stdout, Arc::clone(&log)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(keep_lines(stderr, Arc::clone(&log)));
        }
        Ok(Self {
            invocations,
            process_id: child.id(),
            process: AsyncMutex::new(Process { child, readers }),
            next_called,
            log,
            timeout: settings.timeout,
            _api: api_server,
        })
    }

    /// Invokes the function with an event, and waits for its response.
    pub async fn invoke(&self, payload: Value) -> InvokeResult {
        self.invoke_with_id(Uuid::new_v4().to_string(), payload, Kill::default()).await
    }

    /// As [`Function::invoke`], with a given request id and a way to kill the process.
    pub(crate) async fn invoke_with_id(&self, request_id: String, payload: Value, kill: Kill) -> InvokeResult {
        let (result, received) = oneshot::channel();
        let (delivered, is_delivered) = oneshot::channel();
        let deadline = SystemTime::now() + self.timeout;
        // Sending fails only if the process has ended, which is handled below.
        let _ = self.invocations.send(Invocation { request_id, payload, deadline, delivered, result });
        let mut process = self.process.lock().await;
        let result = tokio::select! {
            // A response counts even if the process ends right after it.
            biased;
            result = received => result.ok(),
            _ = process.child.wait() => None,
            () = kill.due(is_delivered) => {
                // This fails only if the process has already ended.
                let _ = process.child.kill().await;
                None
            }
            () = tokio::time::sleep(self.timeout) => Some(Err(InvokeError::TimedOut(self.timeout))),
        };
        match result {
            Some(result) => result,
            None => Err(InvokeError::Exited { log: process.output(&self.log).await.join("\n") }),
        }
    }

    /// The id of the process, for measurements.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process_id
    }

    /// Waits until the function asks for its first event: then its init is over.
    pub async fn wait_until_initialized(&self) {
        self.next_called.notified().await;
    }

    /// Whether the process still runs.
    pub async fn is_running(&self) -> bool {
        matches!(self.process.lock().await.child.try_wait(), Ok(None))
    }

    /// Whether the process seems to run. It does not wait: a process that handles an event counts as running.
    pub(crate) fn seems_running(&self) -> bool {
        self.process.try_lock().map_or(true, |mut process| matches!(process.child.try_wait(), Ok(None)))
    }

    /// Ends the process, and returns its output.
    pub async fn stop(self) -> io::Result<Vec<String>> {
        let mut process = self.process.into_inner();
        process.child.kill().await?;
        Ok(process.output(&self.log).await)
    }
}

impl Process {
    /// The output of a process that has ended, line by line.
    async fn output(&mut self, log: &Mutex<Log>) -> Vec<String> {
        while self.readers.join_next().await.is_some() {}
        log.lock().unwrap_or_else(PoisonError::into_inner).take_lines()
    }
}

struct Api {
    function_name: String,
    /// Notified when the process calls `next`.
    next_called: Arc<Notify>,
    waiting: AsyncMutex<mpsc::UnboundedReceiver<Invocation>>,
    running: Mutex<HashMap<String, oneshot::Sender<InvokeResult>>>,
}

fn runtime_api(waiting: mpsc::UnboundedReceiver<Invocation>, next_called: Arc<Notify>, function_name: &str) -> Router {
    let api = Arc::new(Api {
        function_name: function_name.to_owned(),
        next_called,
        waiting: AsyncMutex::new(waiting),
        running: Mutex::default(),
    });
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{request_id}/response", post(respond))
        .route("/2018-06-01/runtime/invocation/{request_id}/error", post(fail))
        .with_state(api)
}

async fn next(State(api): State<Arc<Api>>) -> impl IntoResponse {
    api.next_called.notify_one();
    let Some(invocation) = api.waiting.lock().await.recv().await else {
        // The function is being dropped.
        return Err(StatusCode::GONE);
    };
    let deadline = invocation.deadline.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let headers = AppendHeaders([
        ("lambda-runtime-aws-request-id", invocation.request_id.clone()),
        ("lambda-runtime-deadline-ms", deadline.as_millis().to_string()),
        ("lambda-runtime-invoked-function-arn", arn(&api.function_name)),
    ]);
    let mut running = api.running.lock().unwrap_or_else(PoisonError::into_inner);
    running.insert(invocation.request_id, invocation.result);
    // This fails only if the caller has stopped waiting.
    let _ = invocation.delivered.send(());
    Ok(([(CONTENT_TYPE, "application/json")], headers, invocation.payload.to_string()))
}

/// The ARN of a function.
pub(crate) fn arn(function: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}")
}

async fn respond(state: State<Arc<Api>>, request_id: Path<String>, body: Body) -> StatusCode {
    finish(&state, &request_id, Ok, body).await
}

async fn fail(state: State<Arc<Api>>, request_id: Path<String>, body: Body) -> StatusCode {
    finish(&state, &request_id, |error| Err(InvokeError::Function(error)), body).await
}

async fn finish(api: &Api, request_id: &str, kind: fn(Value) -> InvokeResult, body: Body) -> StatusCode {
    let (result, status) = match body::read(body).await {
        Ok(Some(body)) => match serde_json::from_slice(&body) {
            Ok(body) => (kind(body), StatusCode::ACCEPTED),
            Err(error) => (Err(InvokeError::Refused(format!("it is not JSON: {error}"))), StatusCode::BAD_REQUEST),
        },
        Ok(None) => {
            let reason = format!("it has more than {PAYLOAD_LIMIT} bytes");
            (Err(InvokeError::Refused(reason)), StatusCode::PAYLOAD_TOO_LARGE)
        }
        // The process has ended, or will retry.
        Err(_) => return StatusCode::BAD_REQUEST,
    };
    let mut running = api.running.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(waiting) = running.remove(request_id) else {
        return StatusCode::NOT_FOUND;
    };
    // This fails only if the caller has stopped waiting.
    let _ = waiting.send(result);
    status
}
