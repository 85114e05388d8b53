//! Which runs a program of this package makes, and of which perfdb.

use crate::reliability::Error;
use crate::reliability::program::Program;
use clap::Args;
use std::ops::Range;
use std::path::PathBuf;

/// Options of programs whose runs can be repeated one by one.
#[derive(Debug, Args)]
pub struct Numbers {
    /// What the draws start from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many runs
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Only the run of this number
    #[arg(long, value_name = "RUN")]
    only: Option<u64>,
    /// Runs at a time
    #[arg(long, default_value_t = 2)]
    pub jobs: usize,
    /// The perfdb to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Numbers {
    /// The numbers of the runs: all, or the one that is asked for.
    pub fn runs(&self) -> Range<u64> {
        match self.only {
            Some(only) => only..only + 1,
            None => 0..self.count,
        }
    }

    /// The perfdb to run.
    ///
    /// # Errors
    /// When it is not there.
    pub fn program(&self) -> Result<Program, Error> {
        Program::find(self.program.as_deref())
    }
}

/// The option that chooses these tools again; empty for all.
pub fn tools_option(tools: &[String]) -> String {
    if tools.is_empty() { String::new() } else { format!(" --tools {}", tools.join(" ")) }
}
