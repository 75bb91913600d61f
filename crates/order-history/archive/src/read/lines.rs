//! Splits decoded content into records.

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::Record;

/// The mark that some programs put at the start of a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splits content into records.
pub(super) struct Lines {
    /// The number of complete lines.
    complete_lines: u64,
    /// The line that is not complete yet.
    incomplete_line: Vec<u8>,
    /// Finds two JSON objects without a line break between them.
    boundary: Finder<'static>,
}

impl Default for Lines {
    fn default() -> Self {
        Self { complete_lines: 0, incomplete_line: Vec::new(), boundary: Finder::new(b"}{") }
    }
}

impl Lines {
    /// Splits the next part of the content.
    pub(super) fn feed(&mut self, part: &[u8], each: &mut impl FnMut(Record<'_>)) {
        let mut rest = part;
        // Within a record, the same bytes are a part of the record.
        if part.starts_with(BYTE_ORDER_MARK)
            && (self.incomplete_line.trim_ascii().is_empty() || is_json(&self.incomplete_line))
        {
            rest = &part[BYTE_ORDER_MARK.len()..];
        }
        if !self.incomplete_line.is_empty() {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.incomplete_line.extend_from_slice(rest);
                return;
            };
            let mut line = std::mem::take(&mut self.incomplete_line);
            line.extend_from_slice(&rest[..end]);
            self.end_line(&line, true, each);
            rest = &rest[end + 1..];
        }
        // Searched once, because it is rare.
        let has_boundary = self.boundary.find(rest).is_some();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', rest) {
            self.end_line(&rest[start..end], has_boundary, each);
            start = end + 1;
        }
        self.incomplete_line.extend_from_slice(&rest[start..]);
    }

    /// Call at the end of the content.
    pub(super) fn end(mut self, each: &mut impl FnMut(Record<'_>)) {
        let line = std::mem::take(&mut self.incomplete_line);
        self.end_line(&line, true, each);
    }

    /// Call if the rest of the content is damaged. Of an incomplete line, only the complete objects are used.
    pub(super) fn end_early(self, each: &mut impl FnMut(Record<'_>)) {
        let values = serde_json::Deserializer::from_slice(&self.incomplete_line).into_iter::<&RawValue>();
        for value in values.map_while(Result::ok).take_while(|value| value.get().starts_with('{')) {
            each(Record { line: self.complete_lines + 1, text: value.get().as_bytes() });
        }
    }

    fn end_line(&mut self, line: &[u8], may_have_boundary: bool, each: &mut impl FnMut(Record<'_>)) {
        self.complete_lines += 1;
        let line_number = self.complete_lines;
        let text = line.trim_ascii();
        if text.is_empty() {
            return;
        }
        let mut each = |text: &[u8]| each(Record { line: line_number, text });
        if may_have_boundary && self.boundary.find(text).is_some() {
            self.split(text, &mut each);
        } else {
            each(text);
        }
    }

    /// Calls `each` with each JSON value of a line. Invalid JSON ends at the next `}{`.
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
                // The line ends before the value is complete. Parsing again from each later `}{` could take too long.
                Some(Err(error)) if error.is_eof() => rest.len(),
                Some(Err(_)) => self.boundary.find(rest).map_or(rest.len(), |place| place + 1),
            };
            each(rest[..end].trim_ascii());
            rest = &rest[end..];
        }
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}
