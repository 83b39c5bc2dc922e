//! Where the body of a request ends, so that nothing behind it is passed on. Pure, and safe to feed with any bytes.

/// Maximum hexadecimal digits of a chunk's size.
const SIZE_DIGITS_MAX: u8 = 15;

/// What is still missing of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestBody {
    Length(u64),
    Chunks(Chunk),
}

/// Inside a body in chunks. Extensions and trailers are refused: servers differ in how they read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    Size { value: u64, digits: u8 },
    SizeEnd(u64),
    Data(u64),
    DataEnd,
    DataEndLine,
    LastEnd,
    LastEndLine,
    Done,
}

/// The body does not match its head.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl RequestBody {
    pub(super) fn chunked() -> Self {
        RequestBody::Chunks(Chunk::Size { value: 0, digits: 0 })
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, RequestBody::Length(0) | RequestBody::Chunks(Chunk::Done))
    }

    /// How many of these bytes belong to the body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        match self {
            RequestBody::Length(left) => {
                let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Ok(taken)
            }
            RequestBody::Chunks(chunk) => {
                let mut taken = 0;
                while taken < bytes.len() && *chunk != Chunk::Done {
                    taken += chunk.advance(&bytes[taken..])?;
                }
                Ok(taken)
            }
        }
    }
}

impl Chunk {
    /// Takes at least one byte. There is one.
    fn advance(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let byte = bytes[0];
        *self = match (*self, byte) {
            (Chunk::Data(left), _) => {
                let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left - taken as u64;
                *self = if left == 0 { Chunk::DataEnd } else { Chunk::Data(left) };
                return Ok(taken);
            }
            (Chunk::Size { value, digits }, _) if byte.is_ascii_hexdigit() && digits < SIZE_DIGITS_MAX => {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                Chunk::Size { value: value * 16 + digit, digits: digits + 1 }
            }
            (Chunk::Size { value, digits: 1.. }, b'\r') => Chunk::SizeEnd(value),
            (Chunk::SizeEnd(0), b'\n') => Chunk::LastEnd,
            (Chunk::SizeEnd(size), b'\n') => Chunk::Data(size),
            (Chunk::DataEnd, b'\r') => Chunk::DataEndLine,
            (Chunk::DataEndLine, b'\n') => Chunk::Size { value: 0, digits: 0 },
            (Chunk::LastEnd, b'\r') => Chunk::LastEndLine,
            (Chunk::LastEndLine, b'\n') => Chunk::Done,
            _ => return Err(Malformed),
        };
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut body: RequestBody, text: &str) -> Result<(usize, bool), Malformed> {
        let taken = body.take(text.as_bytes())?;
        Ok((taken, body.is_done()))
    }

    #[test]
    fn a_body_ends_where_its_head_says() {
        assert_eq!(taken(RequestBody::Length(0), "GET"), Ok((0, true)));
        assert_eq!(taken(RequestBody::Length(3), "abcGET"), Ok((3, true)));
        assert_eq!(taken(RequestBody::Length(3), "ab"), Ok((2, false)));
        assert_eq!(taken(RequestBody::chunked(), "3\r\nabc\r\n0\r\n\r\nGET"), Ok((13, true)));
        assert_eq!(taken(RequestBody::chunked(), "A\r\n0123456789\r\n0\r\n\r\n"), Ok((20, true)));
        assert_eq!(taken(RequestBody::chunked(), "3\r\nab"), Ok((5, false)));
    }

    #[test]
    fn chunks_that_two_readers_could_understand_differently_are_refused() {
        for text in [
            "\r\n",
            "3\nabc\n0\n\n",
            "3;x=y\r\nabc\r\n",
            " 3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "3\r\nabcd\r\n",
            "0\r\nTrailer: x\r\n\r\n",
            "fffffffffffffffff\r\n",
        ] {
            assert_eq!(taken(RequestBody::chunked(), text), Err(Malformed), "{text:?}");
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_end() {
        let text = b"3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\nGET / HTTP/1.1";
        for size in 1..text.len() {
            let (mut body, mut all) = (RequestBody::chunked(), 0);
            for piece in text.chunks(size) {
                all += body.take(piece).unwrap();
            }
            assert_eq!((all, body.is_done()), (text.len() - b"GET / HTTP/1.1".len(), true), "{size}");
        }
    }
}
