//! The tools by what they are for.

use crate::all_tools::{TOOLS, of_job};
use crate::registry::Job;

/// One line for each tool below the heading of its job.
pub(super) fn tools() -> String {
    let width = TOOLS.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let job = |job: Job| {
        let lines = of_job(job).map(|tool| format!("  {:width$}  {}\n", tool.name, tool.summary));
        format!("{}:\n{}", job.title(), lines.collect::<String>())
    };
    Job::ALL.into_iter().map(job).collect::<Vec<_>>().join("\n")
}

/// [`tools`], and what else perfdb does.
pub(super) fn with_commands() -> String {
    format!(
        "{}
Find and install:
  list                  the tools, as above
  doctor                what of the vendors' software is here
  help NAME             the help of a tool or command
  completions SHELL     a completion script for bash, zsh or fish
  man DIR               manual pages
  install-links DIR     links named after the tools, so that `perfdb TOOL` is also `TOOL`
  merge-shards DIR...   the shards of a job (--shard I/N of a tool) as one",
        tools()
    )
}
