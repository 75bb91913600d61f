//! The body of a request, of which no more is kept than Lambda takes.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};

use crate::lambda::PAYLOAD_LIMIT;

/// How much is read of a body, most of it to be thrown away. With more its connection is closed, at once if the request says
/// so.
const READ_LIMIT: usize = 64 * 1024 * 1024;

/// A body of at most [`PAYLOAD_LIMIT`] bytes, or none if it has more.
///
/// A larger one is read on, because a client that is still sending reads no answer.
pub(crate) async fn read(mut body: Body) -> Result<Option<Vec<u8>>, axum::Error> {
    if body.size_hint().lower() > READ_LIMIT as u64 {
        return Ok(None);
    }
    let (mut kept, mut length) = (Vec::new(), 0);
    while length <= READ_LIMIT
        && let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        // Trailers are no part of the body.
        let Ok(data) = frame?.into_data() else { continue };
        length += data.len();
        if length <= PAYLOAD_LIMIT {
            kept.extend_from_slice(&data);
        } else {
            kept = Vec::new();
        }
    }
    Ok((length <= PAYLOAD_LIMIT).then_some(kept))
}
