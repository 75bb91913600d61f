//! The patterns of Lambda's `FilterCriteria`: they select the records of a stream that invoke a function.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax>

use serde::Deserialize;
use serde_json::{Map, Value};

/// A pattern. A record matches if each member of the pattern matches the record's member of the same name.
///
/// A member is a pattern for a nested object, or a list of rules of which one must hold: a value, `{"prefix": "a"}`,
/// `{"suffix": "a"}`, `{"equals-ignore-case": "a"}`, `{"anything-but": ["a", 1]}`, `{"numeric": [">", 0, "<=", 5]}` or
/// `{"exists": false}`. The member `$or` is a list of patterns of which one must match. As in Lambda, numbers of DynamoDB are
/// strings (`{"N": ["20"]}`), and `exists` works for values, not for objects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Filter(Map<String, Value>);

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter pattern is invalid at {at:?}: {problem}")]
pub struct FilterError {
    /// The name of the invalid member.
    at: String,
    problem: &'static str,
}

impl Filter {
    /// Parses a pattern: JSON text, as in a template.
    pub fn parse(pattern: &str) -> Result<Self, FilterError> {
        serde_json::from_str::<Value>(pattern).map_err(|_| error("", "it is not JSON")).and_then(Self::try_from)
    }

    /// Whether a record matches.
    #[must_use]
    pub fn matches(&self, record: &Value) -> bool {
        matches(&self.0, Some(record))
    }
}

impl TryFrom<Value> for Filter {
    type Error = FilterError;

    fn try_from(pattern: Value) -> Result<Self, FilterError> {
        let Value::Object(pattern) = pattern else { return Err(error("", "it is not an object")) };
        check(&pattern)?;
        Ok(Self(pattern))
    }
}

fn matches(pattern: &Map<String, Value>, record: Option<&Value>) -> bool {
    pattern.iter().all(|(name, expected)| {
        let member = record.and_then(|record| record.get(name));
        match expected {
            Value::Array(patterns) if name == "$or" => {
                patterns.iter().filter_map(Value::as_object).any(|pattern| matches(pattern, record))
            }
            Value::Array(rules) => rules.iter().any(|rule| holds(rule, member)),
            Value::Object(below) => matches(below, member),
            _ => false,
        }
    })
}

/// Whether a rule holds for a member, which may be missing. If the member is a list, one element must match.
fn holds(rule: &Value, member: Option<&Value>) -> bool {
    if let Some(expected) = rule.get("exists") {
        let exists = member.is_some_and(|member| !member.is_object());
        return expected == exists;
    }
    match member {
        Some(Value::Array(elements)) => elements.iter().any(|element| holds_for(rule, element)),
        Some(member) => holds_for(rule, member),
        None => false,
    }
}

fn holds_for(rule: &Value, value: &Value) -> bool {
    let Value::Object(rule) = rule else { return equal(rule, value) };
    let Some((kind, operand)) = rule.iter().next() else { return false };
    let texts = value.as_str().zip(operand.as_str());
    match kind.as_str() {
        "prefix" => texts.is_some_and(|(value, prefix)| value.starts_with(prefix)),
        "suffix" => texts.is_some_and(|(value, suffix)| value.ends_with(suffix)),
        "equals-ignore-case" => texts.is_some_and(|(value, other)| value.to_lowercase() == other.to_lowercase()),
        "anything-but" => match operand {
            Value::Array(others) => !others.iter().any(|other| holds_for(other, value)),
            other => !holds_for(other, value),
        },
        "numeric" => value.as_f64().is_some_and(|value| in_range(operand, value)),
        _ => false,
    }
}

/// `1` and `1.0` are the same number.
fn equal(expected: &Value, value: &Value) -> bool {
    match (expected.as_f64(), value.as_f64()) {
        (Some(expected), Some(value)) => expected.total_cmp(&value).is_eq(),
        _ => expected == value,
    }
}

fn in_range(comparisons: &Value, value: f64) -> bool {
    comparisons.as_array().is_some_and(|comparisons| {
        comparisons.chunks(2).all(|comparison| match comparison {
            [operator, operand] => operand.as_f64().is_some_and(|operand| match operator.as_str() {
                Some("=") => value.total_cmp(&operand).is_eq(),
                Some("<") => value < operand,
                Some("<=") => value <= operand,
                Some(">") => value > operand,
                Some(">=") => value >= operand,
                _ => false,
            }),
            _ => false,
        })
    })
}

fn check(pattern: &Map<String, Value>) -> Result<(), FilterError> {
    for (name, member) in pattern {
        match member {
            Value::Array(patterns) if name == "$or" => {
                for pattern in patterns {
                    check(pattern.as_object().ok_or_else(|| error(name, "it must have patterns"))?)?;
                }
            }
            Value::Array(rules) => rules.iter().try_for_each(|rule| check_rule(name, rule))?,
            Value::Object(below) => check(below)?,
            _ => return Err(error(name, "it must be a list of rules or a pattern")),
        }
    }
    Ok(())
}

