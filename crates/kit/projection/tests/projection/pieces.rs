//! A view of two facets and a set, and arbitrary pieces of it.

use projection::{Attributes, Piece, Shape, Stamp, View};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) const VIEW: View = View {
    key: "id",
    facets: &[
        Shape { watermark: "wa", attributes: &["name", "words"], text_sets: &["words"] },
        Shape { watermark: "wb", attributes: &["place"], text_sets: &[] },
    ],
    sets: &["steps", "notes"],
    marks: &["Order", "Ticket"],
};

pub(crate) fn stamp(event: usize) -> Stamp {
    Stamp::from(format!("{event:04}"))
}

/// Pieces as wild as they come: one id may stand for several contents.
pub(crate) fn pieces(most: usize) -> impl Strategy<Value = Vec<Piece>> {
    proptest::collection::vec(piece(0..6_usize, 0..4_usize), 0..most)
}

/// Pieces of events that keep the promise: the content follows from the id.
pub(crate) fn honest_pieces(most: usize) -> impl Strategy<Value = Vec<Piece>> {
    let kept = (0..40_usize).prop_flat_map(|event| piece(event..event + 1, event % 4..event % 4 + 1));
    proptest::collection::vec(kept, 0..most)
}

fn piece(events: std::ops::Range<usize>, contents: std::ops::Range<usize>) -> impl Strategy<Value = Piece> {
    (events, contents, 0..5_u8, 0..3_usize).prop_map(|(event, content, kind, which)| match kind {
        0 => Piece::Mark { attribute: ["Order1", "Order2", "Ticket1"][which].into(), by: stamp(event) },
        1 => Piece::Facet { watermark: "wa".into(), by: stamp(event), attributes: names(content) },
        2 => Piece::Facet { watermark: "wb".into(), by: stamp(event), attributes: place(content) },
        3 => Piece::Element { set: "steps".into(), element: format!("{event} {content}") },
        _ => Piece::Element { set: "notes".into(), element: which.to_string() },
    })
}

fn names(content: usize) -> Attributes {
    let with = |name, words: &[&str]| Attributes::from([("name".into(), json!(name)), ("words".into(), json!(words))]);
    match content {
        0 => Attributes::new(),
        1 => Attributes::from([("name".into(), json!("one"))]),
        2 => with("two", &["a", "b"]),
        _ => with("two", &["b"]),
    }
}

fn place(content: usize) -> Attributes {
    let place: Value = match content {
        0 => json!({"latitude": 38, "longitude": -122.27, "at": ["x", {"y": null, "z": true}]}),
        1 => json!({"longitude": -122.27, "latitude": 38}),
        2 => json!({"latitude": 38.25, "longitude": -122.27}),
        _ => json!([1, 2.5, "three", []]),
    };
    Attributes::from([("place".into(), place)])
}
