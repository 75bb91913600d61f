//! The system that `make e2e` has deployed from `template.yaml`. Environment variables have its addresses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::config::Credentials;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use order_events::EventType;
use percent_encoding::percent_decode_str;
use reqwest::{Method, StatusCode};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use crate::aws::{Aws, element};
use crate::order::PublishedEvent;
use crate::system::{Environment, System};

const IAM: (&str, &str) = ("iam", "2010-05-08");
const SNS: (&str, &str) = ("sns", "2010-03-31");
const STS: (&str, &str) = ("sts", "2011-06-15");
const CLOUDFORMATION: (&str, &str) = ("cloudformation", "2010-05-15");

/// The name of a function's policy in the template.
const POLICY: &str = "project";

const PAYMENTS_STACK: &str = "ftgo-payments";

/// A deployed system.
#[derive(Debug)]
pub struct Deployed {
    topic_arn: String,
    stack: String,
    issuer: Issuer,
}

/// The issuer of the tokens.
#[derive(Debug)]
pub struct Issuer {
    /// The claim `iss`.
    pub name: String,
    /// The claim `aud`.
    pub audience: String,
    key_id: String,
    key: RsaKeyPair,
}

/// Connects to the system in the environment variables, and sets short visibility timeouts.
pub async fn connect() -> System<Deployed> {
    let aws = Aws::new(
        &variable("AWS_ENDPOINT_URL"),
        &variable("AWS_REGION"),
        &variable("AWS_ACCESS_KEY_ID"),
        &variable("AWS_SECRET_ACCESS_KEY"),
    );
    let issuer = Issuer {
        name: variable("E2E_ISSUER"),
        audience: variable("E2E_AUDIENCE"),
        key_id: variable("E2E_KEY_ID"),
        key: RsaKeyPair::from_pkcs8(&std::fs::read(variable("E2E_SIGNING_KEY")).unwrap()).unwrap(),
    };
    let prefix = variable("E2E_PREFIX");
    let environment = Deployed { topic_arn: variable("E2E_TOPIC_ARN"), stack: variable("E2E_STACK"), issuer };
    let name = json!({"QueueName": format!("{prefix}-{}", EventType::OrderCreated)});
    let url = aws.sqs("GetQueueUrl", &name).await["QueueUrl"].as_str().unwrap().to_owned();
    let queues = url.strip_suffix(EventType::OrderCreated.name()).unwrap().to_owned();
    let system = System::new(
        environment,
        aws,
        variable("E2E_API_URL"),
        queues,
        variable("E2E_PAYMENTS_URL"),
        variable("E2E_GATEWAY_URL"),
    );
    for &event_type in EventType::ALL {
        let attributes = json!({"QueueUrl": system.queue(event_type), "Attributes": {"VisibilityTimeout": "4"}});
        system.aws.sqs("SetQueueAttributes", &attributes).await;
    }
    // Longer than a charge takes: its message must not be retried while the gateway works.
    let charges = json!({"QueueUrl": system.payments_queue("charge").await, "Attributes": {"VisibilityTimeout": "15"}});
    system.aws.sqs("SetQueueAttributes", &charges).await;
    system
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: make e2e sets it"))
}

impl System<Deployed> {
    /// The issuer of the tokens that the API accepts.
    #[must_use]
    pub fn issuer(&self) -> &Issuer {
        &self.environment.issuer
    }

    /// The services with the role of a function of Payments: `PaymentApi`, `Relay`, …
    pub async fn as_function_of_payments(&self, function: &str) -> Aws {
        let role = self.resource(PAYMENTS_STACK, &format!("Role{function}")).await;
        let role = format!("arn:aws:iam::000000000000:role/{role}");
        let found = self.query(STS, "AssumeRole", &[("RoleArn", &role), ("RoleSessionName", "end-to-end")]).await;
        let text = |name| element(&found, name).to_owned();
        let token = Some(text("SessionToken"));
        self.aws.with_credentials(Credentials::new(text("AccessKeyId"), text("SecretAccessKey"), token, None, "role"))
    }

    /// Publishes to the topic with credentials that may lack the permission.
    pub async fn try_publish_as(&self, who: &Aws) -> StatusCode {
        let parameters = [("TopicArn", self.environment.topic_arn.as_str()), ("Message", "{}")];
        who.try_query(SNS.0, SNS.1, "Publish", &parameters).await.0
    }

    /// Lets the stream invoke the relay, or not.
    pub async fn set_relay(&self, is_enabled: bool) {
        let path = "/2015-03-31/event-source-mappings/";
        let mappings = self.aws.lambda(Method::GET, path, &Value::Null).await;
        let mappings = mappings["EventSourceMappings"].as_array().unwrap();
        let of_relay = |mapping: &&Value| mapping["FunctionArn"].as_str().unwrap().contains("ftgo-payments-relay");
        let relay = mappings.iter().find(of_relay).expect("the relay has a mapping");
        let path = format!("{path}{}", relay["UUID"].as_str().unwrap());
        self.aws.lambda(Method::PUT, &path, &json!({"Enabled": is_enabled})).await;
    }

