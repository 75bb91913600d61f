//! The records of a file.

mod decode;
mod lines;

use self::decode::{Part, gzip, zstd};
use self::lines::Lines;

/// One event, as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The line of the decoded file, from 1.
    pub line: u64,
    /// What stands there, without white space around it.
    pub text: &'a [u8],
}

/// A file, or the rest of it, cannot be decoded. What was read before is right.
///
/// `good` is how many bytes of decoded content came before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damaged {
    /// A gzip member does not decompress, or its length or check sum differs.
    #[error(
        "the gzip data is damaged or cut off after {good} bytes of content: restore an earlier version of the file"
    )]
    Gzip {
        /// How many bytes of content came before.
        good: u64,
    },
    /// A zstd frame does not decompress, or its length or check sum differs.
    #[error(
        "the zstd data is damaged or cut off after {good} bytes of content: restore an earlier version of the file"
    )]
    Zstd {
        /// How many bytes of content came before.
        good: u64,
    },
    /// A gzip member or zstd frame has more content than is held in memory.
    #[error("there are more than {} MiB in one piece after {good} bytes of content: compress the file in smaller pieces", MAX_PART >> 20)]
    TooLarge {
        /// How many bytes of content came before.
        good: u64,
    },
    /// After compressed data there is something else than zeros.
    #[error(
        "{bytes} bytes after {good} bytes of content are not compressed data: restore an earlier version of the file"
    )]
    Trailing {
        /// How many bytes of content came before.
        good: u64,
        /// How many bytes of the file were not used.
        bytes: u64,
    },
    /// The file begins as no text does, and no compressed data that is known here.
    #[error(
        "the file is neither text nor gzip nor zstd data: restore an earlier version of it, or move it out of the archive"
    )]
    Binary,
}

/// The most content of one gzip member or zstd frame: it is held in memory until its check sum is seen to be right.
pub const MAX_PART: usize = 256 << 20;

/// Gives each record of a file to `each`, in order.
///
/// The file is gzip (one member or more), zstd (one frame or more) or plain text, whatever its name. A record is a line, or one of several
/// JSON values in a line without a break between them (`}{`). Lines end with LF or CRLF, the last one need not; blank lines and byte
/// order marks are left out. A line may begin in one gzip member and end in the next.
///
/// No record is given of a member or frame whose check sum is not right, nor of one after it, so that a flipped bit is an error and
/// never another record. Plain text has no check sum, and some zstd frames have none.
pub fn read(bytes: &[u8], mut each: impl FnMut(Record<'_>)) -> Result<(), Damaged> {
    let mut lines = Lines::default();
    let decoder = if gzip::is(bytes) {
        gzip::decode
    } else if zstd::is(bytes) {
        zstd::decode
    } else if is_text(bytes) {
        lines.feed(bytes, &mut each);
        lines.end(&mut each);
        return Ok(());
    } else {
        return Err(Damaged::Binary);
    };
    let (mut rest, mut good, mut content) = (bytes, 0, Vec::new());
    let outcome = loop {
        // Some writers fill up a block with zeros.
        let padded = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
        rest = &rest[padded..];
        if rest.is_empty() {
            break Ok(());
        }
        content.clear();
        match decoder(rest, &mut content, good) {
            Ok(Part { length }) => {
                lines.feed(&content, &mut each);
                good += content.len() as u64;
                rest = &rest[length..];
            }
            Err(damaged) => break Err(damaged),
        }
    };
    match outcome {
        Ok(()) => lines.end(&mut each),
        Err(_) => lines.end_early(&mut each),
    }
    outcome
}

/// Whether these may be the first bytes of a text: compressed data whose first bytes have changed must not be taken for one.
fn is_text(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(4)];
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    // A character that is cut off has no length.
    !first.iter().any(is_control) && str::from_utf8(first).err().is_none_or(|error| error.error_len().is_none())
}
