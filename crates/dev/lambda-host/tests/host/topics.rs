//! Messages over the SNS API, by AWS's own client, into queues.

use aws_sdk_sns::Client;
use aws_sdk_sns::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sns::primitives::Blob;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use aws_smithy_http_client::Builder as HttpClientBuilder;
use lambda_host::queues::{self, Message, MessageAttribute, Queue, Queues};
use lambda_host::topics::{Subscription, Topic, Topics};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::echo::TIMEOUT;

#[tokio::test]
async fn a_message_arrives_in_the_queue_as_a_notification() {
    let world = World::start().await;
    let queue = world.subscribe("all", None, false).await;
    let sent = world.client.publish().topic_arn(world.topic.arn()).message("grüezi <&>").subject("hello");
    let sent = sent.message_attributes("event-type", text("OrderCreated")).message_attributes("trace", binary());
    let sent = sent.send().await.unwrap();

    let received = receive(&queue).await;
    assert_eq!(received.message_attributes.len(), 0);
    let mut body: Value = serde_json::from_str(&received.body).unwrap();
    for made_up in ["Timestamp", "Signature", "SigningCertURL", "UnsubscribeURL"] {
        assert!(body[made_up].take().is_string(), "{made_up}");
    }
    assert_eq!(
        body,
        json!({
            "Type": "Notification",
            "MessageId": sent.message_id().unwrap(),
            "TopicArn": "arn:aws:sns:us-east-1:000000000000:events",
            "Subject": "hello",
            "Message": "grüezi <&>",
            "Timestamp": null,
            "SignatureVersion": "1",
            "Signature": null,
            "SigningCertURL": null,
            "UnsubscribeURL": null,
            "MessageAttributes": {
                "event-type": {"Type": "String", "Value": "OrderCreated"},
                "trace": {"Type": "Binary", "Value": "/wD+"},
            },
        })
    );
}

#[tokio::test]
async fn a_raw_subscription_gets_the_message_without_a_notification() {
    let world = World::start().await;
    let raw = world.subscribe("raw", None, true).await;
    let wrapped = world.subscribe("wrapped", None, false).await;
    let sent = world.client.publish().topic_arn(world.topic.arn()).message("plain");
    let sent = sent.message_attributes("event-type", text("OrderCreated")).message_attributes("trace", binary());
    sent.send().await.unwrap();
    let received = receive(&raw).await;
    assert_eq!(received.body, "plain");
    let attribute = |data_type: &str, string_value: Option<&str>, binary_value: Option<&[u8]>| MessageAttribute {
        data_type: data_type.to_owned(),
        string_value: string_value.map(str::to_owned),
        binary_value: binary_value.map(<[u8]>::to_vec),
    };
    assert_eq!(received.message_attributes["event-type"], attribute("String", Some("OrderCreated"), None));
    assert_eq!(received.message_attributes["trace"], attribute("Binary", None, Some(&[255, 0, 254])));
    assert_eq!(message_of(&receive(&wrapped).await), "plain", "the other queue gets the whole notification");
}

#[tokio::test]
async fn a_queue_gets_only_messages_that_match_its_policy() {
    let world = World::start().await;
    let policy = |rules: Value| Some(json!({"event-type": rules}));
    let exact = policy(json!(["OrderCreated", "OrderCreatedEvent", {"suffix": ".OrderCreated"}]));
    let exact = world.subscribe("exact", exact, false).await;
    let other = world.subscribe("other", policy(json!([{"anything-but": ["OrderCreated"]}])), false).await;
    let absent = world.subscribe("absent", policy(json!([{"exists": false}])), false).await;
    let amounts = Some(json!({"amount": [{"numeric": [">=", 100]}], "event-type": [{"prefix": "Order"}]}));
    let amounts = world.subscribe("amounts", amounts, false).await;
    for (message, event_type, amount) in [
        ("1", Some("OrderCreated"), None),
        ("2", Some("net.ftgo.OrderCreated"), Some("99.5")),
        ("3", Some("BulkOrderCreated"), Some("100")),
        ("4", None, Some("100")),
        ("5", Some("OrderRevised"), Some("100")),
    ] {
        let publish = world.client.publish().topic_arn(world.topic.arn()).message(message);
        let publish = match event_type {
            Some(event_type) => publish.message_attributes("event-type", text(event_type)),
            None => publish,
        };
        let publish = match amount {
            Some(amount) => publish.message_attributes("amount", number(amount)),
            None => publish,
        };
        publish.send().await.unwrap();
    }
    assert_eq!(all_messages(&exact).await, ["1", "2"]);
    assert_eq!(all_messages(&other).await, ["2", "3", "5"]);
    assert_eq!(all_messages(&absent).await, ["4"]);
    assert_eq!(all_messages(&amounts).await, ["5"]);
}

