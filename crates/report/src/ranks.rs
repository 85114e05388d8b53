//! Ranks of a run, or of two: JSON, CSV and text.

mod text;

use perfdb_pycompat::format::fixed;
use perfdb_pycompat::json::to_string;
use perfdb_tracediff::ranks::Ranks;
use serde::Serialize;

use crate::tracediff::{push_record, text_cell};

pub use text::text;
pub(crate) use text::{compared, headlines, verdict_of_two};

/// Version of the JSON document.
const FORMAT_VERSION: u32 = 1;

/// One run, or two to be compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Sides {
    /// One run.
    One(Box<Ranks>),
    /// Two runs.
    Two(Box<[Ranks; 2]>),
}

#[derive(Serialize)]
struct Document<'a> {
    format_version: u32,
    sides: Vec<&'a Ranks>,
}

impl Sides {
    pub(crate) fn all(&self) -> Vec<&Ranks> {
        match self {
            Sides::One(ranks) => vec![ranks.as_ref()],
            Sides::Two(sides) => sides.iter().collect(),
        }
    }
}

/// The JSON document, with a final newline.
pub fn json(sides: &Sides) -> String {
    let document = Document { format_version: FORMAT_VERSION, sides: sides.all() };
    // Every key is a text, so it is always representable.
    to_string(&document).unwrap_or_default() + "\n"
}

const HEADER: &str = "side,step,collective,group,number,rank,start_us,waiting_us,transfer_us,late_us,last,before\n";

/// A line per rank of every collective, by start.
pub fn csv(sides: &Sides) -> String {
    let mut out = HEADER.to_owned();
    for (side, ranks) in (1..).zip(sides.all()) {
        for found in &ranks.occurrences {
            for rank in &found.ranks {
                let cells = [
                    side.to_string(),
                    found.step.map(|step| step.to_string()).unwrap_or_default(),
                    text_cell(&found.kind),
                    text_cell(&found.group),
                    found.number.to_string(),
                    rank.rank.to_string(),
                    fixed(rank.start_us, 6),
                    fixed(rank.waiting_us, 6),
                    fixed(rank.transfer_us, 6),
                    fixed(rank.late_us, 6),
                    u8::from(found.last() == Some(rank.rank)).to_string(),
                    text_cell(&rank.before),
                ];
                push_record(&mut out, &cells);
            }
        }
    }
    out
}
