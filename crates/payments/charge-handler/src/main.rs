//! One binary, two functions: the function's `Handler` selects whether this process charges or reconciles.

use std::sync::Arc;

use charge_handler::{ChargeHandler, Charger, Config, Reconciler, Role};
use lambda_boot::{Clock, Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;
use payment_gateway::HttpGateway;
use serde::de::IgnoredAny;

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["charge_handler"]);
    let (config, charger) = connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    match config.role {
        Role::Charge => {
            let handler = &ChargeHandler::new(charger, &config.metrics_namespace, Clock::system());
            let charge = service_fn(|event: LambdaEvent<_>| async move {
                let (batch, context) = event.into_parts();
                handler.handle(batch, &context.request_id, context.deadline()).await
            });
            Runtime::new(charge).run().await
        }
        Role::Reconcile => {
            let reconciler = &Reconciler::new(charger, &config, Clock::system());
            let reconcile = service_fn(|event: LambdaEvent<IgnoredAny>| async move {
                reconciler.run(&event.context.request_id, event.context.deadline()).await.map(drop)
            });
            Runtime::new(reconcile).run().await
        }
    }
}

fn connect(environment: &Environment<'_>) -> Result<(Config, Charger), Error> {
    let config = Config::read(environment)?;
    let client = lambda_boot::dynamodb(environment)?;
    let gateway = Arc::new(HttpGateway::from_environment(environment)?);
    let charger = Charger::new(&client, &config.tables, gateway, Clock::system());
    Ok((config, charger))
}
