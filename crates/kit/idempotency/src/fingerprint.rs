//! The fingerprint that tells whether the same key came with the same payload.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Error;

/// A payload's fingerprint, or none where payloads are not to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(Option<String>);

impl Fingerprint {
    /// The fingerprint of these bytes: the first half of their SHA-256, in hexadecimal.
    ///
    /// 128 bits are enough to distinguish a reused key from a repeated request, and 32 characters keep the record small: every
    /// claim writes them. Two JSON texts that differ only in spacing or in the order of members are different bytes.
    pub fn of(payload: impl AsRef<[u8]>) -> Self {
        let digest: [u8; 32] = Sha256::digest(payload).into();
        let half = u128::from_be_bytes(std::array::from_fn(|i| digest[i]));
        Self(Some(format!("{half:032x}")))
    }

    /// The fingerprint of a value, such as a command that was parsed from a request.
    ///
    /// The value counts, not its text: spacing, the order of members, and members that the parser does not know make no
    /// difference. It is computed from the value's JSON form, with the members of every object in the order of their
    /// names. If that form changes (such as by a new member that is written even where it has no value), the same request counts as another
    /// payload for as long as its record is kept.
    pub fn of_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let mut value = serde_json::to_value(value).map_err(Error::NotSerialisable)?;
        // Not left to `Map`: it keeps the order of insertion if any crate of the build asks for that.
        value.sort_all_objects();
        Ok(Self::of(Value::to_string(&value)))
    }

    /// A fingerprint that was computed elsewhere, such as a hash of Powertools for AWS Lambda. It is stored and compared as this text.
    pub fn from_hash(hash: impl Into<String>) -> Self {
        Self(Some(hash.into()))
    }

    /// No fingerprint, which matches every payload: the key alone says what the work is.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn stored(validation: Option<String>) -> Self {
        Self(validation)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Only two fingerprints can contradict each other: a record may come from a function that stores none.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Some(ours), Some(theirs)) if ours != theirs)
    }
}

/// The fingerprint of a text or of bytes, so that a payload can be passed as a fingerprint.
impl<P: AsRef<[u8]>> From<P> for Fingerprint {
    fn from(payload: P) -> Self {
        Self::of(payload)
    }
}
