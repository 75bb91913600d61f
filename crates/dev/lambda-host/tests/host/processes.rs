//! Inspects a running system: processes, queues, topics, and routes in front of an HTTP API.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::routing::get;
use lambda_host::gateway::{HttpApi, Integration};
use lambda_host::lambda::{InvokeError, InvokeResult};
use lambda_host::mapping::Mapping;
use lambda_host::processes::{Observation, Observer};
use lambda_host::queues::{self, Queue, Queues, Redrive, Size};
use lambda_host::route::Route;
use lambda_host::topics::{Subscription, Topics};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::echo::{Handler, TIMEOUT, settings};

/// The visibility timeout of messages that are retried: short, but longer than a function takes to answer.
const RETRY_TIME: Duration = Duration::from_secs(2);

#[tokio::test]
async fn processes_and_invocations_are_counted() {
    let world = World::start(TIMEOUT).await;
    let processes = world.mapping.processes();
    assert_eq!((processes.function(), processes.ids(), processes.invocations()), ("echo", vec![], 0));
    world.queue.send("a".to_owned()).await.unwrap();
    let invocation = world.handler.invocation().await;
    let process = u32::try_from(invocation.process()).unwrap();
    assert_eq!((processes.ids(), processes.invocations()), (vec![process], 0));
    assert_eq!(world.queue.size().await.unwrap(), Size { waiting: 0, in_flight: 1 });
    invocation.succeed().await;
    world.mapping.done(1).await;
    assert_eq!(world.queue.size().await.unwrap(), Size::default());
    assert_eq!((processes.ids(), processes.invocations(), processes.failures()), (vec![process], 1, 0));
}

#[tokio::test]
async fn the_invocation_of_a_killed_process_fails_and_the_process_is_replaced() {
    let world = World::start(RETRY_TIME).await;
    let processes = world.mapping.processes();
    assert_eq!(processes.kill(), 0, "there is no process yet");
    world.queue.send("a".to_owned()).await.unwrap();
    let first = world.handler.invocation().await;
    assert_eq!(processes.kill(), 1);
    let second = world.handler.invocation().await;
    assert_ne!(second.process(), first.process());
    assert_eq!((second.receives(), processes.failures()), (2, 1));
    second.succeed().await;
    world.mapping.done(1).await;
    assert_eq!((processes.kill(), processes.ids()), (1, vec![]), "an idle process is killed too");
    world.queue.send("b".to_owned()).await.unwrap();
    world.handler.invocation().await.succeed().await;
    world.mapping.done(2).await;
    assert_eq!(processes.failures(), 1, "no invocation fails because of it");
}

/// Kills the process of the first invocation, and records the result of every invocation.
#[derive(Default)]
struct Killer {
    ended: Arc<Mutex<Vec<&'static str>>>,
}

struct KillerObservation {
    is_first: bool,
    ended: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait]
impl Observer for Killer {
    async fn begin(self: Arc<Self>, event: &Value) -> Option<Box<dyn Observation>> {
        let is_first = event["Records"][0]["attributes"]["ApproximateReceiveCount"] == "1";
        Some(Box::new(KillerObservation { is_first, ended: Arc::clone(&self.ended) }))
    }
}

#[async_trait]
impl Observation for KillerObservation {
    fn kill_after(&self) -> Option<Duration> {
        self.is_first.then_some(Duration::from_millis(1))
    }

    async fn end(self: Box<Self>, result: &InvokeResult) {
        self.ended.lock().unwrap().push(match result {
            Ok(_) => "answered",
            Err(InvokeError::Exited { .. }) => "killed",
            Err(_) => "failed",
        });
    }
}

#[tokio::test]
async fn an_observer_sees_every_invocation_and_can_kill_its_process() {
    let world = World::start(RETRY_TIME).await;
    let killer = Arc::new(Killer::default());
    let observing = world.mapping.processes().observe(Arc::clone(&killer) as Arc<dyn Observer>);
    world.queue.send("a".to_owned()).await.unwrap();
    // The killed process may have sent its event to the test before.
    let answered = async {
        loop {
            let invocation = world.handler.invocation().await;
            if invocation.receives() == 2 {
                return invocation.succeed().await;
            }
        }
    };
    timeout(TIMEOUT, answered).await.expect("the message was not retried");
    world.mapping.done(1).await;
    assert_eq!(*killer.ended.lock().unwrap(), ["killed", "answered"]);

    drop(observing);
    world.queue.send("b".to_owned()).await.unwrap();
    world.handler.invocation().await.succeed().await;
    world.mapping.done(2).await;
    assert_eq!(killer.ended.lock().unwrap().len(), 2, "the observer was not removed");
}

