//! One binary, three functions: the function's `Handler` is `Plan`, `Fold` or `Report`.

use std::pin::Pin;
use std::time::Duration;

use lambda_boot::{Clock, Environment, log_as_json, with_causes};
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use mimalloc::MiMalloc;
use rebuild::worker::{Config, Failure, Role, Worker};
use serde_json::Value;

/// The fold allocates for each attribute of each event.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::of_process();
    log_as_json(&environment, &["rebuild", "rebuild_worker"]);
    let (role, worker) = &connect(&environment).unwrap_or_else(|error| {
        tracing::error!(error = with_causes(&*error), "cannot start");
        std::process::exit(1);
    });
    let handler = service_fn(|event: LambdaEvent<Value>| async move {
        let (request, context) = event.into_parts();
        // Boxed: otherwise the future's type is too deep for the compiler's recursion limit.
        let response: Pin<Box<dyn Future<Output = Result<_, Failure>>>> = Box::pin(async {
            let response = match role {
                Role::Plan => serde_json::to_value(worker.plan(Worker::read(request)?).await?),
                Role::Fold => {
                    let request = Worker::read(request)?;
                    serde_json::to_value(worker.fold(request, &context.request_id, context.deadline()).await?)
                }
                Role::Report => serde_json::to_value(worker.report(Worker::read(request)?).await?),
            };
            Ok(response.map_err(rebuild::Error::Write)?)
        });
        response.await.inspect_err(|failure| {
            let (error, request_id) = (with_causes(failure), &context.request_id);
            tracing::error!(request_id, error_type = failure.name(), error, "the request failed");
        })
    });
    Runtime::new(handler).run().await
}

fn connect(environment: &Environment<'_>) -> Result<(Role, Worker), Error> {
    let config = Config::read(environment)?;
    let dynamodb = rebuild::dynamodb(&lambda_boot::sdk_config(environment, "DYNAMODB")?);
    let s3 = archive::client(&lambda_boot::sdk_config(environment, "S3")?, Duration::from_mins(2));
    let archive = archive::Store::s3(s3, &config.archive_bucket, "");
    Ok((config.role, Worker::new(config, archive, dynamodb, Clock::system())))
}
