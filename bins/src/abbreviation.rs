//! Prefixes of the options that the original tools had.

use std::ffi::OsString;

/// A prefix that begins several options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ambiguous {
    pub(crate) argument: String,
    pub(crate) candidates: Vec<String>,
}

/// Writes abbreviated options out: an argument `--p` or `--p=v` in front of a bare `--`, where `p` is not a full name of an
/// option and begins exactly one name of `original`, gets that name. `full` are all options that the tool has now; those
/// not in `original` cannot be abbreviated, so that a new option never makes an old prefix ambiguous.
pub(crate) fn expand(
    arguments: impl IntoIterator<Item = OsString>,
    original: &[&str],
    full: &[String],
) -> Result<Vec<OsString>, Ambiguous> {
    let mut options_ended = false;
    arguments
        .into_iter()
        .map(|argument| {
            options_ended |= argument == "--";
            // An option is ASCII; an argument that is no UTF-8 throughout can only be cut behind its `=`.
            let bytes = argument.as_encoded_bytes();
            let name_end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
            let Some(prefix) = std::str::from_utf8(&bytes[..name_end]).ok().and_then(|text| text.strip_prefix("--"))
            else {
                return Ok(argument);
            };
            if options_ended || prefix.is_empty() || full.iter().any(|name| name == prefix) {
                return Ok(argument);
            }
            let candidates: Vec<&str> = original.iter().copied().filter(|name| name.starts_with(prefix)).collect();
            match candidates[..] {
                [] => Ok(argument),
                [name] => Ok(with_name(name, &argument, prefix)),
                _ => Err(Ambiguous {
                    argument: format!("--{prefix}"),
                    candidates: candidates.iter().map(|name| format!("--{name}")).collect(),
                }),
            }
        })
        .collect()
}

/// `--name` and what followed the prefix.
fn with_name(name: &str, argument: &OsString, prefix: &str) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = format!("--{name}").into_bytes();
    bytes.extend_from_slice(&argument.as_bytes()[2 + prefix.len()..]);
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &[&str]) -> Result<Vec<OsString>, Ambiguous> {
        let full = ["tc-trace", "prof-trace", "source-filter", "json-output", "help", "semantics", "fail-outside"];
        let original = ["tc-trace", "prof-trace", "source-filter", "json-output", "help", "jobs"];
        expand(arguments.iter().map(OsString::from), &original, &full.map(str::to_owned))
    }

    #[test]
    fn a_prefix_of_one_original_option_gets_its_name() {
        let expected = ["--source-filter", "X", "--tc-trace=--p", "--help"].map(OsString::from);
        assert_eq!(expanded(&["--s", "X", "--tc=--p", "--h"]).unwrap(), expected);
    }

    #[test]
    fn new_options_are_written_in_full() {
        let arguments = ["--semantics", "--sem", "--fail", "-s", "--", "--tc"].map(OsString::from);
        assert_eq!(expanded(&["--semantics", "--sem", "--fail", "-s", "--", "--tc"]).unwrap(), arguments);
    }

    #[test]
    fn several_options_with_the_prefix_are_named() {
        let error = expanded(&["--j", "1"]).unwrap_err();
        assert_eq!(error.candidates, ["--json-output", "--jobs"]);
    }
}
