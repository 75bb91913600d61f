//! Reading JSON: a fault names the path to it, and never a value.

use std::fmt;

use serde::de::DeserializeOwned;

/// Where a JSON text is not what it should be, and why, without repeating its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFault {
    path: String,
    reason: String,
}

impl JsonFault {
    /// A fault of the document as a whole.
    pub(crate) fn of(error: &serde_json::Error) -> Self {
        Self { path: ".".to_owned(), reason: reason(error) }
    }

    /// The same fault, seen from the document that has this one as its member `name`.
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

/// Reads a `T`, and only when that fails reads it again to find out where.
pub(crate) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, JsonFault> {
    serde_json::from_str(text).map_err(|first| {
        let mut json = serde_json::Deserializer::from_str(text);
        match serde_path_to_error::deserialize::<_, T>(&mut json) {
            Err(error) => JsonFault { path: error.path().to_string(), reason: reason(error.inner()) },
            // Only what follows the value is wrong, so there is no path to it.
            Ok(_) => JsonFault::of(&first),
        }
    })
}

/// serde quotes the offending value ("invalid type: string \"…\", expected u32"): only what it expected is kept.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return format!("not valid JSON: {text}");
    }
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => text.to_owned(),
    }
}
