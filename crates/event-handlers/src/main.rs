//! One Lambda per event type: the function's `Handler` names the type this process serves.

use event_handlers::{Config, Projector};
use lambda_boot::{Environment, log_as_json};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log_as_json(&["event_handler", "event_handlers"]);
    let config = Config::read(&Environment::of_process()).unwrap_or_else(|error| {
        tracing::error!(%error, "cannot start");
        std::process::exit(1);
    });
    let projector = Projector::connect(&config).await;
    let projector = &projector;
    let handler = service_fn(|event: LambdaEvent<_>| async move {
        let (batch, context) = event.into_parts();
        projector.handle(batch, &context.request_id, context.deadline()).await
    });
    Runtime::new(handler).run().await
}
