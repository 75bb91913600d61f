//! Reads the usual form of a message in one pass.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// A message that is not wrapped. Its payload and all known headers are texts.
///
/// Any other message is read by the slower code in `envelope`, which also finds the reason why a message is invalid.
/// Both give the same result. The visitors are written by hand, because serde's derived code would also read a struct
/// from an array.
#[derive(Default)]
pub(crate) struct Plain<'a> {
    pub(crate) payload: Cow<'a, str>,
    pub(crate) headers: PlainHeaders<'a>,
}

#[derive(Default)]
pub(crate) struct PlainHeaders<'a> {
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) event_type: Option<Cow<'a, str>>,
    pub(crate) aggregate_type: Option<Cow<'a, str>>,
    pub(crate) aggregate_id: Option<Cow<'a, str>>,
    pub(crate) date: Option<Cow<'a, str>>,
}

impl<'a> Plain<'a> {
    /// The message; none if it does not have the usual form.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_str(text);
        let plain = Message.deserialize(&mut json).ok()?;
        json.end().ok()?;
        Some(plain)
    }
}

/// Reads a text into an empty option.
fn read_text<'de, A: MapAccess<'de>>(object: &mut A, place: &mut Option<Cow<'de, str>>) -> Result<(), A::Error> {
    match place.replace(object.next_value_seed(Text)?) {
        Some(_) => Err(A::Error::custom("a member is repeated")),
        None => Ok(()),
    }
}

struct Message;

impl<'de> DeserializeSeed<'de> for Message {
    type Value = Plain<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Plain<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Message {
    type Value = Plain<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Plain<'de>, A::Error> {
        let (mut payload, mut headers) = (None, None);
        while let Some(name) = object.next_key_seed(Text)? {
            match &*name {
                "payload" => read_text(&mut object, &mut payload)?,
                "headers" if headers.is_none() => headers = Some(object.next_value_seed(Headers)?),
                "headers" | "Message" | "detail" => {
                    return Err(A::Error::custom("a member is repeated, or the message may be wrapped"));
                }
                _ => _ = object.next_value::<IgnoredAny>()?,
            }
        }
        match (payload, headers) {
            (Some(payload), Some(headers)) => Ok(Plain { payload, headers }),
            _ => Err(A::Error::custom("the payload or the headers are missing")),
        }
    }
}

struct Headers;

impl<'de> DeserializeSeed<'de> for Headers {
    type Value = PlainHeaders<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PlainHeaders<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Headers {
    type Value = PlainHeaders<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("headers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<PlainHeaders<'de>, A::Error> {
        let mut headers = PlainHeaders::default();
        while let Some(name) = object.next_key_seed(Text)? {
            let header = match &*name {
                "ID" => &mut headers.id,
                "event-type" => &mut headers.event_type,
                "event-aggregate-type" => &mut headers.aggregate_type,
                "event-aggregate-id" => &mut headers.aggregate_id,
                "DATE" => &mut headers.date,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            read_text(&mut object, header)?;
        }
        Ok(headers)
    }
}

/// A text, borrowed where it has no escapes.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::Plain;
    use crate::Message;

    /// The messages of `events/story.json`.
    fn story() -> Vec<Value> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../events/story.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[track_caller]
    fn check(text: &str) {
        let (fast, slow) = (Message::parse(text), Message::unwrap_any_form(text, 0));
        assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{text}");
    }

    #[test]
    fn every_sample_is_plain() {
        for message in story() {
            assert!(Plain::read(&message.to_string()).is_some(), "{message}");
            check(&message.to_string());
        }
    }

    #[test]
    fn messages_of_an_unusual_form_are_read_by_the_slower_code() {
        let story = story();
        let (message, headers) = (&story[0], &story[0]["headers"]);
        let payload = &message["payload"];
        let unusual = [
            json!({"Message": message.to_string(), "Type": "Notification"}),
            json!({"detail": message, "detail-type": "x"}),
            json!({"payload": payload, "headers": headers, "detail": null}),
            json!({"payload": payload, "headers": headers, "Message": 1}),
            json!({"payload": null, "headers": headers}),
            json!({"payload": payload, "headers": null}),
            json!({"headers": headers}),
            json!([headers, payload]),
            json!({"payload": payload, "headers": [1, 2]}),
            json!({"payload": payload, "headers": {"ID": 5}}),
            json!({"payload": payload, "headers": {"ID": null}}),
        ];
        for message in unusual {
            assert!(Plain::read(&message.to_string()).is_none(), "{message}");
            check(&message.to_string());
        }
        for twice in
            [format!(r#"{{"payload":{payload},"payload":{payload},"headers":{headers}}}"#), format!("{message}x")]
        {
            assert!(Plain::read(&twice).is_none(), "{twice}");
            check(&twice);
        }
        let twice = message.to_string().replace(r#""ID":"#, r#""ID":"again","ID":"#);
        assert!(Plain::read(&twice).is_none(), "{twice}");
        check(&twice);
    }

    /// Values of wrong types.
    fn values_of_wrong_types() -> impl Strategy<Value = Value> {
        const TEXTS: &[&str] =
            &["", "99", "Order", "OrderCreated", "Sun, 1 Mar 2026 12:00:00 GMT", "0000019ca9450a07-0242ac1200080001"];
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            proptest::sample::select(TEXTS).prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
            Just(json!(["a", {"ID": "b"}])),
        ]
    }

    fn names() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(
            &["payload", "headers", "Message", "detail", "ID", "event-type", "event-aggregate-id", "DATE", "else"][..],
        )
    }

    /// An object as text, in any order. A name may be repeated.
    fn object(members: &[(String, String)]) -> String {
        let members: Vec<_> =
            members.iter().map(|(name, json)| format!("{}:{json}", Value::from(name.as_str()))).collect();
        format!("{{{}}}", members.join(","))
    }

    fn members(object: &Map<String, Value>) -> Vec<(String, String)> {
        object.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn members_in_any_order_and_with_any_values_are_read_the_same_by_both(
            which in any::<prop::sample::Index>(),
            outer in proptest::collection::vec((names(), values_of_wrong_types()), 0..3),
            inner in proptest::collection::vec((names(), values_of_wrong_types()), 0..3),
            removed in proptest::option::of(any::<prop::sample::Index>()),
            shuffled in any::<prop::sample::Index>(),
            wrapped in 0..4_u8,
        ) {
            let message = which.get(&story()).clone();
            let mut headers = members(message["headers"].as_object().unwrap());
            headers.extend(inner.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())));
            if let Some(removed) = removed {
                headers.remove(removed.index(headers.len()));
            }
            let rotation = shuffled.index(headers.len().max(1));
            headers.rotate_left(rotation);
            let mut all = vec![
                ("payload".to_owned(), message["payload"].to_string()),
                ("headers".to_owned(), object(&headers)),
            ];
            all.extend(outer.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())));
            let rotation = shuffled.index(all.len());
            all.rotate_left(rotation);
            let text = object(&all);
            check(&match wrapped {
                0 => json!({"Message": text}).to_string(),
                1 => format!(r#"{{"detail":{text}}}"#),
                _ => text,
            });
        }

        #[test]
        fn a_text_with_any_letter_changed_is_read_the_same_by_both(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            letter in proptest::option::of(proptest::sample::select(&b"\"\\{}[]:,0n x"[..])),
        ) {
            let mut text = which.get(&story()).to_string().into_bytes();
            let at = at.index(text.len());
            match letter {
                Some(letter) => text[at] = letter,
                None => _ = text.remove(at),
            }
            if let Ok(text) = String::from_utf8(text) {
                check(&text);
            }
        }
    }
}
