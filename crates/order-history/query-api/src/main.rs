//! The HTTP Lambda: findOrder and findOrderHistory behind API Gateway.

use lambda_boot::{Clock, Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;
use order_store::OrderStore;
use query_api::{Api, Config};

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["query_api", "api_gateway"]);
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
    let orders = OrderStore::new(lambda_boot::dynamodb(environment)?, &config.order_history_table)
        .with_index(&config.order_history_index);
    Ok(Api::new(orders, config, Clock::system()))
}
