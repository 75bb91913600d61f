//! Reads the body of a request, up to Lambda's limit.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};

use crate::lambda::PAYLOAD_LIMIT;

/// The largest number of bytes that are read of a body. The connection of a larger body is closed, immediately if the request declares such
/// a length.
const READ_LIMIT: usize = 64 * 1024 * 1024;

/// Returns a body of at most [`PAYLOAD_LIMIT`] bytes, or `None` if it has more.
///
/// A larger body is read and thrown away, because a client that is still sending does not read the response.
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
