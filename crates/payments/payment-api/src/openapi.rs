//! The `OpenAPI` document. The function serves the committed file; only the feature `openapi`, which tests have, can make it.

#[cfg(feature = "openapi")]
pub(crate) mod document;

#[cfg(feature = "openapi")]
pub use document::document;

/// The document as it is served and committed; a test holds it equal to what `document()` makes.
pub const SERVED: &str = include_str!("../openapi.json");
