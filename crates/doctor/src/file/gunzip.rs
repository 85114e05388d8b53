//! Inflating as much of a gzip stream as there is.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::bufread::GzDecoder;
use perfdb_trace::source::InflatesTooFar;

/// First bytes of every gzip member.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How a gzip stream ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum GzipEnd {
    /// As it should, or not yet.
    #[default]
    Good,
    /// Inside a member.
    Truncated,
    /// With a fault.
    Corrupt(String),
    /// With this many bytes that are not a member.
    Trailing(u64),
}

/// How a stream ended and how much was inflated; complete once the stream has been read to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct GzipState(Arc<Mutex<(GzipEnd, u64)>>);

impl GzipState {
    /// The end, and the number of bytes inflated.
    pub(crate) fn get(&self) -> (GzipEnd, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, end: GzipEnd, inflated: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (end, inflated);
    }
}

/// The inflated bytes of all members up to the end or a fault, which is not an error here.
pub(super) struct Gunzip<R: BufRead> {
    member: Option<GzDecoder<R>>,
    inflated: u64,
    file_bytes: u64,
    state: GzipState,
}

impl<R: BufRead> Gunzip<R> {
    /// Inflates a file of this many bytes.
    pub(super) fn new(input: R, file_bytes: u64) -> (Gunzip<R>, GzipState) {
        let state = GzipState::default();
        (Gunzip { member: Some(GzDecoder::new(input)), inflated: 0, file_bytes, state: state.clone() }, state)
    }

    fn ended(&mut self, end: GzipEnd) {
        self.member = None;
        self.state.set(end, self.inflated);
    }

    /// Goes on behind the end of a member.
    fn next_member(&mut self, mut rest: R) -> io::Result<()> {
        let mut trailing = 0_u64;
        let mut padded = false;
        loop {
            let waiting = rest.fill_buf()?;
            if waiting.is_empty() {
                let end = if trailing > 0 { GzipEnd::Trailing(trailing) } else { GzipEnd::Good };
                self.ended(end);
                return Ok(());
            }
            if !padded && trailing == 0 && waiting.starts_with(&MAGIC[..waiting.len().min(2)]) {
                self.member = Some(GzDecoder::new(rest));
                return Ok(());
            }
            padded |= waiting.first() == Some(&0);
            let zeros = if trailing == 0 { waiting.iter().take_while(|byte| **byte == 0).count() } else { 0 };
            let length = waiting.len();
            trailing += (length - zeros) as u64;
            rest.consume(length);
        }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(out) {
                Ok(0) if !out.is_empty() => {
                    if let Some(member) = self.member.take() {
                        self.next_member(member.into_inner())?;
                    }
                }
                Ok(count) => {
                    self.inflated += count as u64;
                    InflatesTooFar::check(self.inflated, self.file_bytes)?;
                    return Ok(count);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::UnexpectedEof => self.ended(GzipEnd::Truncated),
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                        self.ended(GzipEnd::Corrupt(error.to_string()));
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("in memory");
        encoder.finish().expect("in memory")
    }

    fn inflate(bytes: &[u8]) -> (Vec<u8>, GzipEnd) {
        let (mut reader, state) = Gunzip::new(bytes, bytes.len() as u64);
        let mut text = Vec::new();
        reader.read_to_end(&mut text).expect("faults are not errors");
        (text, state.get().0)
    }

    #[test]
    fn whole_streams() {
        let two = [packed(b"one "), packed(b"two"), vec![0; 9]].concat();
        assert_eq!(inflate(&two), (b"one two".to_vec(), GzipEnd::Good));
    }

    #[test]
    fn damaged_streams() {
        let text: Vec<u8> =
            (0..20_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let whole = packed(&text);
        let (got, end) = inflate(&whole[..whole.len() / 2]);
        assert!(!got.is_empty() && text.starts_with(&got));
        assert_eq!(end, GzipEnd::Truncated);
        let mut wrong_sum = whole.clone();
        let at = wrong_sum.len() - 6;
        wrong_sum[at] ^= 1;
        let (got, end) = inflate(&wrong_sum);
        assert_eq!(got, text);
        assert!(matches!(end, GzipEnd::Corrupt(_)));
        let trailing = [&whole[..], b"\0\0junk\0"].concat();
        assert_eq!(inflate(&trailing), (text, GzipEnd::Trailing(5)));
    }
}
