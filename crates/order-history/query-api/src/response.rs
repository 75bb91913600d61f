//! The size limit of a response, and its tag.

use sha2::{Digest, Sha256};

/// The largest size of a serialised response, in bytes: Lambda refuses a larger one
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>). Its error message says 6,291,556, which is 100
/// more than the documented 6 MB.
pub(crate) const MAX_BYTES: usize = 6 * 1024 * 1024;

/// The bytes that a JSON text in the body adds to a response. The body is a JSON text inside a JSON text, and the inner one has no
/// control characters, so only these two characters are escaped.
pub(crate) fn bytes_in_response(json: &str) -> usize {
    json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// A weak tag: equal content may be serialised to different bytes.
pub(crate) fn tag<'a>(shown: impl IntoIterator<Item = &'a str>) -> String {
    format!("W/\"{}\"", digest(shown))
}

/// A digest of the concatenated texts, in hexadecimal.
pub(crate) fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let digest = texts.into_iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
