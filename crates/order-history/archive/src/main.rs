//! The Lambda that archives every message of the topic.

use std::time::Duration;

use archive::{Archiver, Config, Store, client};
use lambda_boot::{Clock, Environment, log_as_json, sdk_config, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;

/// The SDK allocates hundreds of times for each request.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Long enough for an object of 6 MB, the largest event of a Lambda. Short compared with the function's timeout: if a
/// connection broke while the function was frozen, only one attempt is lost.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["archive", "archiver"]);
    let archiver = &connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    let handler = service_fn(|event: LambdaEvent<_>| async move {
        let (batch, context) = event.into_parts();
        archiver.handle(batch, &context.request_id, context.deadline()).await
    });
    Runtime::new(handler).run().await
}

fn connect(environment: &Environment<'_>) -> Result<Archiver, Error> {
    let config = Config::read(environment)?;
    let s3 = client(&sdk_config(environment, "S3")?, ATTEMPT_TIMEOUT);
    let store = Store::open(&config.location, || s3);
    Ok(Archiver::new(&config, store, Clock::system()))
}
