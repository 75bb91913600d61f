//! Holds requests to DynamoDB back until a test lets them pass, one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use embedded_dynamodb::Wire;
use tokio::sync::Semaphore;

/// A wire on which every request needs a permit.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    wire: Wire,
    pub(crate) permits: Arc<Semaphore>,
    done: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { wire: Wire::watched(), permits: Arc::new(Semaphore::new(0)), done: Arc::default() }
    }

    /// Lets this many requests pass, and waits until they are answered.
    pub(crate) async fn pass(&self, requests: usize) {
        let until = self.done() + requests;
        self.permits.add_permits(requests);
        while self.done() < until {
            tokio::task::yield_now().await;
        }
    }

    /// Lets all requests pass from now on.
    pub(crate) fn open(&self) {
        self.permits.add_permits(1_000);
    }

    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

impl HttpConnector for Gate {
    fn call(&self, http: HttpRequest) -> HttpConnectorFuture {
        let gate = self.clone();
        HttpConnectorFuture::new(async move {
            gate.permits.acquire().await.unwrap().forget();
            let response = gate.wire.call(http).await;
            gate.done.fetch_add(1, Ordering::SeqCst);
            response
        })
    }
}

impl HttpClient for Gate {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
