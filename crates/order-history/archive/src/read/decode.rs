//! Decompression, part by part. A part is used only if all of it is correct.

use super::{Damaged, MAX_PART};

/// A decoded gzip member or zstd frame.
pub(super) struct Part {
    /// Its length in the file, in bytes.
    pub(super) length: usize,
}

pub(super) mod gzip {
    use flate2::{Decompress, FlushDecompress, Status};

    use super::{Damaged, MAX_PART, Part};

    /// The largest compression ratio of deflate.
    const MAX_RATIO: usize = 1032;

    pub(in crate::read) fn is_gzip(bytes: &[u8]) -> bool {
        bytes.starts_with(&[0x1f, 0x8b])
    }

    /// Decodes the member at the start of `bytes`. `good` bytes of content came before it.
    pub(in crate::read) fn decode(bytes: &[u8], content: &mut Vec<u8>, good: u64) -> Result<Part, Damaged> {
        if !is_gzip(bytes) {
            return Err(Damaged::Trailing { good, bytes: bytes.len() as u64 });
        }
        content.reserve(likely_size(bytes));
        // The decoder checks the length and the checksum at the end.
        let mut decoder = Decompress::new_gzip(15);
        loop {
            let done = usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
            let (length, capacity) = (content.len(), content.capacity());
            let status = decoder.decompress_vec(&bytes[done..], content, FlushDecompress::Finish);
            match status.map_err(|_| Damaged::Gzip { good })? {
                Status::StreamEnd if content.len() <= MAX_PART => {
                    return Ok(Part { length: usize::try_from(decoder.total_in()).unwrap_or(usize::MAX) });
                }
                _ if content.len() >= MAX_PART => return Err(Damaged::TooLarge { good }),
                _ if content.len() == capacity => content.reserve(capacity.min(MAX_PART + 1 - capacity)),
                // There is space, but no more input.
                _ if content.len() == length && decoder.total_in() == done as u64 => {
                    return Err(Damaged::Gzip { good });
                }
                _ => {}
            }
        }
    }

    /// The size in the trailer of the last member, if it is plausible. Usually there is only one member.
    fn likely_size(bytes: &[u8]) -> usize {
        let stated_size = bytes.last_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize);
        // A little more space, so that the same call reaches the end of the data.
        stated_size.clamp(1 << 10, MAX_PART).min(bytes.len().saturating_mul(MAX_RATIO)) + 64
    }
}

pub(super) mod zstd {
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    use super::{Damaged, MAX_PART, Part};

    /// The size is checked after this many bytes.
    const STEP: usize = 1 << 20;

    /// The length of the header of a skippable frame.
    const SKIPPED_HEADER: usize = 8;

    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

    /// Also true for a file that is cut off within these four bytes.
    pub(in crate::read) fn is_zstd(bytes: &[u8]) -> bool {
        let first = &bytes[..bytes.len().min(MAGIC.len())];
        (!first.is_empty() && MAGIC.starts_with(first)) || is_skipped(bytes)
    }

    /// Frames with these magic numbers contain no content.
    fn is_skipped(bytes: &[u8]) -> bool {
        matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
    }

    /// Decodes the frame at the start of `bytes`. `good` bytes of content came before it.
    pub(in crate::read) fn decode(bytes: &[u8], content: &mut Vec<u8>, good: u64) -> Result<Part, Damaged> {
        if !is_zstd(bytes) {
            return Err(Damaged::Trailing { good, bytes: bytes.len() as u64 });
        }
        let damaged = Damaged::Zstd { good };
        let (mut decoder, mut rest) = (FrameDecoder::new(), bytes);
        match decoder.reset(&mut rest) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = SKIPPED_HEADER + length as usize;
                return if length <= bytes.len() { Ok(Part { length }) } else { Err(damaged) };
            }
            Err(_) => return Err(damaged),
        }
        let stated_size = decoder.content_size();
        loop {
            let decoded = decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBytes(STEP));
            if decoded.is_err() || decoder.collect_to_writer(&mut *content).is_err() {
                return Err(damaged);
            }
            if content.len() > MAX_PART {
                return Err(Damaged::TooLarge { good });
            }
            if decoder.is_finished() {
                break;
            }
        }
        // A frame may have no checksum and no size.
        let checksum = decoder.get_checksum_from_data();
        let is_checksum_right = checksum.is_none() || checksum == decoder.get_calculated_checksum();
        let is_size_right = stated_size == 0 || stated_size == content.len() as u64;
        if is_checksum_right && is_size_right { Ok(Part { length: bytes.len() - rest.len() }) } else { Err(damaged) }
    }
}