fn check_rule(name: &str, rule: &Value) -> Result<(), FilterError> {
    let Value::Object(rule) = rule else { return Ok(()) };
    let mut members = rule.iter();
    let (Some((kind, operand)), None) = (members.next(), members.next()) else {
        return Err(error(name, "a rule must have one member"));
    };
    let is_valid = match kind.as_str() {
        "prefix" | "suffix" | "equals-ignore-case" => operand.is_string(),
        "exists" => operand.is_boolean(),
        "anything-but" => !operand.is_null(),
        "numeric" => operand.as_array().is_some_and(|comparisons| {
            matches!(comparisons.len(), 2 | 4)
                && comparisons.chunks(2).all(|comparison| {
                    let operator = comparison[0].as_str();
                    matches!(operator, Some("=" | "<" | "<=" | ">" | ">=")) && comparison[1].is_number()
                })
        }),
        _ => return Err(error(name, "unknown kind of rule")),
    };
    if is_valid { Ok(()) } else { Err(error(name, "the rule's operand is invalid")) }
}

fn error(at: &str, problem: &'static str) -> FilterError {
    FilterError { at: at.to_owned(), problem }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap fails the test.
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_rule_matches_only_the_values_it_describes() {
        check(&json!({"eventName": ["INSERT", "MODIFY"]}), true);
        check(&json!({"eventName": ["REMOVE"]}), false);
        check(&json!({"eventName": [{"prefix": "INS"}]}), true);
        check(&json!({"eventName": [{"prefix": "NS"}]}), false);
        check(&json!({"eventName": [{"suffix": "SERT"}]}), true);
        check(&json!({"eventName": [{"suffix": "SER"}]}), false);
        check(&json!({"eventName": [{"equals-ignore-case": "insert"}]}), true);
        check(&json!({"eventName": [{"equals-ignore-case": "inserts"}]}), false);
        check(&json!({"eventName": [{"anything-but": ["REMOVE", "MODIFY"]}]}), true);
        check(&json!({"eventName": [{"anything-but": ["REMOVE", "INSERT"]}]}), false);
        check(&json!({"eventName": [{"anything-but": "INSERT"}]}), false);
        check(&json!({"eventName": [{"anything-but": {"prefix": "IN"}}]}), false);
        check(&json!({"eventName": [{"exists": true}]}), true);
        check(&json!({"eventName": [{"exists": false}]}), false);
    }

    #[test]
    fn numbers_are_compared_as_numbers_but_dynamodb_numbers_are_strings() {
        let size = |rule: Value| json!({"dynamodb": {"SizeBytes": [rule]}});
        check(&size(json!(26)), true);
        check(&size(json!(26.0)), true);
        check(&size(json!(27)), false);
        check(&size(json!({"numeric": ["=", 26]})), true);
        check(&size(json!({"numeric": [">", 26]})), false);
        check(&size(json!({"numeric": [">=", 26, "<", 27]})), true);
        check(&size(json!({"numeric": [">", 0, "<", 26]})), false);
        let version = |rule: Value| json!({"dynamodb": {"NewImage": {"version": {"N": [rule]}}}});
        check(&version(json!("20")), true);
        check(&version(json!(20)), false);
        check(&version(json!({"numeric": ["=", 20]})), false);
    }

    #[test]
    fn all_members_must_match_and_one_rule_of_each_list() {
        let image = |image: Value| json!({"eventName": ["INSERT"], "dynamodb": {"NewImage": image}});
        check(&image(json!({"state": {"S": ["OPEN", "CLOSED"]}, "version": {"N": ["20"]}})), true);
        check(&image(json!({"state": {"S": ["OPEN"]}, "version": {"N": ["21"]}})), false);
        check(&image(json!({"tags": {"SS": ["b"]}})), true);
        check(&image(json!({"tags": {"SS": ["c"]}})), false);
        check(&json!({"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"SizeBytes": [26]}}]}), true);
        check(&json!({"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"SizeBytes": [1]}}]}), false);
        check(&json!({}), true);
    }

    #[test]
    fn a_missing_member_matches_only_exists_false() {
        let old = |rule: Value| json!({"dynamodb": {"OldImage": {"state": {"S": [rule]}}}});
        check(&old(json!({"exists": false})), true);
        check(&old(json!({"exists": true})), false);
        check(&old(json!({"anything-but": "OPEN"})), false);
        // An object is not a value.
        check(&json!({"dynamodb": {"NewImage": [{"exists": true}]}}), false);
    }

    #[test]
    fn an_invalid_pattern_is_rejected_with_the_name_of_the_member() {
        for (pattern, at) in [
            ("not JSON", ""),
            ("[]", ""),
            (r#"{"eventName": "INSERT"}"#, "eventName"),
            (r#"{"dynamodb": {"NewImage": 1}}"#, "NewImage"),
            (r#"{"a": [{"prefx": "x"}]}"#, "a"),
            (r#"{"a": [{"prefix": 1}]}"#, "a"),
            (r#"{"a": [{"exists": "true"}]}"#, "a"),
            (r#"{"a": [{"numeric": [">"]}]}"#, "a"),
            (r#"{"a": [{"numeric": ["!", 1]}]}"#, "a"),
            (r#"{"a": [{}]}"#, "a"),
            (r#"{"$or": [1]}"#, "$or"),
        ] {
            assert_eq!(Filter::parse(pattern).unwrap_err().at, at, "{pattern}");
        }
    }

    #[track_caller]
    fn check(pattern: &Value, expected: bool) {
        let record = json!({
            "eventName": "INSERT",
            "dynamodb": {
                "NewImage": {"state": {"S": "OPEN"}, "version": {"N": "20"}, "tags": {"SS": ["a", "b"]}},
                "SizeBytes": 26,
            },
        });
        let filter = Filter::parse(&pattern.to_string()).unwrap();
        assert_eq!(filter.matches(&record), expected, "{pattern}");
    }
}
