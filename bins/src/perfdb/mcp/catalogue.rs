//! The tools of the server: what a call may say, and which options of which tool that is.

use super::roots::Wanted;

/// A tool as an assistant calls it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// The tool of perfdb that does it.
    pub(super) tool: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// Options of the form JSON.
    pub(super) json: &'static [&'static str],
}

/// A parameter of a call.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) about: &'static str,
    pub(super) is_required: bool,
    /// The option that gets the value; without one it is an argument of its own.
    pub(super) option: Option<&'static str>,
}

/// What the value of a parameter is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Path(Wanted),
    Paths(Wanted),
    Text,
    /// Words that are never options.
    Words,
    Count,
    /// The option alone, where the value is true.
    Flag,
    OneOf(&'static [&'static str]),
}

const FILE: Kind = Kind::Path(Wanted::File);
const FOLDER: Kind = Kind::Path(Wanted::Folder);

const fn required(name: &'static str, kind: Kind, option: Option<&'static str>, about: &'static str) -> Parameter {
    Parameter { name, kind, about, is_required: true, option }
}

const fn optional(name: &'static str, kind: Kind, option: &'static str, about: &'static str) -> Parameter {
    Parameter { name, kind, about, is_required: false, option: Some(option) }
}

const PHASES: Kind = Kind::OneOf(&["all", "prefill", "decode", "mixed"]);
const SEMANTICS: Kind = Kind::OneOf(&["corrected", "best", "upstream", "upstream-2025"]);

