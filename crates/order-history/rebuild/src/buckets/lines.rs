//! Lines of DynamoDB JSON in gzip files.

use std::io::{self, BufRead, BufReader, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use order_view::VIEW;
use projection::{Found, State, read_line, write_line};

/// For temporary files, which are read once: fast compression.
pub(crate) const FAST: Compression = Compression::fast();

/// A gzip file of lines that is written in memory. It has one member, which every gzip reader accepts.
pub(crate) struct Lines {
    gzip: GzEncoder<Vec<u8>>,
    line: Vec<u8>,
    /// The number of lines.
    pub(crate) count: u64,
    /// Their bytes before compression.
    pub(crate) bytes: u64,
}

impl Lines {
    pub(crate) fn new(compression: Compression) -> Self {
        Self { gzip: GzEncoder::new(Vec::new(), compression), line: Vec::new(), count: 0, bytes: 0 }
    }

    /// Renders the line of an order. [`add`](Self::add) writes it.
    pub(crate) fn render(&mut self, order_id: &str, view: &State) -> &[u8] {
        self.line.clear();
        write_line(&VIEW, order_id, view, &mut self.line);
        &self.line
    }

    /// Adds the line that was rendered last.
    pub(crate) fn add(&mut self) -> io::Result<()> {
        self.count += 1;
        self.bytes += self.line.len() as u64;
        self.gzip.write_all(&self.line)
    }

    /// The memory of the file so far, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.gzip.get_ref().capacity()
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.gzip.finish()
    }
}

/// A file of this program is damaged.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It cannot be decompressed, or its checksum is wrong.
    #[error("the gzip data is damaged or cut off")]
    Gzip(#[from] io::Error),
    /// A line is not an item of the view.
    #[error("line {line} is not an order")]
    Line {
        /// The first line is 1.
        line: u64,
        /// The cause.
        #[source]
        source: Option<projection::BadLine>,
    },
    /// The number of lines is wrong.
    #[error("the file has {found} orders instead of {expected}")]
    Count {
        /// The expected number.
        expected: u64,
        /// The actual number.
        found: u64,
    },
}

/// Checks that a file is not damaged, without keeping its content.
pub(crate) fn check(bytes: &[u8]) -> Result<(), BadFile> {
    io::copy(&mut GzDecoder::new(bytes), &mut io::sink())?;
    Ok(())
}

/// Calls `each` with each order of a file, and returns their number. The checksum is at the end of the file: if this fails,
/// the orders may be wrong and must not be used.
pub(crate) fn read(bytes: &[u8], mut each: impl FnMut(String, State)) -> Result<u64, BadFile> {
    let mut reader = BufReader::with_capacity(1 << 16, GzDecoder::new(bytes));
    let (mut text, mut line) = (Vec::new(), 0);
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text)? == 0 {
            return Ok(line);
        }
        line += 1;
        let (order_id, Found { state, unreadable }) =
            read_line(&VIEW, &text).map_err(|source| BadFile::Line { line, source: Some(source) })?;
        if !unreadable.is_empty() {
            return Err(BadFile::Line { line, source: None });
        }
        each(order_id, state);
    }
}