#[tokio::test]
async fn dead_letters_can_be_inspected_and_moved_back() {
    let world = World::start(TIMEOUT).await;
    for number in 0..12 {
        world.dead_letters.send(number.to_string()).await.unwrap();
        // The engine's times have milliseconds.
        sleep(Duration::from_millis(2)).await;
    }
    let bodies = |messages: Vec<queues::Message>| messages.into_iter().map(|message| message.body).collect::<Vec<_>>();
    let all: Vec<_> = (0..12).map(|number| number.to_string()).collect();
    for look in 1..=2 {
        let seen = world.dead_letters.peek(100).await.unwrap();
        let receives = |message: &queues::Message| message.attributes["ApproximateReceiveCount"].clone();
        assert!(seen.iter().all(|message| receives(message) == look.to_string() && message.sent_at() > 0), "{seen:?}");
        assert_eq!(bodies(seen), all, "the oldest first");
        assert_eq!(world.dead_letters.size().await.unwrap(), Size { waiting: 12, in_flight: 0 });
    }
    assert_eq!(bodies(world.dead_letters.peek(3).await.unwrap()).len(), 3);

    assert_eq!(world.queues.redrive(&world.dead_letters).await.unwrap(), 12);
    assert_eq!(world.dead_letters.size().await.unwrap(), Size::default());
    let mut moved = 0;
    while moved < 12 {
        let invocation = world.handler.invocation().await;
        moved += invocation.records().len();
        invocation.succeed().await;
    }
    world.mapping.done(12).await;
    assert_eq!(world.queues.redrive(&world.dead_letters).await.unwrap(), 0);
}

#[tokio::test]
async fn a_topic_returns_the_last_published_messages() {
    let world = World::start(TIMEOUT).await;
    let topics = Topics::new(([127, 0, 0, 1], 0).into(), &world.queues);
    let topic = topics.create("events").unwrap();
    assert_eq!((topic.subscriptions().unwrap(), topic.published(), topic.last_published()), (0, 0, vec![]));
    let queue = "events".to_owned();
    topic.subscribe(&Subscription { queue, filter_policy: None, raw_message_delivery: false }).unwrap();
    let mut ids = Vec::new();
    for number in 0..21 {
        ids.push(topic.publish(number.to_string(), &[]).await.unwrap());
    }
    assert_eq!((topic.subscriptions().unwrap(), topic.published()), (1, 21));
    let last: Vec<_> = topic.last_published().into_iter().map(|published| published.message).collect();
    assert_eq!(last, (1..21).rev().map(|number| number.to_string()).collect::<Vec<_>>());
    let invocation = world.handler.invocation().await;
    let notification: Value = serde_json::from_str(&invocation.bodies()[0]).unwrap();
    assert_eq!(notification["MessageId"], ids[0].as_str());

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = listener.local_addr().unwrap();
    let _server = JoinSet::from_iter([{
        let topics = topics.clone();
        async move { topics.serve(listener).await }
    }]);
    let batch = format!(
        "Action=PublishBatch&Version=2010-03-31&TopicArn={}&PublishBatchRequestEntries.member.1.Id=1&\
         PublishBatchRequestEntries.member.1.Message=over+HTTP&PublishBatchRequestEntries.member.2.Id=2&\
         PublishBatchRequestEntries.member.2.Message=too",
        topic.arn()
    );
    let head = "content-type: application/x-www-form-urlencoded\r\n";
    let response = exchange(api, &format!("POST / HTTP/1.1\r\n{head}content-length: {}", batch.len()), &batch).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let last: Vec<_> = topic.last_published().into_iter().map(|published| published.message).take(3).collect();
    assert_eq!((topic.published(), last), (23, vec!["too".to_owned(), "over HTTP".to_owned(), "20".to_owned()]));
}

#[tokio::test]
async fn routes_in_front_of_an_http_api_are_matched_first() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = vec![Route { key: "$default".to_owned(), authorization: "NONE".to_owned() }];
    let api =
        HttpApi::start(vec![Integration { function: settings(), concurrency: 1, routes }], |_| None).await.unwrap();
    let [processes] = api.processes() else { panic!("it has one function") };
    let processes = processes.clone();
    assert_eq!(
        (processes.ids().len(), processes.invocations()),
        (1, 0),
        "a process is started before the first request"
    );
    let front = Router::new().route("/front", get(async || "in front"));
    let server = JoinSet::from_iter([api.serve_behind(listener, front)]);
    let response = exchange(address, "GET /front HTTP/1.1", "").await;
    assert!(response.ends_with("in front"), "{response}");
    assert_eq!(processes.invocations(), 0);
    let response = exchange(address, "GET /behind HTTP/1.1", "").await;
    assert!(response.contains("/behind") && response.contains("apigw-requestid"), "{response}");
    assert_eq!(processes.invocations(), 1);
    drop(server);
    timeout(TIMEOUT, async {
        while !processes.ids().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the processes still run");
}

/// One request, and all of its response.
async fn exchange(address: std::net::SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{head}\r\nhost: {address}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

/// A queue and a function that this test answers.
struct World {
    queues: Queues,
    queue: Queue,
    dead_letters: Queue,
    mapping: Mapping,
    handler: Handler,
}

impl World {
    async fn start(visibility_timeout: Duration) -> Self {
        let queues = Queues::new(([127, 0, 0, 1], 0).into());
        let queue = |name: &str, visibility_timeout, redrive| queues::Settings {
            name: name.to_owned(),
            visibility_timeout,
            message_retention_period: 345_600,
            redrive,
        };
        let dead_letters = queues.create(&queue("events-dlq", TIMEOUT.as_secs(), None)).await.unwrap();
        let redrive = Redrive { dead_letter_queue: "events-dlq".to_owned(), max_receive_count: 5 };
        let queue = queues.create(&queue("events", visibility_timeout.as_secs(), Some(redrive))).await.unwrap();
        let mut settings = settings();
        let handler = Handler::of(&mut settings).await;
        let mapping = Mapping::start(queue.clone(), settings, 10, 1);
        Self { queues, queue, dead_letters, mapping, handler }
    }
}
