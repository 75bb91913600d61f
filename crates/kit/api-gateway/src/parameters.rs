//! Parameters of a request. All are checked, so that the client sees every mistake in one response.

use std::collections::BTreeMap;
use std::fmt::Display;

use percent_encoding::percent_decode_str;

use crate::Mistake;

/// The query string, decoded, each name with its values in order; and every mistake of the request found so far.
#[derive(Debug, Default)]
pub struct Parameters {
    values: BTreeMap<String, Vec<String>>,
    mistakes: Vec<Mistake>,
}

/// Stands for a value that could not be read. Only [`Parameters`] creates it, and records the mistake at the same time, so the response always has a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mistaken(());

/// Every mistake of a request, for its problem document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl Parameters {
    /// Reads a query string. A parameter that is not in `known` is a mistake.
    #[must_use]
    pub fn read(query_string: &str, known: &[&str]) -> Self {
        let mut parameters = Self::default();
        for (name, value) in pairs(query_string).map(decoded) {
            let Some(name) = name else {
                parameters.mistake("query string", "a parameter's name is not valid UTF-8 when decoded");
                continue;
            };
            if !known.contains(&name.as_str()) {
                let expected = if known.is_empty() {
                    "none is expected"
                } else {
                    &format!("expected one of {}", known.join(", "))
                };
                parameters.mistake(&name, format!("unknown parameter; {expected}"));
                continue;
            }
            if let Some(value) = value {
                parameters.values.entry(name).or_default().push(value);
            } else {
                parameters.mistake(&name, "is not valid UTF-8 when decoded");
            }
        }
        parameters
    }

    /// A parameter that may be given once.
    pub fn one<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Mistaken> {
        let Some(values) = self.values.remove(name) else {
            // A value that could not be decoded is not in `values`; `read` has noted it as a mistake.
            return if self.has_mistake(name) { Err(Mistaken(())) } else { Ok(None) };
        };
        let [value] = values.as_slice() else {
            return Err(self.mistake(name, "must be given once"));
        };
        parse(value).map(Some).map_err(|error| self.mistake(name, error))
    }

    /// A parameter that may be given several times.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        self.values.remove(name).unwrap_or_default()
    }

    /// Records a mistake in a parameter of the query string.
    pub fn mistake(&mut self, name: &str, detail: impl Display) -> Mistaken {
        self.mistake_in("query", name, detail)
    }

    /// Records a mistake in another parameter. `location` is `path`, `header` or `body`.
    pub fn mistake_in(&mut self, location: &'static str, name: &str, detail: impl Display) -> Mistaken {
        // Bounded, whatever a client sends.
        let parameter = name.chars().take(64).collect();
        let mistake = Mistake { parameter, location, detail: detail.to_string() };
        if self.mistakes.len() < MAX_MISTAKES && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
        Mistaken(())
    }

    fn has_mistake(&self, name: &str) -> bool {
        self.mistakes.iter().any(|mistake| mistake.parameter == name)
    }

    /// Fails if there is a mistake so far.
    pub fn check(&self) -> Result<(), Mistaken> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(Mistaken(())) }
    }

    /// Returns what was read, or all mistakes. Call after every parameter has been read.
    pub fn finish<T>(self, read: Result<T, Mistaken>) -> Result<T, Mistakes> {
        self.check().and(read).map_err(|Mistaken(())| Mistakes(self.mistakes))
    }
}

/// There are fewer parameters than this, so that an honest client sees all its mistakes.
const MAX_MISTAKES: usize = 20;

/// The parameters of a query string, as they were sent.
pub fn pairs(query_string: &str) -> impl Iterator<Item = &str> {
    query_string.split('&').filter(|pair| !pair.is_empty())
}

/// The name and the value of a parameter, decoded; `None` where the result is not UTF-8.
#[must_use]
pub fn decoded(pair: &str) -> (Option<String>, Option<String>) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    (decode(name), decode(value))
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
