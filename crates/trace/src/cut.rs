//! A piece of a chrome trace as a trace of its own: a step, the steps of a phase, or a stretch of time.
//!
//! Events are copied byte for byte. A piece has spans of time on the host and on each device. An event belongs to the
//! piece in whose spans it starts, a launch and its flows to the piece of what they launch. Both the piece and the rest
//! of the trace get what both need: metadata, what runs across the edge of a span, the first event on the device behind a
//! span (it ends the last gap, and its launch says who was late), and the calls on the host around a launch that lies in
//! the other one. So each event of the trace is in the piece or in the rest.
//!
//! ```
//! use perfdb_trace::cut::{Cut, Piece, Spans};
//!
//! # let folder = std::env::temp_dir().join(format!("perfdb-trace-cut-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let trace = folder.join("trace.json");
//! std::fs::write(&trace, r#"[{"ph":"X","cat":"cpu_op","name":"early","ts":1,"dur":1},
//!     {"ph":"X","cat":"cpu_op","name":"late","ts":5,"dur":1}]"#)?;
//! let spans = Spans::new([(4_000_000, 9_000_000)]);
//! let piece = Piece::of_time(spans);
//! let mut out = Vec::new();
//! let counts = Cut::new(&trace, &piece)?.write(&mut out, None)?;
//! assert_eq!(counts.piece, 1);
//! assert!(String::from_utf8(out)?.contains("late"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The trace is read three times. What is kept is one entry for each launch and each event on a device of the piece; the
//! size of the rest does not matter.

mod copy;
mod rows;
mod spans;
mod survey;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use spans::Spans;

use crate::Error;
use survey::Survey;

/// Member at the top of a cut trace that says for which windows of each device it stands.
pub const MEMBER: &str = "perfdbCut";

/// What is cut out.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    /// Spans on the host.
    pub host: Spans,
    /// Spans of each device, by its id.
    pub devices: BTreeMap<String, Spans>,
    /// Spans of all other devices.
    pub other_devices: Spans,
    /// Spans in which annotations that the profiler repeats on the device begin, where they are others than those of the
    /// device.
    pub device_annotations: Option<Spans>,
    /// Whether annotations must begin in the piece; otherwise it is enough that they reach into it.
    pub whole_annotations: bool,
    /// Whether Python stacks are left out of the piece.
    pub no_stacks: bool,
    /// What the piece is, for [`MEMBER`]; nothing where its edges are those of no window.
    pub title: Option<String>,
}

impl Piece {
    /// What happens in spans of time.
    pub fn of_time(spans: Spans) -> Piece {
        Piece { host: spans.clone(), other_devices: spans, ..Piece::default() }
    }
}

/// How many events were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Into the piece.
    pub piece: u64,
    /// Into the rest, whether it was written or not.
    pub rest: u64,
    /// Into both.
    pub both: u64,
    /// Python stacks that were left out of the piece.
    pub stacks: u64,
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] Error),
    /// The piece cannot be written.
    #[error("{0}")]
    Write(io::Error),
}

/// A trace that a piece is cut out of.
#[derive(Debug)]
pub struct Cut<'p> {
    path: PathBuf,
    piece: &'p Piece,
    survey: Survey,
}

impl<'p> Cut<'p> {
    /// Finds out what belongs to the piece.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn new(path: &Path, piece: &'p Piece) -> Result<Cut<'p>, Error> {
        Ok(Cut { path: path.to_owned(), piece, survey: Survey::of(path, piece)? })
    }

    /// Writes the piece, and the rest where it is wanted.
    ///
    /// # Errors
    /// When the trace cannot be read, or the piece not be written.
    pub fn write(mut self, piece: &mut dyn Write, rest: Option<&mut dyn Write>) -> Result<Counts, CutError> {
        copy::copy(&self.path, self.piece, &mut self.survey, piece, rest)
    }
}

/// The first time of an event of a trace, in picoseconds, which viewers call 0; nothing without events.
///
/// # Errors
/// When the trace cannot be read.
pub fn first_time(path: &Path) -> Result<Option<crate::time::Picoseconds>, Error> {
    let mut first = None;
    survey::each(path, None, |event, _| {
        if !event.has_phase("M")
            && let Some(start) = rows::start(event)
        {
            first = Some(first.map_or(start, |first: crate::time::Picoseconds| first.min(start)));
        }
    })?;
    Ok(first)
}
