//! The records of a file.

mod decode;
mod lines;

use self::decode::{Part, gzip, zstd};
use self::lines::Lines;

/// One event in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The line of the decoded file, from 1.
    pub line: u64,
    /// The text of the record, without white space around it.
    pub text: &'a [u8],
}

/// A file, or the rest of it, cannot be decoded. The records before the damage are correct.
///
/// `good` is the number of decoded bytes before the damage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damaged {
    /// A gzip member cannot be decompressed, or its length or checksum is wrong.
    #[error(
        "the gzip data is damaged or cut off after {good} bytes of content: restore an earlier version of the file"
    )]
    Gzip {
        /// The number of decoded bytes before.
        good: u64,
    },
    /// A zstd frame cannot be decompressed, or its length or checksum is wrong.
    #[error(
        "the zstd data is damaged or cut off after {good} bytes of content: restore an earlier version of the file"
    )]
    Zstd {
        /// The number of decoded bytes before.
        good: u64,
    },
    /// A gzip member or zstd frame is too large to be held in memory.
    #[error("a compressed part has more than {} MiB after {good} bytes of content: compress the file in smaller parts", MAX_PART >> 20)]
    TooLarge {
        /// The number of decoded bytes before.
        good: u64,
    },
    /// After the compressed data, there are other bytes than zeros.
    #[error(
        "{bytes} bytes after {good} bytes of content are not compressed data: restore an earlier version of the file"
    )]
    Trailing {
        /// The number of decoded bytes before.
        good: u64,
        /// The number of bytes of the file that were not used.
        bytes: u64,
    },
    /// The first bytes are neither text nor a known compression.
    #[error(
        "the file is neither text nor gzip nor zstd data: restore an earlier version of it, or move it out of the archive"
    )]
    Binary,
}

/// The largest content of one gzip member or zstd frame. It is held in memory until its checksum is verified.
pub const MAX_PART: usize = 256 << 20;

/// Calls `each` with each record of a file, in order.
///
/// The file is gzip (one member or more), zstd (one frame or more) or plain text; its name does not matter. A record is a line, or one of several
/// JSON values in a line (`}{`). Lines end with LF or CRLF, except perhaps the last one. Blank lines and byte
/// order marks are skipped. A line may start in one gzip member and end in the next.
///
/// The records of a member or frame with a wrong checksum, and all records after it, are not used: a flipped bit is an error and
/// never another record. Plain text and some zstd frames have no checksum.
pub fn read(bytes: &[u8], mut each: impl FnMut(Record<'_>)) -> Result<(), Damaged> {
    let mut lines = Lines::default();
    let decoder = if gzip::is_gzip(bytes) {
        gzip::decode
    } else if zstd::is_zstd(bytes) {
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
        // Some writers pad the last block with zeros.
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

/// Whether these may be the first bytes of a text. Compressed data with damaged first bytes must not be read as text.
fn is_text(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(4)];
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    // The first bytes may end within a character: then `error_len` is none.
    !first.iter().any(is_control) && str::from_utf8(first).err().is_none_or(|error| error.error_len().is_none())
}
