//! One binary, two functions: the function's `Handler` selects whether this process relays or sweeps.

use lambda_boot::{Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;
use outbox::{Relay, SnsTopic, StreamBatch, Sweeper};
use outbox_relay::{Config, Role, relay, sweep};
use serde::de::IgnoredAny;

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["outbox", "outbox_relay"]);
    let (config, client, topic) = &connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    let (client, table, topic, namespace) =
        (client.clone(), &config.outbox_table, topic.clone(), &config.metrics_namespace);
    match config.role {
        Role::Relay => {
            let outbox = &Relay::new(client, table, topic);
            let handler = service_fn(|event: LambdaEvent<StreamBatch>| async move {
                let (batch, context) = event.into_parts();
                relay(outbox, &batch, namespace, &context.request_id, context.deadline()).await
            });
            Runtime::new(handler).run().await
        }
        Role::Sweep => {
            let outbox = Sweeper::new(client, table, topic);
            let outbox = &match config.sweep_after {
                Some(age) => outbox.older_than(age),
                None => outbox,
            };
            let handler = service_fn(|event: LambdaEvent<IgnoredAny>| async move {
                sweep(outbox, namespace, &event.context.request_id, event.context.deadline()).await
            });
            Runtime::new(handler).run().await
        }
    }
}

fn connect(environment: &Environment<'_>) -> Result<(Config, aws_sdk_dynamodb::Client, SnsTopic), Error> {
    let config = Config::read(environment)?;
    let topic = SnsTopic::new(lambda_boot::sns(environment)?, &config.topic_arn);
    Ok((config, lambda_boot::dynamodb(environment)?, topic))
}
