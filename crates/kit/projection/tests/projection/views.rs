//! Views that are refused.

use projection::{Shape, View};

const A: Shape = Shape { watermark: "wa", attributes: &["name"], text_sets: &[] };
const B: Shape = Shape { watermark: "wb", attributes: &["name"], text_sets: &[] };

#[track_caller]
fn check(facets: &'static [Shape], sets: &'static [&'static str], marks: &'static [&'static str], fault: &str) {
    assert_eq!(View { key: "id", facets, sets, marks }.check(), Err(fault.to_owned()));
}

#[test]
fn a_view_with_distinct_names_is_right() {
    assert_eq!(View { key: "id", facets: &[A], sets: &["steps"], marks: &["Order", "Ticket"] }.check(), Ok(()));
}

#[test]
fn an_attribute_has_one_owner() {
    check(&[A, B], &[], &[], "two parts of the view have the attribute `name`");
    check(&[A], &["wa"], &[], "two parts of the view have the attribute `wa`");
    check(&[A], &["id"], &[], "two parts of the view have the attribute `id`");
}

#[test]
fn no_id_can_make_a_mark_into_something_else() {
    check(&[A], &[], &["na"], "`name` starts with the mark prefix `na`");
    check(&[A], &[], &["Order", "OrderLine"], "`OrderLine` starts with the mark prefix `Order`");
    check(&[A], &[], &["Order", "Order"], "`Order` starts with the mark prefix `Order`");
    check(&[A], &[], &[""], "`name` starts with the mark prefix ``");
}

#[test]
fn a_name_can_be_an_alias() {
    for name in ["my-steps", "", "eventId", "eventId1", "tracking", "tracking2"] {
        let sets: &'static [&'static str] = vec![name].leak();
        check(&[A], sets, &[], &format!("`{name}` cannot be an alias in an expression"));
    }
}

#[test]
fn a_text_set_must_be_an_attribute_of_its_facet() {
    let stray = Shape { watermark: "wc", attributes: &["words"], text_sets: &["wrods"] };
    let facets: &'static [Shape] = vec![stray].leak();
    check(facets, &[], &[], "a text set of the facet under `wc` is none of its attributes");
}
