//! Writes a piece and the rest.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::rows::{is_kept, options};
use super::survey::{Survey, raw};
use super::{Counts, CutError, MEMBER, Piece, Spans};
use crate::chrome::{Item, Reader};
use crate::scan::Value;
use crate::source::Source;
use crate::time::Picoseconds;

pub(super) fn copy(
    path: &Path,
    piece: &Piece,
    survey: &mut Survey,
    out: &mut dyn Write,
    rest: Option<&mut dyn Write>,
) -> Result<Counts, CutError> {
    let options = options();
    let mut source = Source::open(path)?;
    let mut reader = Reader::new(&mut source, &options);
    let mut out = Document::new(out);
    let mut rest = rest.map(Document::new);
    let mut counts = Counts::default();
    let mut seen = 0;
    let mut text = Vec::new();
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Restart => seen += 1,
            Item::Event(event) if seen == survey.restarts => {
                let (sides, is_frame) = survey.sides(&event, piece);
                let left_out = piece.no_stacks && is_frame && sides.piece;
                counts.stacks += u64::from(left_out);
                let in_piece = sides.piece && !left_out;
                counts.piece += u64::from(in_piece);
                counts.rest += u64::from(sides.rest);
                counts.both += u64::from(in_piece && sides.rest);
                if in_piece {
                    out.event(event.raw()).map_err(CutError::Write)?;
                }
                if let Some(rest) = rest.as_mut().filter(|_| sides.rest) {
                    rest.event(event.raw()).map_err(CutError::Write)?;
                }
            }
            Item::Event(_) => {}
            Item::Member { name, value } => {
                if is_kept(&name.decode_lossy()) {
                    text.clear();
                    raw(Value::Text(name), &mut text);
                    text.extend_from_slice(b": ");
                    raw(value, &mut text);
                    out.member(&text).map_err(CutError::Write)?;
                    if let Some(rest) = &mut rest {
                        rest.member(&text).map_err(CutError::Write)?;
                    }
                }
            }
        }
    }
    let windows = |spans: &dyn Fn(&Spans) -> Vec<(Picoseconds, Picoseconds)>| {
        let windows = piece.devices.iter().flat_map(|(device, of_device)| {
            spans(of_device).into_iter().map(|(start, end)| window(device, start, end)).collect::<Vec<_>>()
        });
        windows.collect::<Vec<_>>()
    };
    if let Some(title) = &piece.title {
        let inside = windows(&|spans| spans.as_slice().to_vec());
        out.cut(title, inside).map_err(CutError::Write)?;
        if let Some(rest) = &mut rest {
            let outside = windows(&complement);
            rest.cut(&format!("all but {title}"), outside).map_err(CutError::Write)?;
        }
    }
    out.finish().map_err(CutError::Write)?;
    rest.map_or(Ok(()), Document::finish).map_err(CutError::Write)?;
    Ok(counts)
}

/// What is outside of spans.
fn complement(spans: &Spans) -> Vec<(Picoseconds, Picoseconds)> {
    let mut outside = Vec::new();
    let mut from = Picoseconds::MIN;
    for (start, end) in spans.as_slice() {
        outside.push((from, *start));
        from = *end;
    }
    outside.push((from, Picoseconds::MAX));
    outside.retain(|(start, end)| start < end);
    outside
}

/// A window of a device; open where nothing bounds it.
fn window(device: &str, start: Picoseconds, end: Picoseconds) -> serde_json::Value {
    let time = |time: Picoseconds| match time {
        Picoseconds::MIN | Picoseconds::MAX => serde_json::Value::Null,
        time => decimal(time).into(),
    };
    serde_json::json!({"device": device, "start_us": time(start), "end_us": time(end)})
}

/// Picoseconds as decimal microseconds, exactly.
fn decimal(time: Picoseconds) -> String {
    let (sign, size) = if time < 0 { ("-", time.unsigned_abs()) } else { ("", time.unsigned_abs()) };
    format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
}

/// A trace that is written: members and events as they come.
struct Document<'w> {
    out: BufWriter<&'w mut dyn Write>,
    state: State,
    is_empty: bool,
}

/// What was written last.
#[derive(PartialEq, Eq)]
enum State {
    Members,
    Events,
    Closed,
}

impl<'w> Document<'w> {
    fn new(out: &'w mut dyn Write) -> Document<'w> {
        Document { out: BufWriter::with_capacity(1 << 16, out), state: State::Members, is_empty: true }
    }

    /// Begins a member of the document.
    fn begin(&mut self) -> io::Result<()> {
        if self.state == State::Events {
            self.out.write_all(b"\n]")?;
            self.state = State::Closed;
        }
        let separator: &[u8] = if std::mem::replace(&mut self.is_empty, false) { b"{\n" } else { b",\n" };
        self.out.write_all(separator)
    }

    fn member(&mut self, text: &[u8]) -> io::Result<()> {
        self.begin()?;
        self.out.write_all(text)
    }

    fn event(&mut self, text: &[u8]) -> io::Result<()> {
        if self.state == State::Events {
            self.out.write_all(b",\n")?;
        } else {
            self.open()?;
        }
        self.out.write_all(text)
    }

    fn open(&mut self) -> io::Result<()> {
        self.begin()?;
        self.out.write_all(b"\"traceEvents\": [\n")?;
        self.state = State::Events;
        Ok(())
    }

    fn cut(&mut self, title: &str, windows: Vec<serde_json::Value>) -> io::Result<()> {
        if self.state == State::Members {
            self.open()?;
        }
        let value = serde_json::json!({"format_version": 1, "what": title, "windows": windows});
        self.member(format!("\"{MEMBER}\": {value}").as_bytes())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.state == State::Members {
            self.open()?;
        }
        let end: &[u8] = if self.state == State::Events { b"\n]\n}\n" } else { b"\n}\n" };
        self.out.write_all(end)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn times_are_written_to_the_picosecond() {
        for (time, text) in
            [(1_500_000, "1.500000"), (-1, "-0.000001"), (1_700_000_000_000_000_123_456, "1700000000000000.123456")]
        {
            assert_eq!(decimal(time), text);
            assert_eq!(crate::time::picoseconds(text.as_bytes()), Some(time));
        }
    }
}