#[tokio::test]
async fn a_batch_is_published_entry_by_entry() {
    let world = World::start().await;
    let policy = Some(json!({"event-type": ["OrderCreated"]}));
    let queue = world.subscribe("orders", policy, false).await;
    let entry = |id: &str, message: &str, event_type: &str| {
        let entry = PublishBatchRequestEntry::builder().id(id).message(message);
        entry.message_attributes("event-type", text(event_type)).build().unwrap()
    };
    let invalid = PublishBatchRequestEntry::builder().id("c").message("not JSON").message_structure("json");
    let batch = world.client.publish_batch().topic_arn(world.topic.arn());
    let batch = batch
        .publish_batch_request_entries(entry("a", "1", "OrderCreated"))
        .publish_batch_request_entries(entry("b", "2", "OrderRevised"))
        .publish_batch_request_entries(invalid.build().unwrap())
        .publish_batch_request_entries(entry("d", "4", "OrderCreated"));
    let published = batch.send().await.unwrap();
    let ids: Vec<_> = published.successful().iter().map(|entry| entry.id().unwrap()).collect();
    assert_eq!(ids, ["a", "b", "d"]);
    let failed = published.failed();
    assert_eq!((failed[0].id(), failed[0].sender_fault(), failed.len()), ("c", true, 1));
    assert_eq!(all_messages(&queue).await, ["1", "4"]);

    let batch = world.client.publish_batch().topic_arn(world.topic.arn());
    let large = "x".repeat(128 * 1024);
    let large = ["a", "b"].map(|id| entry(id, &large, "OrderCreated")).to_vec();
    let refused = batch.set_publish_batch_request_entries(Some(large)).send().await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_batch_request_too_long_exception(), "{refused:?}");

    let many = (0..11).map(|number| entry(&number.to_string(), "x", "OrderCreated"));
    let batch = world.client.publish_batch().topic_arn(world.topic.arn());
    let refused = batch.set_publish_batch_request_entries(Some(many.collect())).send().await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_too_many_entries_in_batch_request_exception(), "{refused:?}");
}

#[tokio::test]
async fn a_missing_topic_is_an_error() {
    let world = World::start().await;
    let arn = format!("{}-2", world.topic.arn());
    let refused = world.client.publish().topic_arn(arn).message("1").send().await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_not_found_exception(), "{refused:?}");
}

#[tokio::test]
async fn a_missing_queue_does_not_stop_the_other_queues() {
    let world = World::start().await;
    let lost = Subscription { queue: "nowhere".to_owned(), filter_policy: None, raw_message_delivery: false };
    world.topic.subscribe(&lost).unwrap();
    let queue = world.subscribe("here", None, false).await;
    world.topic.publish("1".to_owned(), &[]).await.unwrap();
    assert_eq!(all_messages(&queue).await, ["1"]);
}

#[tokio::test]
async fn a_policy_that_would_never_match_is_rejected() {
    let world = World::start().await;
    for policy in [json!([]), json!({"a": "b"}), json!({"a": [{"prefx": "b"}]}), json!({"$or": [{"a": ["b"]}]})] {
        let subscription =
            Subscription { queue: "q".to_owned(), filter_policy: Some(policy.clone()), raw_message_delivery: false };
        world.topic.subscribe(&subscription).expect_err(&policy.to_string());
    }
}

