//! `perfdb mcp`: the tools for an assistant, over the Model Context Protocol on stdin and stdout.
//!
//! A call is a run of a tool in a process of its own: the answers and errors are the tool's, a trace that breaks a run ends one call and
//! not the session, and a call that is cancelled frees its memory. Why the protocol is written here is in docs/design/command-line.md.

mod bounded;
mod call;
mod catalogue;
mod message;
mod roots;
mod run;
mod server;

use crate::Failure;
use roots::Roots;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb mcp ~/traces /data/databases
  claude mcp add perfdb -- perfdb mcp \"$PWD\"

How to set it up and what to ask is in docs/guide/agents.md.";

/// Serves until stdin ends and every call has its answer.
pub(super) fn serve(folders: &[PathBuf]) -> Result<(), Failure> {
    let roots = Roots::open(folders)?;
    server::serve(std::io::stdin().lock(), std::io::stdout(), roots)
}
