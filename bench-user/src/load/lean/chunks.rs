//! The body of a chunked response, taken apart as it comes. Pure, and keeps no bytes.
//!
//! Extensions and trailers are passed over, up to a limit.

use super::head::Broken;

/// Bytes of extensions and of trailers that one body may have, each.
const EXTRAS_MAX: u32 = 16 << 10;

/// Where in a chunked body the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first digit of a size.
    Start,
    Size,
    /// Spaces after the size.
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a line after the last chunk.
    Line,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

/// A chunked body under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunks {
    place: Place,
    /// Of the present chunk: its size while that is read, then what is left of it.
    left: u64,
    /// Bytes of data so far.
    data: u64,
    extension_bytes: u32,
    trailer_bytes: u32,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self { place: Place::Start, left: 0, data: 0, extension_bytes: 0, trailer_bytes: 0 }
    }

    /// Bytes of data so far, framing taken off.
    pub(super) fn data(&self) -> u64 {
        self.data
    }

    /// The body is whole.
    pub(super) fn is_whole(&self) -> bool {
        self.place == Place::End
    }

    /// Takes bytes up to the end of the body, and says how many.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut used = 0;
        while used < bytes.len() && !self.is_whole() {
            if self.place == Place::Data {
                let there = (bytes.len() - used) as u64;
                let taken = self.left.min(there);
                self.left -= taken;
                self.data += taken;
                // No more than there was, which is a usize.
                used += usize::try_from(taken).unwrap_or(bytes.len() - used);
                if self.left == 0 {
                    self.place = Place::DataCr;
                }
                continue;
            }
            self.step(bytes[used])?;
            used += 1;
        }
        Ok(used)
    }

    /// One byte that is no data.
    fn step(&mut self, byte: u8) -> Result<(), Broken> {
        self.place = match (self.place, byte) {
            (Place::Start | Place::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).ok_or(Broken::Chunk)?;
                let size = self.left.checked_mul(16).and_then(|s| s.checked_add(digit.into()));
                self.left = size.ok_or(Broken::Chunk)?;
                Place::Size
            }
            (Place::Size | Place::SizeSpace, b' ' | b'\t') => Place::SizeSpace,
            (Place::Size | Place::SizeSpace, b';') => Place::Extension,
            (Place::Size | Place::SizeSpace | Place::Extension, b'\r') => Place::SizeLf,
            (Place::Extension, byte) if byte != b'\n' => {
                self.extension_bytes = within_limit(self.extension_bytes)?;
                Place::Extension
            }
            (Place::SizeLf, b'\n') => {
                if self.left == 0 {
                    Place::Line
                } else {
                    Place::Data
                }
            }
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataLf, b'\n') => Place::Start,
            (Place::Line, b'\r') => Place::EndLf,
            (Place::Trailer, b'\r') => Place::TrailerLf,
            (Place::Line | Place::Trailer, _) => {
                self.trailer_bytes = within_limit(self.trailer_bytes)?;
                Place::Trailer
            }
            (Place::TrailerLf, b'\n') => Place::Line,
            (Place::EndLf, b'\n') => Place::End,
            _ => return Err(Broken::Chunk),
        };
        Ok(())
    }
}

fn within_limit(bytes: u32) -> Result<u32, Broken> {
    (bytes < EXTRAS_MAX).then_some(bytes + 1).ok_or(Broken::Chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data and bytes used of a body that came in one piece.
    fn check(text: &str, expect: Result<(u64, usize), Broken>) {
        let mut chunks = Chunks::new();
        let used = chunks.feed(text.as_bytes());
        let whole = used.map(|used| {
            assert!(chunks.is_whole(), "{text}");
            (chunks.data(), used)
        });
        assert_eq!(whole, expect, "{text}");
    }

    #[test]
    fn data_is_counted_and_all_else_passed_over() {
        check("0\r\n\r\n", Ok((0, 5)));
        check("0\r\n\r\nHTTP/1.1", Ok((0, 5)));
        let whole =
            "A;x=\"y\"\r\n0123456789\r\n00b \t;z\r\nhello world\r\n0\r\nT: 1\r\nU: 2\r\n\r\n";
        check(whole, Ok((21, whole.len())));
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for text in [
            "\r\n\r\n",
            "xyz\r\n",
            "-1\r\n",
            "5\nhello\r\n",
            "5\r\nhello!\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "5;a\nhello",
            "10000000000000000\r\n",
            "0\r\n\r\r",
        ] {
            check(text, Err(Broken::Chunk));
        }
    }

    #[test]
    fn endless_extensions_and_trailers_are_refused() {
        let endless = "x".repeat(EXTRAS_MAX as usize + 1);
        check(&format!("1;{endless}"), Err(Broken::Chunk));
        check(&format!("0\r\n{endless}"), Err(Broken::Chunk));
    }
}
