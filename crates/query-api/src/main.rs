//! The HTTP Lambda: findOrder and findOrderHistory behind API Gateway.

use lambda_boot::{Environment, log_as_json};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use query_api::{Api, Config};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log_as_json(&["query_api"]);
    let config = Config::read(&Environment::of_process()).unwrap_or_else(|error| {
        tracing::error!(%error, "cannot start");
        std::process::exit(1);
    });
    let api = Api::connect(config).await;
    let api = &api;
    let handler = service_fn(|event: LambdaEvent<_>| async move {
        let (request, context) = event.into_parts();
        Ok::<_, Error>(api.handle(request, context.deadline()).await)
    });
    Runtime::new(handler).run().await
}
