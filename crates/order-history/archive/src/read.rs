//! The records of a file.

use std::io::Read;

use flate2::bufread::GzDecoder;
use serde_json::value::RawValue;

/// One event, as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The line of the decoded file, from 1.
    pub line: u64,
    /// What stands there, without white space around it.
    pub text: &'a [u8],
}

/// A file, or a part of it, cannot be decoded. What was read before that part is right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// A member of a gzip file does not decompress, or its check sum differs.
    #[error("the gzip data is damaged or cut off after {good} bytes of content")]
    Gzip {
        /// How many bytes of decompressed content came before.
        good: u64,
    },
}

/// Gives each record of a file to `each`, in order.
pub fn read(bytes: &[u8], mut each: impl FnMut(Record<'_>)) -> Result<(), Damaged> {
    let mut lines = Lines::default();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        lines.split(bytes, &mut each);
        return Ok(());
    }
    let (mut rest, mut good, mut member) = (bytes, 0, Vec::new());
    while !rest.is_empty() {
        let mut decoder = GzDecoder::new(rest);
        member.clear();
        // It checks the sum of each member at its end.
        decoder.read_to_end(&mut member).map_err(|_| Damaged::Gzip { good })?;
        good += member.len() as u64;
        lines.split(&member, &mut each);
        rest = decoder.into_inner();
    }
    Ok(())
}

/// Where in the file the splitting is.
#[derive(Default)]
struct Lines {
    line: u64,
}

impl Lines {
    fn split(&mut self, text: &[u8], each: &mut impl FnMut(Record<'_>)) {
        for line in text.split(|byte| *byte == b'\n') {
            self.line += 1;
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if memchr::memmem::find(text, b"}{").is_some()
                && let Ok(values) =
                    serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>().collect::<Result<Vec<_>, _>>()
            {
                values.iter().for_each(|value| each(Record { line: self.line, text: value.get().as_bytes() }));
            } else {
                each(Record { line: self.line, text });
            }
        }
    }
}
