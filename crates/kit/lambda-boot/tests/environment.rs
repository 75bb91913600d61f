//! Settings that a Lambda needs.

use lambda_boot::Environment;

#[test]
fn a_missing_variable_of_lambda_is_named_with_what_to_do() {
    let of_lambda = |name: &str| (name != "AWS_LAMBDA_FUNCTION_VERSION").then(|| "1".to_owned());
    let missing = Environment::from_fn(of_lambda).check_lambda();
    let message = missing.map_err(|error| error.to_string());
    let expected = "environment variable AWS_LAMBDA_FUNCTION_VERSION is not set: set it to what Lambda sets it to: \
                    this binary runs inside Lambda or a host of its Runtime API";
    assert_eq!(message, Err(expected.to_owned()));
    assert_eq!(Environment::from_fn(|_| Some("1".to_owned())).check_lambda(), Ok(()));
}

#[test]
fn an_empty_variable_is_not_set() {
    let environment = Environment::from_fn(|_| Some(String::new()));
    assert_eq!(environment.get("TABLE"), None);
    assert!(environment.needed("TABLE", "the name of the table").is_err());
    assert_eq!(Environment::from_fn(|_| Some("orders".to_owned())).needed("TABLE", "a name"), Ok("orders".to_owned()));
}