/// All tools.
pub(super) const ENTRIES: [Entry; 7] = [
    Entry {
        name: "trace_explain",
        tool: "explain-trace",
        about: "Where does the time of a step go? Splits a GPU profile (PyTorch profiler, nsys SQLite, RPD) into compute, exposed communication, \
                exposed copies, host late and device idle; then kernel classes, operators by shape with their share of the roofline, and what to do next.",
        parameters: &[
            required("trace", FILE, None, "Trace of a GPU profiler, gzip or not"),
            optional("phase", PHASES, "--phase", "Steps of one phase only"),
            optional("step", Kind::Text, "--step", "One step: its name or its number from 0"),
            optional("top", Kind::Count, "--top", "Names of kernels to list at most"),
            optional("capture", FILE, "--capture", "Trace of the capture of the graphs that this trace replays"),
        ],
        json: &["--json"],
    },
    Entry {
        name: "trace_diff",
        tool: "compare-traces",
        about: "Where is one GPU trace slower than another? Compares two traces of the same workload per forward pass, operation, layer and kernel, \
                with verdicts (slower, faster, same, inconclusive) and intervals. Ratios are trace 2 / trace 1.",
        parameters: &[
            required("trace1", FILE, None, "First trace: before, or the reference"),
            required("trace2", FILE, None, "Second trace: after, or the other device"),
            optional("phase", PHASES, "--phase", "Kernels of one phase only"),
            optional("layers", Kind::Flag, "--layers", "Add layers"),
            optional("shapes", Kind::Flag, "--shapes", "Add what limits operators by shape"),
            optional("explain", Kind::Flag, "--explain", "Add what changed and why, adding up to 100 %"),
            optional("capture1", FILE, "--capture1", "Trace of the capture of the graphs that trace 1 replays"),
            optional("capture2", FILE, "--capture2", "The same for trace 2"),
        ],
        json: &["--format=json", "--no-kernels"],
    },
    Entry {
        name: "trace_check",
        tool: "check-trace",
        about: "Can this trace be trusted? Lists what is wrong with a trace or kernel table, and how much of its time that touches.",
        parameters: &[required("trace", FILE, None, "Trace or kernel table, gzip or not")],
        json: &["--json"],
    },
    Entry {
        name: "db_query",
        tool: "query-database",
        about: "What does an operator cost? Queries a database of measured operators: the duration in microseconds, with its 90 % interval where it \
                was not measured, and the rows behind it.",
        parameters: &[
            required("database", FOLDER, Some("--database-path"), "Folder of the database, with op_mapping.yaml"),
            Parameter {
                name: "words",
                kind: Kind::Words,
                about: "An operator and its arguments, as in [\"aten.mm.default\", \"16,5120:bf16\", \"5120,768:bf16\"]; with kernel: its inputs; \
                        with list: parts of names",
                is_required: false,
                option: None,
            },
            optional("kernel", Kind::Text, "--kernel", "Query this kernel type by its inputs, without the mapping"),
            optional("list", Kind::Flag, "--list", "List tables and operators instead"),
            optional("from_trace", FILE, "--from-trace", "Query each call of a simulator's trace instead"),
            optional("semantics", SEMANTICS, "--semantics", "Lookup rules; best adds predictions with intervals"),
            optional("explain", Kind::Flag, "--explain", "Add what was tried, table by table"),
            optional("nearest", Kind::Count, "--nearest", "Name the nearest rows, at most this many"),
            optional("tp_size", Kind::Count, "--tp-size", "Tensor-parallel size"),
            optional("ep_size", Kind::Count, "--ep-size", "Expert-parallel size"),
        ],
        json: &["--json=-"],
    },
    Entry {
        name: "db_coverage",
        tool: "audit-coverage",
        about: "Is a database good enough for a workload? The share of calls and time with an exact match, by interpolation, or without an answer; \
                what is missing and what to measure next.",
        parameters: &[
            required("database", FOLDER, Some("--database-path"), "Folder of the database, with op_mapping.yaml"),
            optional("traces", Kind::Paths(Wanted::File), "--from-trace", "Workloads: simulator traces"),
            optional("manifests", Kind::Paths(Wanted::File), "--manifest", "Workloads: manifests of JSON lines"),
            optional("model", Kind::Path(Wanted::Either), "--model", "Workload: config.json of a model, or its folder"),
            optional("phase", Kind::OneOf(&["prefill", "decode"]), "--phase", "With model: the phase"),
            optional("batch", Kind::Count, "--batch", "With model: sequences of the pass"),
            optional("context", Kind::Count, "--context", "With model: tokens of each sequence"),
            optional("tp_size", Kind::Count, "--tp-size", "Tensor-parallel size"),
            optional("ep_size", Kind::Count, "--ep-size", "Expert-parallel size"),
            optional("semantics", SEMANTICS, "--semantics", "Lookup rules; best adds predictions"),
            optional("suggest", Kind::Count, "--suggest", "Name this many rows to measure next"),
            optional(
                "no_leave_out",
                Kind::Flag,
                "--no-leave-out",
                "Faster: do not judge how far tables can be trusted",
            ),
        ],
        json: &["--json=-"],
    },
    Entry {
        name: "pass_explain",
        tool: "explain-prediction",
        about: "Why does a simulated forward pass differ from a measured one? Splits predicted less measured time into parts with a cause each, \
                adding up to 100 %.",
        parameters: &[
            required("trace", FILE, Some("--tc-trace"), "Chrome trace of the simulator"),
            required("pass", FILE, Some("--prof-trace"), "CSV of the measured forward pass"),
            optional("passes", Kind::Count, "--n-forward-passes", "Forward passes in the CSV"),
            optional("database", FOLDER, "--data-dir", "Folder of the database; adds intervals of predicted times"),
        ],
        json: &["-o-.json"],
    },
    Entry {
        name: "forecast",
        tool: "forecast",
        about: "What does a served model cost per token? Time per output token and to the first token with intervals, from config.json and imported \
                tables of the device; several values of tp or batch make a table.",
        parameters: &[
            required("model", Kind::Path(Wanted::Either), Some("--model"), "config.json of the model, or its folder"),
            required("database", FOLDER, Some("--database-path"), "Imported tables: SYSTEM/FRAMEWORK/VERSION"),
            optional("batch", Kind::Text, "--batch", "Requests in flight; several as 1,8,32"),
            optional("input", Kind::Count, "--input", "Tokens of a prompt"),
            optional("output", Kind::Count, "--output", "Tokens of an answer"),
            optional("tp", Kind::Text, "--tp", "Devices that share each matrix; several as 1,2,4"),
            optional("ep", Kind::Count, "--ep", "Groups of devices that hold different experts"),
            optional("dp", Kind::Count, "--dp", "Groups of devices with requests of their own in attention"),
            optional("pp", Kind::Count, "--pp", "Stages of layers"),
            optional("kv_cache", Kind::Text, "--kv-cache", "How the cache is stored: bfloat16 or fp8"),
        ],
        json: &["-o-.json"],
    },
];

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_an_option_of_its_tool() {
        for entry in &ENTRIES {
            let tool = crate::all_tools::find(entry.tool).unwrap();
            let command = (tool.command)();
            for parameter in entry.parameters {
                let Some(option) = parameter.option else { continue };
                let known = command.get_arguments().find(|known| {
                    known.get_long_and_visible_aliases().unwrap_or_default().contains(&option.trim_start_matches('-'))
                });
                let known = known.unwrap_or_else(|| panic!("{} has no {option}", entry.tool));
                let takes_value = known.get_action().takes_values();
                assert_eq!(takes_value, !matches!(parameter.kind, Kind::Flag), "{} {option}", entry.tool);
            }
        }
    }
}
