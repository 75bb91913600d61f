//! One Lambda per event type: the function's `Handler` names the event type that this process handles.

use event_handlers::{Config, Projector};
use lambda_boot::{Clock, Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["event_handler", "event_handlers"]);
    let projector = &connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    let handler = service_fn(|event: LambdaEvent<_>| async move {
        let (batch, context) = event.into_parts();
        projector.handle(batch, &context.request_id, context.deadline()).await
    });
    Runtime::new(handler).run().await
}

fn connect(environment: &Environment<'_>) -> Result<Projector, Error> {
    let config = Config::read(environment)?;
    let client = lambda_boot::dynamodb(environment)?;
    Ok(Projector::new(&config, &client, Clock::system()))
}
