//! Forward passes in a whole profile: found, listed, and copied byte for byte.
//!
//! ```
//! use perfdb_compare::cut::{Choice, Cut};
//!
//! # let folder = std::env::temp_dir().join(format!("perfdb-cut-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let profile = folder.join("kernel_details.csv");
//! std::fs::write(&profile, "Step Id,Type,Start Time(us),Duration(us)\n1,Add,10,5\n1,Mul,16,5\n2,Add,30,5\n").unwrap();
//! let cut = Cut::find(&profile).unwrap();
//! assert_eq!(cut.passes().len(), 2);
//! let mut second = Vec::new();
//! cut.write(cut.choose(Choice::Number(2)).unwrap().remove(0), &mut second).unwrap();
//! assert_eq!(second, b"Step Id,Type,Start Time(us),Duration(us)\n2,Add,30,5\n");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The file is read once for times and kernel types, with 16 bytes kept per row, and once more to copy rows; where
//! its rows are not in the order of their starts, once more to count them. Neither needs memory for the text.

mod blocks;
mod copy;
mod file;
mod find;
mod profile_rows;
mod rows;

pub use file::profile_in;
pub use find::Cut;

use serde::Serialize;

/// How passes were told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CutMethod {
    /// By the column `Step Id`.
    StepColumn,
    /// By what repeats in the sequence of kernels.
    Sequence,
    /// By idle gaps that stand apart.
    IdleGaps,
    /// Nothing separates anything.
    OnePass,
}

impl CutMethod {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            CutMethod::StepColumn => "step column",
            CutMethod::Sequence => "repeating sequence",
            CutMethod::IdleGaps => "idle gaps",
            CutMethod::OnePass => "nothing that repeats: one pass",
        }
    }
}

/// What a pass does, by its attention kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// More query tokens than sequences.
    Prefill,
    /// One query token per sequence.
    Decode,
    /// Both.
    Mixed,
    /// No attention whose sequences can be told.
    Unknown,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Mixed => "mixed",
            Phase::Unknown => "unknown",
        }
    }
}

/// A forward pass of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// Number of its first row in the file, the one below the header is 1.
    pub first_row: u64,
    /// Rows of the file that belong to it.
    pub rows: u64,
    /// Kernels: AICPU rows and repeated collectives do not count.
    pub kernels: u64,
    /// Their time.
    pub kernel_ps: i128,
    /// From the first start to the last end.
    pub elapsed_ps: i128,
    /// How often the kernel that each layer has once runs.
    pub layers: u64,
    /// What it does.
    pub phase: Phase,
    /// Whether it has fewer layers than others of its phase.
    pub partial: bool,
}

/// Which passes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The one of this number, from 1.
    Number(usize),
    /// The last one that is whole.
    Last,
    /// The one with the median kernel time among those that are whole.
    Median,
    /// Every one.
    All,
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "last" => Choice::Last,
            "median" => Choice::Median,
            "all" => Choice::All,
            number => match number.parse() {
                Ok(number) if number > 0 => Choice::Number(number),
                _ => return Err("a number from 1, last, median or all is needed".to_owned()),
            },
        })
    }
}
