//! Reads JSON. An error names the path, and never a value.

use std::fmt;

use serde::Deserialize;

use crate::by_name::ByName;

/// Where and why a JSON text is invalid, without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFault {
    path: String,
    reason: String,
}

impl JsonFault {
    /// The same fault in a document that contains this one as the member `name`.
    pub(crate) fn within(self, name: &str) -> Self {
        let path = if self.path == "." { name.to_owned() } else { format!("{name}.{}", self.path) };
        Self { path, ..self }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // serde_path_to_error calls the whole document `.`.
        if self.path == "." { f.write_str(&self.reason) } else { write!(f, "`{}`: {}", self.path, self.reason) }
    }
}

impl std::error::Error for JsonFault {}

/// Reads a `T`. Only if that fails, reads it again to find the path.
pub(crate) fn read_json<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonFault> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(ByName(&mut json)).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| JsonFault { path: path_to::<T>(text, &error), reason: reason(&error) })
}

/// A value of the wrong type is in a known member, so the path contains only known names. Invalid JSON may also be in
/// an ignored member, whose name may be customer data. Then the error has only line and column.
fn path_to<'de, T: Deserialize<'de>>(text: &'de str, error: &serde_json::Error) -> String {
    let mut json = serde_json::Deserializer::from_str(text);
    let error_with_path = error.is_data().then(|| serde_path_to_error::deserialize::<_, T>(ByName(&mut json)).err());
    error_with_path.flatten().map_or_else(|| ".".to_owned(), |error| error.path().to_string())
}

/// serde quotes the offending value ("invalid type: string \"…\", expected u32"): only what it expected is kept.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return format!("not valid JSON: {text}");
    }
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    match text.rsplit_once(", expected ") {
        // The expected type is a Rust type.
        Some((_, expected)) if expected.starts_with("struct ") => "expected an object".to_owned(),
        Some((_, "u32" | "u64" | "i64")) => "expected a whole number".to_owned(),
        Some((_, expected)) => format!("expected {expected}"),
        None => text.to_owned(),
    }
}
