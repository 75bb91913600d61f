//! The archiver is killed before its object is stored, or after that and before it answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lambda_host::mapping::{Batching, Mapping};
use lambda_host::queues::{self, Queues};
use tokio::time::timeout;

use crate::Account;

/// A timeout that is long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);

/// When the archiver is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillTime {
    BeforeThePut,
    AfterThePut,
}

#[tokio::test]
async fn an_archiver_that_is_killed_before_the_put_leaves_no_duplicates() {
    assert_eq!(objects_after(KillTime::BeforeThePut).await, 1);
}

#[tokio::test]
async fn an_archiver_that_is_killed_after_the_put_leaves_only_duplicates() {
    assert_eq!(objects_after(KillTime::AfterThePut).await, 2);
}

/// Archives a batch whose first archiver is killed. Checks that each object contains all messages, and returns the number of objects.
async fn objects_after(kill_time: KillTime) -> usize {
    let account = Account::create().await;
    let proxy = Proxy::start(account.endpoint.strip_prefix("http://").unwrap().parse().unwrap(), kill_time);
    let function = account.settings(&[("AWS_ENDPOINT_URL_S3", &proxy.endpoint)]);

    let queues = Queues::new("127.0.0.1:9".parse().unwrap());
    let settings = queues::Settings {
        name: "archive".to_owned(),
        visibility_timeout: 3,
        message_retention_period: 345_600,
        redrive: None,
    };
    let queue = queues.create(&settings).await.unwrap();
    let bodies: Vec<_> = (0..25).map(|number| format!("{{\"number\":{number}}}")).collect();
    for body in &bodies {
        queue.send(body.clone()).await.unwrap();
    }
    let batching = Batching { size: 10_000, window: Duration::from_millis(500) };
    let mapping = Mapping::start(queue, function, batching, 1);
    timeout(TIMEOUT, mapping.done(bodies.len() as u64)).await.expect("the messages are acknowledged");
    assert_eq!(proxy.killed.load(Ordering::SeqCst), 1, "{kill_time:?}");

    let objects = account.store().list("").await.unwrap().len();
    let mut archived = account.records().await;
    archived.sort_unstable();
    let mut expected: Vec<_> = bodies.iter().flat_map(|body| vec![body.clone(); objects]).collect();
    expected.sort_unstable();
    assert_eq!(archived, expected, "{kill_time:?}");
    objects
}

/// A proxy between the archiver and S3 that kills the first archiver that puts an object.
struct Proxy {
    endpoint: String,
    killed: Arc<AtomicUsize>,
}

impl Proxy {
    fn start(s3: SocketAddr, kill_time: KillTime) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let killed = Arc::<AtomicUsize>::default();
        let (of_archiver, count) = (endpoint.clone(), Arc::clone(&killed));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, of_archiver, count) = (client.unwrap(), of_archiver.clone(), Arc::clone(&count));
                thread::spawn(move || forward(client, s3, kill_time, &of_archiver, &count));
            }
        });
        Self { endpoint, killed }
    }
}

/// Forwards requests and responses, and kills the client at the given moment.
fn forward(mut client: TcpStream, s3: SocketAddr, kill_time: KillTime, endpoint: &str, killed: &AtomicUsize) {
    let mut server = TcpStream::connect(s3).unwrap();
    let first = || killed.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    while let Some(request) = message(&mut client) {
        if kill_time == KillTime::BeforeThePut && first() {
            kill(endpoint);
            return;
        }
        server.write_all(&request).unwrap();
        let Some(response) = message(&mut server) else { return };
        if kill_time == KillTime::AfterThePut && first() {
            kill(endpoint);
            return;
        }
        if client.write_all(&response).is_err() {
            return;
        }
    }
}

/// A complete HTTP message; none at the end of the connection.
fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut message, mut byte) = (Vec::new(), [0]);
    while !message.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        message.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&message).to_lowercase();
    assert!(!head.contains("transfer-encoding"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    message.extend(body);
    Some(message)
}

/// Kills the process that uses this endpoint, and waits until it has ended.
fn kill(endpoint: &str) {
    let variable_of_archiver = format!("AWS_ENDPOINT_URL_S3={endpoint}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == variable_of_archiver.as_bytes())
    });
    let ids: Vec<_> = processes.map(|process| process.file_name().into_string().unwrap()).collect();
    assert_eq!(ids.len(), 1, "one archiver uses {endpoint}");
    assert!(Command::new("kill").args(["-9", &ids[0]]).status().unwrap().success());
    // A process that has ended no longer has an environment.
    while std::fs::read(format!("/proc/{}/environ", ids[0])).is_ok_and(|environment| !environment.is_empty()) {
        thread::sleep(Duration::from_millis(1));
    }
}
