//! What a response has room for, and how it is tagged.

use sha2::{Digest, Sha256};

/// The most bytes of a response, as it is serialised: Lambda refuses a larger one
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>). Its error message says 6,291,556, which are a
/// hundred more than the documented 6 MB.
pub(crate) const MAX_BYTES: usize = 6 * 1024 * 1024;

/// How many bytes of a response a JSON text in its body is: the body is a JSON text inside a JSON text. A JSON text has no
/// control characters, so that these two are all that is escaped.
pub(crate) fn bytes_in_response(json: &str) -> usize {
    json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// The tag of what is shown. It is a weak one: two bodies that show the same may differ in how they say it.
pub(crate) fn tag<'a>(shown: impl IntoIterator<Item = &'a str>) -> String {
    format!("W/\"{}\"", digest(shown))
}

/// A digest of texts, one after the other, in hexadecimal.
pub(crate) fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let digest = texts.into_iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
