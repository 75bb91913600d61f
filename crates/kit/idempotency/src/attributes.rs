//! The names of a record's attributes in the table.

/// The names of a record's attributes. The default names are those of Powertools for AWS Lambda, and `owner`.
///
/// ```
/// use idempotency::Attributes;
///
/// let attributes = Attributes {
///     id: "pk".to_owned(),
///     ..Attributes::default()
/// };
/// assert_eq!(attributes.status, "status");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// The table's partition key, a string: the key prefix and the key. In a table with a sort key it is the fixed partition.
    pub id: String,
    /// `INPROGRESS` or `COMPLETED`.
    pub status: String,
    /// When the record expires, in epoch seconds. This is the attribute for the table's time to live.
    pub expiration: String,
    /// When an `INPROGRESS` record may be taken over, in epoch milliseconds.
    pub in_progress_expiration: String,
    /// The result, a JSON text.
    pub data: String,
    /// The payload's fingerprint.
    pub validation: String,
    /// The token of the claim that wrote the record.
    pub owner: String,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            id: "id".to_owned(),
            status: "status".to_owned(),
            expiration: "expiration".to_owned(),
            in_progress_expiration: "in_progress_expiration".to_owned(),
            data: "data".to_owned(),
            validation: "validation".to_owned(),
            owner: "owner".to_owned(),
        }
    }
}
