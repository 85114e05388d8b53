//! The plumbing of the tools: flags, logging, progress, exit codes.
#![forbid(unsafe_code)]
