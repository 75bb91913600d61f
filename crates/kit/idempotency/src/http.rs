//! Keys for HTTP: the `Idempotency-Key` header, and keys that the server assembles itself.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The longest key, in characters. The draft leaves the limit to the server.
const MAX_LENGTH: usize = 255;

/// The value of an `Idempotency-Key` header.
///
/// The header is a structured-field string, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`, in
/// [the IETF's draft](https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header). Most clients today
/// send it without quotes, so that is accepted too and is the same key. 1 to 255 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why a request has no usable `Idempotency-Key`. The messages are for the client, and never repeat what it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The header is missing.
    #[error("the Idempotency-Key header is required")]
    Missing,
    /// There is more than one header, or one with a list.
    #[error("there must be one Idempotency-Key, not several")]
    Repeated,
    /// The key is empty.
    #[error("the Idempotency-Key must not be empty")]
    Empty,
    /// The key has more than 255 characters.
    #[error("the Idempotency-Key must have at most {MAX_LENGTH} characters")]
    TooLong,
    /// It is neither a string in double quotes nor a bare token.
    #[error(
        "the Idempotency-Key must be a string in double quotes, such as \"8e03978e-40d5-43e8-bc93-6894a57f9324\", of printable ASCII characters"
    )]
    Malformed,
}

impl KeyError {
    /// A short name of the reason, for logs and problem documents. Each error has its own, and it stays the same over versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "key_missing",
            Self::Repeated => "key_repeated",
            Self::Empty => "key_empty",
            Self::TooLong => "key_too_long",
            Self::Malformed => "key_malformed",
        }
    }
}

impl IdempotencyKey {
    /// Reads all values of the request's `Idempotency-Key` headers. Pass an `Option<&str>` if the server joins
    /// repeated headers into one with commas, as API Gateway does.
    pub fn from_headers<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, KeyError> {
        let mut values = values.into_iter();
        let value = values.next().ok_or(KeyError::Missing)?;
        if values.next().is_some() {
            return Err(KeyError::Repeated);
        }
        let value = value.trim_matches([' ', '\t']);
        let key = match value.strip_prefix('"') {
            Some(rest) => quoted(rest)?,
            None => bare(value)?,
        };
        // Both are ASCII by now, so bytes are characters.
        match key.len() {
            0 => Err(KeyError::Empty),
            1..=MAX_LENGTH => Ok(Self(key)),
            _ => Err(KeyError::TooLong),
        }
    }

    /// The key as the client chose it, without quotes and escapes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The rest of a structured-field string after its first quote.
/// <https://www.rfc-editor.org/rfc/rfc9651#name-parsing-a-string>
fn quoted(rest: &str) -> Result<String, KeyError> {
    let mut key = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next() {
            Some('"') => break,
            Some('\\') => match characters.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err(KeyError::Malformed),
            },
            Some(c @ ' '..='~') => key.push(c),
            Some(_) | None => return Err(KeyError::Malformed),
        }
    }
    match characters.as_str().trim_start_matches([' ', '\t']).chars().next() {
        None => Ok(key),
        Some(',') => Err(KeyError::Repeated),
        Some(_) => Err(KeyError::Malformed),
    }
}

/// A token as HTTP knows it, with the further characters that Base64, URNs and structured-field tokens have.
/// <https://www.rfc-editor.org/rfc/rfc9110#name-tokens>
fn bare(value: &str) -> Result<String, KeyError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/=".contains(c);
    match value.chars().find(|c| !allowed(*c)) {
        None => Ok(value.to_owned()),
        Some(',') => Err(KeyError::Repeated),
        Some(_) => Err(KeyError::Malformed),
    }
}

/// Who sent a key, and for what. The same key from two callers, or on two routes, is two keys.
///
/// ```
/// use idempotency::{IdempotencyKey, Scope};
///
/// let key = IdempotencyKey::from_headers(Some("\"4711\""))?;
/// let ann = Scope { caller: "ann", route: "POST /payments" };
/// let bob = Scope { caller: "bob", ..ann };
/// assert_ne!(ann.key(&key), bob.key(&key));
/// // For a caller that sends no key: what it asks for is the key.
/// assert_ne!(ann.assembled(&["order-1", "990"]), ann.assembled(&["order-19", "90"]));
/// # Ok::<_, idempotency::KeyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Who is asking, as the server has authenticated it. Empty where there is only one caller.
    pub caller: &'a str,
    /// What is asked for: the method and the resource, with the ids in its path, such as `POST /payments/7/charge`.
    pub route: &'a str,
}

impl Scope<'_> {
    /// The key in this scope, for [`claim`](crate::TimedStore::claim) and the other methods: 64 hexadecimal digits, so that the
    /// table contains neither the caller nor what the client wrote.
    #[must_use]
    pub fn key(&self, key: &IdempotencyKey) -> String {
        self.hash("header", &[&key.0])
    }

    /// A key that the server assembles from the request's values, for callers that cannot send one. Two requests with the same
    /// values are then the same work for as long as the record lives, so choose values that are different for different work: an order
    /// may be paid only once, but the same meal may be ordered twice.
    ///
    /// Such a key never equals one that a client sent.
    #[must_use]
    pub fn assembled(&self, values: &[&str]) -> String {
        self.hash("assembled", values)
    }

    /// Each part with its length before it, so that no two lists of parts are the same text.
    fn hash(&self, kind: &str, values: &[&str]) -> String {
        let mut hash = Sha256::new();
        for part in [kind, self.caller, self.route].iter().chain(values) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a String cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}
