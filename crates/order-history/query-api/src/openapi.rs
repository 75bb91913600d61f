//! The `OpenAPI` document. The function serves the committed file; the feature `openapi`, used by tests, generates it.

#[cfg(feature = "openapi")]
pub(crate) mod document;

#[cfg(feature = "openapi")]
pub use document::document;

/// The committed document, which is served. A test checks that `document()` generates the same.
pub const SERVED: &str = include_str!("../openapi.json");
