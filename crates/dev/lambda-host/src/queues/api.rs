//! The engine's API, with the operations that the engine lacks.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::Response;
use rustack_sqs_core::handler::RustackSqsHandler;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::body::SqsResponseBody;
use rustack_sqs_http::dispatch::SqsHandler;
use rustack_sqs_http::response::json_response;
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::operations::SqsOperation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::large;
use super::move_task::Tasks;

pub(super) struct Api {
    engine: Arc<RustackSqs>,
    handler: RustackSqsHandler,
    tasks: Arc<Tasks>,
}

impl Api {
    pub(super) fn new(engine: Arc<RustackSqs>, tasks: Arc<Tasks>) -> Self {
        Self { handler: RustackSqsHandler::new(Arc::clone(&engine)), engine, tasks }
    }
}

type Handled = Pin<Box<dyn Future<Output = Result<Response<SqsResponseBody>, SqsError>> + Send>>;

impl SqsHandler for Api {
    fn handle_operation(&self, operation: SqsOperation, body: Bytes) -> Handled {
        let (engine, tasks) = (Arc::clone(&self.engine), Arc::clone(&self.tasks));
        match operation {
            SqsOperation::SendMessage => Box::pin(async move { respond(&large::send(&engine, read(&body)?).await?) }),
            SqsOperation::SendMessageBatch => {
                Box::pin(async move { respond(&large::send_batch(&engine, read(&body)?).await?) })
            }
            SqsOperation::ReceiveMessage => {
                Box::pin(async move { respond(&large::receive(&engine, read(&body)?).await?) })
            }
            SqsOperation::GetQueueAttributes => {
                Box::pin(async move { respond(&large::attributes(&engine, read(&body)?).await?) })
            }
            SqsOperation::StartMessageMoveTask => {
                Box::pin(async move { respond(&tasks.start(&engine, read(&body)?).await?) })
            }
            SqsOperation::ListMessageMoveTasks => Box::pin(async move { respond(&tasks.list(&read(&body)?)) }),
            _ => self.handler.handle_operation(operation, body),
        }
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body).map_err(|error| SqsError::invalid_parameter_value(error.to_string()))
}

fn respond(output: &impl Serialize) -> Result<Response<SqsResponseBody>, SqsError> {
    let json = serde_json::to_vec(output).map_err(|error| SqsError::internal_error(error.to_string()))?;
    Ok(json_response(json, &Uuid::new_v4().to_string()))
}