#[tokio::test]
async fn over_the_api_a_queue_can_be_subscribed_but_not_raw() {
    let world = World::start().await;
    let queue = world.create("debug").await;
    let subscribe = || {
        let subscribe = world.client.subscribe().topic_arn(world.topic.arn()).protocol("sqs");
        subscribe.endpoint("arn:aws:sqs:us-east-1:000000000000:debug")
    };
    let refused = subscribe().attributes("RawMessageDelivery", "true").send().await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_invalid_parameter_exception(), "{refused:?}");
    subscribe().attributes("FilterPolicy", r#"{"event-type": ["OrderCreated"]}"#).send().await.unwrap();
    world.topic.publish("1".to_owned(), &[("event-type", "OrderCreated")]).await.unwrap();
    world.topic.publish("2".to_owned(), &[("event-type", "OrderRevised")]).await.unwrap();
    assert_eq!(all_messages(&queue).await, ["1"]);
    let listed = world.client.list_subscriptions_by_topic().topic_arn(world.topic.arn()).send().await.unwrap();
    assert_eq!(listed.subscriptions().len(), 1);
}

#[tokio::test]
async fn a_message_may_have_256_kibibytes_and_no_more() {
    let world = World::start().await;
    let queue = world.subscribe("all", None, false).await;
    let largest = "x".repeat(256 * 1024);
    let publish = |message: String| world.client.publish().topic_arn(world.topic.arn()).message(message).send();
    publish(largest.clone()).await.unwrap();
    assert!(message_of(&receive(&queue).await) == largest);
    let refused = publish(largest + "x").await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_invalid_parameter_exception(), "{refused:?}");
}

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
}

fn number(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("Number").string_value(value).build().unwrap()
}

fn binary() -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([255, 0, 254])).build().unwrap()
}

async fn receive(queue: &Queue) -> Message {
    let mut received = timeout(TIMEOUT, queue.receive(1)).await.expect("no message arrived").unwrap();
    received.pop().expect("no message arrived")
}

fn message_of(received: &Message) -> String {
    let notification: Value = serde_json::from_str(&received.body).unwrap();
    notification["Message"].as_str().unwrap().to_owned()
}

/// The messages of all notifications in a queue, sorted. A message is in the queue when its request is answered.
async fn all_messages(queue: &Queue) -> Vec<String> {
    let received = timeout(TIMEOUT, queue.receive(10)).await.expect("no message arrived").unwrap();
    let mut messages: Vec<_> = received.iter().map(message_of).collect();
    messages.sort();
    messages
}

/// A topic `events`, its API and AWS's client for it. All end with this value.
struct World {
    queues: Queues,
    topic: Topic,
    client: Client,
    _server: JoinSet<std::io::Result<()>>,
}

impl World {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let queues = Queues::new(address);
        let topics = Topics::new(address, &queues);
        let topic = topics.create("events").unwrap();
        let mut server = JoinSet::new();
        server.spawn(async move { topics.serve(listener).await });
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(format!("http://{address}"))
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "a test"))
            .http_client(HttpClientBuilder::new().build_http());
        Self { queues, topic, client: Client::from_conf(config.build()), _server: server }
    }

    async fn create(&self, name: &str) -> Queue {
        let settings = queues::Settings {
            name: name.to_owned(),
            visibility_timeout: TIMEOUT.as_secs(),
            message_retention_period: 345_600,
            redrive: None,
        };
        self.queues.create(&settings).await.unwrap()
    }

    async fn subscribe(&self, name: &str, filter_policy: Option<Value>, raw_message_delivery: bool) -> Queue {
        let queue = self.create(name).await;
        let subscription = Subscription { queue: name.to_owned(), filter_policy, raw_message_delivery };
        self.topic.subscribe(&subscription).unwrap();
        queue
    }
}
