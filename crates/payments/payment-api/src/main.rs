//! The HTTP Lambda of Payments: create, change and charge payment intents behind API Gateway.

use std::sync::Arc;

use lambda_boot::{Clock, Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;
use payment_api::{Api, ChargeMode, Config, Mode};
use payment_gateway::HttpGateway;
use payment_store::PaymentStore;

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["payment_api", "api_gateway", "payment_gateway", "payment_store"]);
    let api = &connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    let handler = service_fn(|event: LambdaEvent<_>| async move {
        let (request, context) = event.into_parts();
        Ok::<_, Error>(api.handle(request, context.deadline()).await)
    });
    Runtime::new(handler).run().await
}

fn connect(environment: &Environment<'_>) -> Result<Api, Error> {
    let config = Config::read(environment)?;
    let store = PaymentStore::new(lambda_boot::dynamodb(environment)?, config.tables, Clock::system());
    let mode = match config.charge_mode {
        ChargeMode::Saga => Mode::Saga,
        ChargeMode::Locked => Mode::Locked(Arc::new(HttpGateway::from_environment(environment)?)),
    };
    Ok(Api::new(store, mode, config.settings, Clock::system()))
}
