//! The names of a lock's attributes in the table.

/// The names of a lock's attributes. Reserved words are allowed: expressions only use aliases.
///
/// Set the names that you need, and take the others from a default, as below: a later version may have more of them.
///
/// ```
/// use dynamodb_locks::Attributes;
///
/// let attributes = Attributes { key: "pk".to_owned(), ..Attributes::prefixed("lock") };
/// assert_eq!(attributes.owner, "lockOwner");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// The table's partition key, for lock keys that are given as a text. Default: `id`.
    pub key: String,
    /// N: the fencing token. It only rises, and stays after a release. `fence`.
    pub fence: String,
    /// S: the token of the exclusive holder, new for each acquisition. `owner`.
    pub owner: String,
    /// N, epoch milliseconds by the holder's clock: when the exclusive lease ends. `expiresAt`.
    pub expires_at: String,
    /// N, milliseconds: the longest lease of the present holders. `leaseMs`.
    pub lease_ms: String,
    /// S: new with every acquisition and heartbeat, so that others see signs of life without comparing clocks. `nonce`.
    pub nonce: String,
    /// SS: the tokens of the shared holders. `readers`.
    pub readers: String,
    /// N, epoch milliseconds: when the last shared lease ends. `readersUntil`.
    pub readers_until: String,
    /// N, epoch milliseconds: until then, a waiting writer keeps new readers out. `writerWaitsUntil`.
    pub writer_waits_until: String,
    /// N, epoch seconds: when the table's time to live may delete a record that nobody uses. `purgeAt`.
    pub purge_at: String,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            key: "id".to_owned(),
            fence: "fence".to_owned(),
            owner: "owner".to_owned(),
            expires_at: "expiresAt".to_owned(),
            lease_ms: "leaseMs".to_owned(),
            nonce: "nonce".to_owned(),
            readers: "readers".to_owned(),
            readers_until: "readersUntil".to_owned(),
            writer_waits_until: "writerWaitsUntil".to_owned(),
            purge_at: "purgeAt".to_owned(),
        }
    }
}

impl Attributes {
    /// The default names behind a prefix, for locks among the attributes of other items: `lock` makes `lockOwner`,
    /// `lockFence` and so on. The key's name stays `id`.
    #[must_use]
    pub fn prefixed(prefix: &str) -> Self {
        let name = |name: &str| {
            let (first, rest) = name.split_at(1);
            format!("{prefix}{}{rest}", first.to_ascii_uppercase())
        };
        let plain = Self::default();
        Self {
            fence: name(&plain.fence),
            owner: name(&plain.owner),
            expires_at: name(&plain.expires_at),
            lease_ms: name(&plain.lease_ms),
            nonce: name(&plain.nonce),
            readers: name(&plain.readers),
            readers_until: name(&plain.readers_until),
            writer_waits_until: name(&plain.writer_waits_until),
            purge_at: name(&plain.purge_at),
            key: plain.key,
        }
    }
}
