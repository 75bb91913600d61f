//! A small HTTP server, with TLS or without.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::Result;

/// Answers requests whose body has been read.
pub(super) trait RequestHandler: Send + Sync + 'static {
    fn answer(&self, request: Parts, body: Bytes) -> impl Future<Output = Result<Response<Full<Bytes>>>> + Send;
}

/// Serves on a free port until the process ends; returns the address.
pub(super) async fn listen(handler: Arc<impl RequestHandler>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok(connection) = accept(&listener).await {
            tokio::spawn(serve(connection, Arc::clone(&handler)));
        }
    });
    Ok(endpoint)
}

/// The same over TLS. The URL has a host name, as AWS's endpoints do.
pub(super) async fn listen_tls(handler: Arc<impl RequestHandler>, acceptor: TlsAcceptor) -> Result<String> {
    let listener = TcpListener::bind("localhost:0").await?;
    let endpoint = format!("https://localhost:{}", listener.local_addr()?.port());
    tokio::spawn(async move {
        while let Ok(connection) = accept(&listener).await {
            let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
            tokio::spawn(async move {
                // A client that does not trust the certificate reports that itself.
                if let Ok(connection) = acceptor.accept(connection).await {
                    serve(connection, handler).await;
                }
            });
        }
    });
    Ok(endpoint)
}

async fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let (connection, _) = listener.accept().await?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

async fn serve(connection: impl AsyncRead + AsyncWrite + Unpin, handler: Arc<impl RequestHandler>) {
    let service = service_fn(|request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, Infallible>(answered(request, &*handler).await.unwrap_or_else(|error| failed(&*error))) }
    });
    // A connection ends when its client disconnects.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
}

async fn answered(request: Request<Incoming>, handler: &impl RequestHandler) -> Result<Response<Full<Bytes>>> {
    let (request, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    handler.answer(request, body).await
}

/// An error is sent to the contender, which reports it and so ends the run.
fn failed(error: &(dyn Error + Send + Sync)) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(error.to_string())));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// The DynamoDB operation of a request, such as `UpdateItem`.
pub(super) fn operation(request: &Parts) -> &str {
    let target = request.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    target.and_then(|target| target.rsplit('.').next()).unwrap_or_default()
}
