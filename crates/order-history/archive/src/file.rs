//! The file of a batch of messages. [`read`](crate::read) reads it.

use std::io::{self, Write};
use std::time::SystemTime;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;
use time::OffsetDateTime;

/// The folder of the files that the archiver writes.
const FOLDER: &str = "events";

/// The largest number of characters of a message id in a name. The ids of SQS have 36.
const MAX_ID: usize = 64;

/// The name of a file. Names sort by time, and the id of the first message makes them unique.
pub(crate) fn name(now: SystemTime, first_message_id: &str) -> String {
    let now = OffsetDateTime::from(now);
    let (year, month, day) = (now.year(), u8::from(now.month()), now.day());
    let (hour, minute, second, millisecond) = (now.hour(), now.minute(), now.second(), now.millisecond());
    let id: String = first_message_id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(MAX_ID).collect();
    format!(
        "{FOLDER}/dt={year:04}-{month:02}-{day:02}/hh={hour:02}/\
         {year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millisecond:03}Z-{id}.ndjson.gz"
    )
}

/// The content of a file with these messages, one per line.
pub(crate) fn content<'a>(bodies: impl Iterator<Item = &'a str>) -> io::Result<Vec<u8>> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    for body in bodies {
        write_line(body, &mut file)?;
    }
    file.finish()
}

/// Writes a message as one line, without loss.
///
/// Almost every message is a JSON object without line breaks, and is written unchanged. In other JSON, line breaks are white space between
/// tokens, and become spaces. Any other text, and a JSON string, is written as a JSON string: a line that is a JSON string contains the
/// message's text.
fn write_line(body: &str, line: &mut impl Write) -> io::Result<()> {
    if is_plain_object(body.as_bytes()) {
        line.write_all(body.as_bytes())?;
    } else if serde_json::from_str::<&RawValue>(body).is_ok_and(|value| !value.get().starts_with('"')) {
        line.write_all(body.trim().replace(['\n', '\r'], " ").as_bytes())?;
    } else {
        serde_json::to_writer(&mut *line, body)?;
    }
    line.write_all(b"\n")
}

/// Whether this text looks like one JSON object and will be read as one record. It is not parsed.
fn is_plain_object(text: &[u8]) -> bool {
    text.starts_with(b"{")
        && text.ends_with(b"}")
        && memchr::memchr2(b'\n', b'\r', text).is_none()
        && memchr::memmem::find(text, b"}{").is_none()
}
