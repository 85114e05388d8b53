//! The option that is meant by one that a tool does not have.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfdb_store::near_name::nearest;

/// What people write, and the options that mean it; a tool has at most a few of them, and the first one that it has is named.
const MEANT: [(&[&str], &[&str]); 12] = [
    (
        &["o", "out", "output", "outfile", "output-file", "out-file", "save", "report"],
        &["output", "output-path", "output-dir", "json-output", "json", "html", "csv", "parquet"],
    ),
    (
        &["d", "db", "dir", "database", "database-dir", "path", "data", "data-dir"],
        &["database-path", "data-dir", "csv-dir"],
    ),
    (&["database-path"], &["data-dir", "csv-dir"]),
    (&["t", "trace", "tc", "sim", "simulated", "simulation", "predicted"], &["tc-trace", "from-trace", "trace"]),
    (&["p", "pass", "prof", "profile", "measured", "forward-pass"], &["prof-trace", "profiling-path", "profile"]),
    (&["f", "form", "format", "json", "output-json"], &["format", "json", "json-output"]),
    (&["n", "top", "num", "count", "max-rows"], &["limit", "top", "nearest"]),
    (&["k", "op", "ops", "operator", "kernel-type", "type", "table"], &["kernel", "ops", "types"]),
    (&["shapes", "shape", "inputs", "input-shape"], &["input-shapes"]),
    (&["dtype", "dtypes", "data-types", "input-types"], &["types"]),
    (&["j", "threads", "workers", "parallel", "num-workers"], &["jobs"]),
    (&["html-output", "page"], &["html", "html-output"]),
];

/// Names the option that is meant, and takes back the advice to write `-- -o`, which would make a file of a mistyped option.
pub(crate) fn name_meant(error: &mut clap::Error, command: &Command) {
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    if !given.starts_with('-') {
        if command.get_name() == "explain-trace" {
            let other = "two traces are compared by compare-traces (perfdb trace diff)";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![other.into()]));
        }
        return;
    }
    let given = given.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
    if let Some(meant) = meant(&given, command) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{meant}")));
    }
}

fn meant<'c>(given: &str, command: &'c Command) -> Option<&'c str> {
    let options: Vec<&str> =
        command.get_arguments().filter(|known| is_named(known)).filter_map(|known| known.get_long()).collect();
    let known = |name: &str| options.iter().find(|option| **option == name).copied();
    let folded = given.to_lowercase().replace('_', "-");
    // The very name behind one dash, or with underscores.
    known(&folded)
        .or_else(|| {
            let (_, means) = MEANT.iter().find(|(words, _)| words.contains(&folded.as_str()))?;
            means.iter().find_map(|name| known(name))
        })
        .or_else(|| nearest(&folded, options.iter().copied(), str::to_owned))
}

/// Hidden options are not named, but for those of single forms, which `--output` stands for in the help.
fn is_named(option: &clap::Arg) -> bool {
    !option.is_hide_set() || matches!(option.get_long(), Some("json" | "csv" | "html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn refused(argument: &str) -> String {
        let option = |name: &'static str| Arg::new(name).long(name);
        let mut command = Command::new("x")
            .args(["tc-trace", "prof-trace", "database-path", "html", "json", "limit"].map(option))
            .arg(Arg::new("file"));
        let mut error = command.try_get_matches_from_mut(["x", argument, "y", "z"]).unwrap_err();
        name_meant(&mut error, &command);
        error.render().to_string()
    }

    #[test]
    fn the_option_that_is_meant_is_named() {
        for (given, meant) in [
            ("-o", "--json"),
            ("--output=x", "--json"),
            ("--database", "--database-path"),
            ("--db", "--database-path"),
            ("-database-path", "--database-path"),
            ("--database_path", "--database-path"),
            ("--tc_trace", "--tc-trace"),
            ("--top", "--limit"),
            ("--htlm", "--html"),
        ] {
            let text = refused(given);
            assert!(text.contains(&format!("'{meant}'")), "{given}: {text}");
            assert!(!text.contains("-- -"), "{given}: {text}");
        }
        assert!(!refused("--zzz").contains("tip"), "{}", refused("--zzz"));
    }
}
