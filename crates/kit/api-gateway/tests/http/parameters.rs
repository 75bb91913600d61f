//! Query strings: every mistake is in one response.

use api_gateway::{Mistakes, Parameters, decoded, pairs};

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "must be a number".to_owned())
}

/// The mistakes of a query string in which `a` is a number and `b` may be repeated.
fn mistakes(query_string: &str) -> Vec<(String, String)> {
    let mut parameters = Parameters::read(query_string, &["a", "b"]);
    let a = parameters.one("a", number);
    parameters.all("b");
    match parameters.finish(a) {
        Ok(_) => Vec::new(),
        Err(Mistakes(mistakes)) => mistakes.into_iter().map(|mistake| (mistake.parameter, mistake.detail)).collect(),
    }
}

#[track_caller]
fn check(query_string: &str, expected: &[(&str, &str)]) {
    let mistakes = mistakes(query_string);
    let mistakes: Vec<_> = mistakes.iter().map(|(name, detail)| (name.as_str(), detail.as_str())).collect();
    assert_eq!(mistakes, expected, "{query_string}");
}

#[test]
fn parameters_are_decoded() {
    let mut parameters = Parameters::read("a=7&&b=x+y%2Bz&b=%C3%A9&%62", &["a", "b"]);
    assert_eq!(parameters.one("a", number), Ok(Some(7)));
    assert_eq!(parameters.all("b"), ["x y+z", "é", ""]);
    assert_eq!(parameters.one("c", number), Ok(None));
    assert_eq!(parameters.finish(Ok(())), Ok(()));
}

#[test]
fn every_mistake_is_in_one_response() {
    check("a=1&b=2&b=3", &[]);
    check("a=x", &[("a", "must be a number")]);
    check("a=1&a=2", &[("a", "must be given once")]);
    check("c=1&a=x", &[("c", "unknown parameter; expected one of a, b"), ("a", "must be a number")]);
    check("c=1&c=2", &[("c", "unknown parameter; expected one of a, b")]);
}

#[test]
fn a_value_that_cannot_be_decoded_is_one_mistake() {
    check("a=%ff", &[("a", "is not valid UTF-8 when decoded")]);
    check("b=%ff", &[("b", "is not valid UTF-8 when decoded")]);
    check("%ff=1", &[("query string", "a parameter's name is not valid UTF-8 when decoded")]);
}

#[test]
fn where_no_parameter_is_expected_the_mistake_says_so() {
    let parameters = Parameters::read("a=1", &[]);
    let Err(Mistakes(mistakes)) = parameters.finish(Ok(())) else { panic!("it is unknown") };
    assert_eq!(mistakes[0].detail, "unknown parameter; none is expected");
}

#[test]
fn a_mistake_says_where_the_parameter_is() {
    let mut parameters = Parameters::read("", &[]);
    assert_eq!(parameters.check(), Ok(()));
    let mistaken = parameters.mistake_in("header", "if-match", "must be an entity tag");
    assert_eq!(parameters.check(), Err(mistaken));
    let Err(Mistakes(mistakes)) = parameters.finish::<()>(Err(mistaken)) else { panic!("there is a mistake") };
    let mistake = serde_json::to_value(&mistakes).unwrap();
    let expected = serde_json::json!([{"parameter": "if-match", "in": "header", "detail": "must be an entity tag"}]);
    assert_eq!(mistake, expected);
}

#[test]
fn a_response_has_twenty_mistakes_at_most_and_short_names() {
    let many: Vec<_> = (0..2_000).map(|n| format!("a{n}=1&a=1")).collect();
    assert_eq!(mistakes(&many.join("&")).len(), 20);
    let [(name, _)] = mistakes(&"é".repeat(1_000)).try_into().unwrap();
    assert_eq!(name, "é".repeat(64));
}

#[test]
fn pairs_are_as_they_were_sent() {
    assert_eq!(pairs("a=%20&&b&c=1=2").collect::<Vec<_>>(), ["a=%20", "b", "c=1=2"]);
    assert_eq!(pairs("").count(), 0);
    assert_eq!(decoded("c=1=2"), (Some("c".to_owned()), Some("1=2".to_owned())));
    assert_eq!(decoded("%ff=%ff"), (None, None));
}

#[test]
fn a_value_that_cannot_be_decoded_is_a_mistake_of_its_parameter_only() {
    let mut parameters = Parameters::read("a=%FF", &["a", "b"]);
    assert!(parameters.one("a", number).is_err());
    assert_eq!(parameters.one("b", number), Ok(None));
}
