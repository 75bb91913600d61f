//! Lines of DynamoDB JSON in gzip files.

use std::io::{self, BufRead, BufReader, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use order_view::VIEW;
use projection::{Found, State, read_line, write_line};

/// Files that are read once and then removed are compressed quickly.
pub(crate) const QUICK: Compression = Compression::fast();

/// A gzip file of lines, being written in memory. It has one member, which every reader of gzip takes.
pub(crate) struct Lines {
    gzip: GzEncoder<Vec<u8>>,
    line: Vec<u8>,
    /// How many lines there are.
    pub(crate) count: u64,
    /// Their bytes before compression.
    pub(crate) bytes: u64,
}

impl Lines {
    pub(crate) fn new(compression: Compression) -> Self {
        Self { gzip: GzEncoder::new(Vec::new(), compression), line: Vec::new(), count: 0, bytes: 0 }
    }

    /// The line of an order. It is written with [`add`](Self::add).
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

    /// How much memory the file takes so far.
    pub(crate) fn memory(&self) -> usize {
        self.gzip.get_ref().capacity()
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.gzip.finish()
    }
}

/// A file that we wrote is not as we wrote it.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It does not decompress, or its check sum differs.
    #[error("the gzip data is damaged or cut off")]
    Gzip(#[from] io::Error),
    /// A line is not an item of the view.
    #[error("line {line} is not an order")]
    Line {
        /// The first line is 1.
        line: u64,
        /// What is wrong with it.
        #[source]
        source: Option<projection::BadLine>,
    },
    /// There are more or fewer lines than were written.
    #[error("it has {found} orders instead of {expected}")]
    Count {
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
}

/// Checks that a file is as it was written, without keeping any of it.
pub(crate) fn check(bytes: &[u8]) -> Result<(), BadFile> {
    io::copy(&mut GzDecoder::new(bytes), &mut io::sink())?;
    Ok(())
}

/// Gives each order of a file to `each`, and returns how many there are. The check sum is at the end of the file: if this fails,
/// what `each` was given may be wrong, and must not be used.
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
