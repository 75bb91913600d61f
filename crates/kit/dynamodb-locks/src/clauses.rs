//! Parts of expressions, for requests that the caller writes itself.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// What a caller adds to its own request: `condition` to the condition expression (after `AND`), `set` and `remove` to the
/// clauses of these names in the update expression, and all names and values.
///
/// DynamoDB refuses a request with names or values that no expression uses, so a request with these names and values
/// must use every part that is not empty.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Clauses {
    /// It must hold for the write to happen. It never has an `OR` outside parentheses.
    pub condition: String,
    /// Assignments for the `SET` clause, separated by commas. May be empty.
    pub set: String,
    /// Paths for the `REMOVE` clause, separated by commas. May be empty.
    pub remove: String,
    /// For `ExpressionAttributeNames`.
    pub names: HashMap<String, String>,
    /// For `ExpressionAttributeValues`.
    pub values: HashMap<String, AttributeValue>,
}
