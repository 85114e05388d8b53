//! What a run reports while it goes on.

use std::path::PathBuf;

/// A part of a run that goes over the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Every distinct point once, results compared.
    Verify,
    /// Calls before any timing.
    WarmUp,
    /// Timed calls.
    Measure,
}

impl Phase {
    /// The phase with the worker's name for it.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "verify" => Some(Self::Verify),
            "warm-up" => Some(Self::WarmUp),
            "measure" => Some(Self::Measure),
            _ => None,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
        }
    }
}

/// Something that a run reports.
#[derive(Clone, Debug)]
pub enum Event {
    /// What has been chosen or is being done.
    Note(String),
    /// Another run holds the lock of the folder; reported once.
    Waiting(String),
    /// Something that the user should know.
    Warning(String),
    /// The run failed; what it measured is left in this folder, from which rows can still be made.
    ResultsKept(PathBuf),
    /// The leader of this node begins a point.
    Progress {
        /// Part of the run.
        phase: Phase,
        /// Steps begun, over all parts.
        step: u64,
        /// Steps in all.
        steps: u64,
        /// The point, in words.
        point: String,
    },
    /// The run is over.
    ProgressEnd,
}
