//! Parameters of a request: all are checked, so that the caller sees every mistake in one answer.

use std::collections::BTreeMap;
use std::fmt::Display;

use order_events::OrderId;
use percent_encoding::percent_decode_str;

use crate::problem::{Mistake, Problem};

/// The query string, decoded: each name with its values in order.
pub(crate) struct Parameters {
    values: BTreeMap<String, Vec<String>>,
    mistakes: Vec<Mistake>,
}

impl Parameters {
    /// Reads a query string in which only the names in `known` may stand.
    pub(crate) fn read(query_string: &str, known: &[&str]) -> Self {
        let mut parameters = Self { values: BTreeMap::new(), mistakes: Vec::new() };
        for (name, value) in pairs(query_string) {
            let Some(name) = name else {
                parameters.mistake("query string", "a parameter's name is not valid UTF-8 when decoded");
                continue;
            };
            if !known.contains(&name.as_str()) {
                let known = if known.is_empty() { "none" } else { &known.join(", ") };
                parameters.mistake(&name, format!("is not known here; known are: {known}"));
                continue;
            }
            match value {
                Some(value) => parameters.values.entry(name).or_default().push(value),
                None => parameters.mistake(&name, "is not valid UTF-8 when decoded"),
            }
        }
        parameters
    }

    /// A parameter that may be given once.
    pub(crate) fn one<T, E: Display>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let values = self.values.remove(name)?;
        let [value] = values.as_slice() else {
            self.mistake(name, "must be given once");
            return None;
        };
        parse(value).map_err(|error| self.mistake(name, error)).ok()
    }

    /// A parameter that may be given again and again.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        self.values.remove(name).unwrap_or_default()
    }

    /// The order id of the path.
    pub(crate) fn order_id(&mut self, text: &str) -> Option<OrderId> {
        OrderId::parse(text).map_err(|error| self.mistake_in("path", "orderId", error)).ok()
    }

    pub(crate) fn mistake(&mut self, name: &str, detail: impl Display) {
        self.mistake_in("query", name, detail);
    }

    pub(crate) fn mistake_in(&mut self, location: &'static str, name: &str, detail: impl Display) {
        // Whatever a client sends, what comes back of it is bounded.
        let parameter = name.chars().take(64).collect();
        let mistake = Mistake { parameter, location, detail: detail.to_string() };
        if self.mistakes.len() < MAX_MISTAKES && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    pub(crate) fn has_mistakes(&self) -> bool {
        !self.mistakes.is_empty()
    }

    pub(crate) fn has_mistake(&self, name: &str) -> bool {
        self.mistakes.iter().any(|mistake| mistake.parameter == name)
    }

    /// To be asked when all has been read.
    pub(crate) fn check(self) -> Result<(), Problem> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(Problem::invalid(self.mistakes)) }
    }
}

/// More than there are parameters to make one in.
const MAX_MISTAKES: usize = 20;

/// The names and values of a query string, decoded; `None` for what is not UTF-8 then.
pub(crate) fn pairs(query_string: &str) -> impl Iterator<Item = (Option<String>, Option<String>)> {
    query_string.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
