//! M6 of one simulated and one measured forward pass.

use crate::comparison::{Range, RegressionGate, check_regressions, print_warnings};
use crate::gate::Gate;
use crate::one_output::verdict_is;
use crate::path_argument::path;
use crate::registry::{Job, Tool};
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::{Failure, Status, command_of, print, run};
use clap::Parser;
use perfdb_compare::Semantics;
use perfdb_compare::m6::{Options, SourceFilter, compare_files};
use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_report::m6::{Report, tidy_path};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "compute-m6",
    job: Job::ComparePrediction,
    summary: "M6: predicted over measured time of a pass",
    main,
    command: command_of::<Arguments>,
};

/// Compute M6: compare a TC chrome trace with a measured forward pass
///
/// M6 is the time that the simulator took from measurements over the time that the forward pass really took. 1.0 is perfect,
/// more is an overestimate. Events count when their source passes the filter and they have a kernel type. Collectives that
/// the profiler lists on two streams count once.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  compute-m6 trace.json forward_pass.csv
  compute-m6 trace.json.gz pass.csv --source-filter MEASURED \\
      --json-output results/m6.json
  compute-m6 trace.json pass.csv --semantics corrected --fail-outside 0.9,1.1

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but M6 is outside --fail-outside."
)]
struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE", value_parser = path())]
    tc_trace: PathBuf,

    /// CSV of one forward pass, cut out of kernel_details.csv (may be gzip)
    #[arg(long, value_name = "FILE", value_parser = path())]
    prof_trace: PathBuf,

    /// Comma-separated sources that count [default: MEASURED,INTERPOLATED]
    #[arg(long, value_name = "NAMES", default_value = "", hide_default_value = true)]
    source_filter: String,

    /// Also write the result as JSON; missing folders are created
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true, value_parser = path())]
    json_output: PathBuf,

    /// Whether known faults of the original tool are kept
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    semantics: Semantics,

    /// Exit with status 3 unless LOW <= M6 <= HIGH
    #[arg(long, value_name = "LOW,HIGH")]
    fail_outside: Option<Range>,

    #[command(flatten)]
    regression: RegressionGate,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["tc-trace", "prof-trace", "source-filter", "json-output"], compute)
}

fn compute(arguments: Arguments) -> Result<Status, Failure> {
    let inputs = [Path::new(&arguments.tc_trace), Path::new(&arguments.prof_trace)];
    let output = tidy_path(&arguments.json_output);
    refuse_inputs([output.as_path()], inputs.into_iter().chain(arguments.regression.baseline_file()))?;
    let baseline = arguments.regression.read()?;
    let source_filter = SourceFilter::parse(&arguments.source_filter);
    let options = Options { source_filter: source_filter.clone(), semantics: arguments.semantics };
    let outcome = compare_files(&arguments.tc_trace, &arguments.prof_trace, &options)?;
    print_warnings(&outcome.warnings);
    let m6 = outcome.result;
    let report = Report {
        m6,
        tc_trace: &arguments.tc_trace.to_string_lossy(),
        prof_trace: &arguments.prof_trace.to_string_lossy(),
        source_filter: &source_filter,
    };
    print(&report.text())?;
    if !arguments.json_output.as_os_str().is_empty() {
        // A slash at the end does not make it a folder, as in the original.
        let path = tidy_path(&arguments.json_output);
        replace(&path, report.json().as_bytes(), Parents::Create)?;
        print(&format!("\nJSON output written to: {}\n", path.display()))?;
    }
    verdict_is(report.verdict());
    let mut gate = Gate::default();
    if let Some((baseline, limit)) = &baseline {
        let regression = baseline.check_m6(m6.ratio, *limit, &arguments.prof_trace, arguments.semantics)?;
        check_regressions(&mut gate, regression.as_slice(), *limit);
    }
    if let Some(Range { low, high }) =
        arguments.fail_outside.filter(|range| !m6.is_within(range.low.value, range.high.value))
    {
        let m6 = perfdb_pycompat::format::fixed(m6.ratio, 3);
        gate.exceeded(format!("M6 is {m6}"), format!("{} to {}", low.text, high.text));
    }
    Ok(gate.status())
}
