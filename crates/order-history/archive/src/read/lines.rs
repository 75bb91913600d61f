//! Splits decoded content into records.

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::Record;

/// The mark that some programs put at the start of a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splits content into records.
pub(super) struct Lines {
    /// The number of complete lines.
    ended: u64,
    /// The line that is not complete yet.
    begun: Vec<u8>,
    /// Two JSON objects without a line break between them.
    joint: Finder<'static>,
}

impl Default for Lines {
    fn default() -> Self {
        Self { ended: 0, begun: Vec::new(), joint: Finder::new(b"}{") }
    }
}

impl Lines {
    /// Splits the next part of the content.
    pub(super) fn feed(&mut self, part: &[u8], each: &mut impl FnMut(Record<'_>)) {
        let mut rest = part;
        // Within a record, the mark would be a part of the record.
        if part.starts_with(BYTE_ORDER_MARK) && (self.begun.trim_ascii().is_empty() || is_json(&self.begun)) {
            rest = &part[BYTE_ORDER_MARK.len()..];
        }
        if !self.begun.is_empty() {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.begun.extend_from_slice(rest);
                return;
            };
            let mut line = std::mem::take(&mut self.begun);
            line.extend_from_slice(&rest[..end]);
            self.end_line(&line, true, each);
            rest = &rest[end + 1..];
        }
        // Searched once, because it is rare.
        let has_joint = self.joint.find(rest).is_some();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', rest) {
            self.end_line(&rest[start..end], has_joint, each);
            start = end + 1;
        }
        self.begun.extend_from_slice(&rest[start..]);
    }

    /// Call at the end of the content.
    pub(super) fn end(mut self, each: &mut impl FnMut(Record<'_>)) {
        let line = std::mem::take(&mut self.begun);
        self.end_line(&line, true, each);
    }

    /// Call if the rest of the content is damaged. Of an incomplete line, only the complete objects are used.
    pub(super) fn end_early(self, each: &mut impl FnMut(Record<'_>)) {
        let values = serde_json::Deserializer::from_slice(&self.begun).into_iter::<&RawValue>();
        for value in values.map_while(Result::ok).take_while(|value| value.get().starts_with('{')) {
            each(Record { line: self.ended + 1, text: value.get().as_bytes() });
        }
    }

    fn end_line(&mut self, line: &[u8], may_have_joint: bool, each: &mut impl FnMut(Record<'_>)) {
        self.ended += 1;
        let line_number = self.ended;
        let text = line.trim_ascii();
        if text.is_empty() {
            return;
        }
        let mut each = |text: &[u8]| each(Record { line: line_number, text });
        if may_have_joint && self.joint.find(text).is_some() {
            self.split(text, &mut each);
        } else {
            each(text);
        }
    }

    /// Calls `each` with each JSON value of a line. Invalid JSON ends where two objects may meet.
    fn split(&self, text: &[u8], each: &mut impl FnMut(&[u8])) {
        let mut rest = text;
        while !rest.is_empty() {
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
            let end = match values.next() {
                Some(Ok(value)) => {
                    let end = values.byte_offset();
                    each(value.get().as_bytes());
                    rest = rest[end..].trim_ascii();
                    continue;
                }
                None => return,
                // The value is not complete before the end of the line. To parse again from each later part could take too long.
                Some(Err(error)) if error.is_eof() => rest.len(),
                Some(Err(_)) => self.joint.find(rest).map_or(rest.len(), |place| place + 1),
            };
            each(rest[..end].trim_ascii());
            rest = &rest[end..];
        }
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}