    /// How many rows the outbox has.
    pub async fn outbox_rows(&self) -> u64 {
        let scan = json!({"TableName": "ftgo-payments-outbox", "ConsistentRead": true, "Select": "COUNT"});
        let (status, response) = self.aws.try_dynamodb("Scan", &scan).await;
        assert!(status.is_success(), "{response}");
        serde_json::from_str::<Value>(&response).unwrap()["Count"].as_u64().unwrap()
    }

    /// How many messages a queue of Payments holds, by the end of its name.
    pub async fn waiting_in(&self, queue: &str) -> u64 {
        self.depth(&self.payments_queue(queue).await).await
    }

    async fn payments_queue(&self, queue: &str) -> String {
        let name = json!({"QueueName": format!("ftgo-payments-{queue}")});
        self.aws.sqs("GetQueueUrl", &name).await["QueueUrl"].as_str().unwrap().to_owned()
    }

    async fn role(&self, event_type: EventType) -> String {
        self.resource(&self.environment.stack, &format!("Role{event_type}")).await
    }

    async fn resource(&self, stack: &str, resource: &str) -> String {
        let parameters = [("StackName", stack), ("LogicalResourceId", resource)];
        let found = self.query(CLOUDFORMATION, "DescribeStackResource", &parameters).await;
        element(&found, "PhysicalResourceId").to_owned()
    }

    async fn policy(&self, role: &str) -> Value {
        let found = self.query(IAM, "GetRolePolicy", &[("RoleName", role), ("PolicyName", POLICY)]).await;
        let document = percent_decode_str(element(&found, "PolicyDocument")).decode_utf8().unwrap();
        serde_json::from_str(&document).unwrap()
    }

    async fn set_policy(&self, role: &str, policy: &Value) {
        let document = policy.to_string();
        let parameters = [("RoleName", role), ("PolicyName", POLICY), ("PolicyDocument", &document)];
        self.query(IAM, "PutRolePolicy", &parameters).await;
    }

    async fn query(&self, service: (&str, &str), action: &str, parameters: &[(&str, &str)]) -> String {
        let (name, version) = service;
        self.aws.query(name, version, action, parameters).await
    }
}

impl Issuer {
    /// A token that expires at this time, which may be in the past.
    #[must_use]
    pub fn sign(&self, claims: &Value, expires: SystemTime) -> String {
        let mut claims = claims.clone();
        let defaults = [("iss", json!(self.name)), ("aud", json!(self.audience)), ("exp", json!(seconds(expires)))];
        for (claim, value) in defaults {
            if claims.get(claim).is_none() {
                claims[claim] = value;
            }
        }
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": self.key_id});
        let signed = [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl Environment for Deployed {
    /// Publishes to the topic, which selects the queues.
    async fn publish(system: &System<Self>, events: &[PublishedEvent]) {
        for event in events {
            let parameters = [
                ("TopicArn", system.environment.topic_arn.as_str()),
                ("Message", &event.body),
                ("MessageAttributes.entry.1.Name", "event-type"),
                ("MessageAttributes.entry.1.Value.DataType", "String"),
                ("MessageAttributes.entry.1.Value.StringValue", &event.type_name),
            ];
            system.query(SNS, "Publish", &parameters).await;
        }
    }

    fn token(&self, claims: &Value) -> String {
        self.issuer.sign(claims, SystemTime::now() + Duration::from_mins(10))
    }

    /// Removes the permission to update orders from the function's role.
    async fn break_function(system: &System<Self>, event_type: EventType) {
        let role = system.role(event_type).await;
        let mut policy = system.policy(&role).await;
        let statements = policy["Statement"].as_array_mut().unwrap();
        let allowed = statements.len();
        statements.retain(|statement| statement["Sid"] != "UpdateTheOrder");
        assert_eq!(statements.len(), allowed - 1, "the role has no such permission");
        system.set_policy(&role, &policy).await;
    }

    /// Copies the permission from another function's role.
    async fn repair_function(system: &System<Self>, event_type: EventType) {
        let (role, sound) = (system.role(event_type).await, system.role(EventType::OrderCreated).await);
        let (mut policy, sound) = (system.policy(&role).await, system.policy(&sound).await);
        let statements = sound["Statement"].as_array().unwrap();
        let permission = statements.iter().find(|statement| statement["Sid"] == "UpdateTheOrder").unwrap();
        policy["Statement"].as_array_mut().unwrap().push(permission.clone());
        system.set_policy(&role, &policy).await;
    }

    /// Moves each message itself: the emulator has no `StartMessageMoveTask`.
    async fn redrive(system: &System<Self>, event_type: EventType) {
        let queue = system.dead_letter_queue(event_type);
        let received = system.aws.sqs("ReceiveMessage", &json!({"QueueUrl": queue, "WaitTimeSeconds": 1})).await;
        for message in received["Messages"].as_array().into_iter().flatten() {
            system.send(event_type, &[message["Body"].as_str().unwrap().to_owned()]).await;
            let handle = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]});
            system.aws.sqs("DeleteMessage", &handle).await;
        }
    }
}
