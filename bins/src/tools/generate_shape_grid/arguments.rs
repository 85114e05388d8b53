//! The command line of generate-shape-grid.

use crate::Failure;
use crate::database::{DatabaseArguments, LockArguments};
use crate::semantics::DEFAULT_SEMANTICS;
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use num_bigint::BigInt;
use perfdb_files::paths::normalised;
use perfdb_grid::{Choice, Options, Semantics};
use perfdb_pycompat::integer;
use perfdb_pycompat::number::parse_float;
use perfdb_store::directory::{DEVICES, data_root};
use perfdb_store::version::VersionText;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Append theory shapes to the tables of a database: one row per shape that a model could ask for, without durations yet
#[derive(Parser)]
#[command(name = super::TOOL.name, after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Folder of CSV files; otherwise it is derived from the device and the versions
    #[arg(long, visible_alias = "data-dir", value_name = "DIR")]
    database_path: Option<OsString>,

    /// Models to prune by, separated by commas: names, ids or paths of a config.json [default: full grids]
    #[arg(long, value_name = "NAMES")]
    target_models: Option<OsString>,

    /// Most candidates taken per file; 0 or less takes all [default: 1000]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = integer_of_any_size)]
    rows: Option<BigInt>,

    /// In place of a draw take the N shapes per file that tell most about the others: far from the rows that are measured, later
    /// where these leave most in doubt (with --semantics corrected)
    #[arg(long, value_name = "N", conflicts_with_all = ["rows", "seed"], value_parser = clap::value_parser!(u32).range(1..))]
    plan_measurements: Option<u32>,

    /// Seed of the draw, of any size [default: a new one, which is printed]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = integer_of_any_size)]
    pub(super) seed: Option<BigInt>,

    /// Memory that the tensors of a row may take, in GiB; 0 or less takes rows of any size
    #[arg(long, value_name = "GIB", default_value = "32.0", allow_negative_numbers = true, value_parser = finite_number)]
    max_hbm_gb: f64,

    /// Rule file to use instead of the built-in rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Only print what would be appended to each file, and why to some nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Also write a report for programs
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Rules: those of the original of June or of August 2026, or corrected ones
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    semantics: Semantics,

    #[command(flatten)]
    pub(super) lock: LockArguments,

    /// Device below the data root (`perfdb list --devices`), if the folder is derived
    #[arg(long, value_name = "DEVICE", help_heading = "Database directory",
        value_parser = clap::builder::PossibleValuesParser::new(DEVICES), hide_possible_values = true, default_value = "ATLAS_800_A3_752T_128G_DIE")]
    device: String,

    /// vLLM-Ascend version, or the whole name of a version directory [default: the whole data root]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    vllm_version: Option<VersionText>,

    /// PyTorch version [default: what is installed]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    torch_version: Option<VersionText>,

    /// CANN version [default: what is installed]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    cann_version: Option<VersionText>,
}

/// Candidates that are taken per file where nothing else is asked for.
const DEFAULT_ROWS: i64 = 1000;

const EXAMPLES: &str = "\
Examples:
  generate-shape-grid db --dry-run --target-models Qwen/Qwen3-32B
  generate-shape-grid db --semantics corrected --plan-measurements 30
  generate-shape-grid db --rows 0 --config rules.yaml \\
      --target-models ./my-model/config.json
  generate-shape-grid db --rows 2000 --seed 20260409 \\
      --target-models deepseek-ai/DeepSeek-V3,Qwen/Qwen3-32B

The new rows have 0 as durations, or none with --semantics corrected, which leaves out shapes that
op-replay cannot run. start-microbench --update-mode missing-only measures them.

Exit status: 0 done (also when nothing was appended), 1 failed, 2 wrong usage.";

impl Arguments {
    /// What the run does. Without a seed a new one is drawn.
    pub(super) fn options(&self) -> Result<Options, Failure> {
        if self.plan_measurements.is_some() && self.semantics != Semantics::Corrected {
            // The originals draw before they know which shapes are new.
            return Err(Failure::usage("--plan-measurements needs --semantics corrected"));
        }
        let new_seed = || BigInt::from(RandomState::new().hash_one(super::TOOL.name) >> 32);
        Ok(Options {
            models: self.models()?,
            directory: self.directory()?,
            rows: self.plan_measurements.map_or_else(|| self.rows(), BigInt::from),
            choice: if self.plan_measurements.is_some() { Choice::MostTelling } else { Choice::Random },
            seed: self.seed.clone().unwrap_or_else(new_seed),
            max_hbm_gib: self.max_hbm_gb,
            config: self.config.clone(),
            semantics: self.semantics,
            threads: None,
        })
    }

    /// What a run without limits comes to, to be said before it.
    pub(super) fn warning(&self) -> Option<String> {
        let has_limits = self.rows.is_some() || self.target_models.is_some() || self.plan_measurements.is_some();
        (!has_limits && !self.dry_run).then(|| {
            format!(
                "without --rows and --target-models up to {DEFAULT_ROWS} rows are appended to each table, drawn from all \
                 shapes that the rules know; --dry-run counts them"
            )
        })
    }

    fn rows(&self) -> BigInt {
        self.rows.clone().unwrap_or_else(|| DEFAULT_ROWS.into())
    }

    /// Whether the run draws with a seed that nobody has chosen.
    pub(super) fn draws_by_new_seed(&self) -> bool {
        self.seed.is_none() && self.plan_measurements.is_none() && self.rows() > BigInt::ZERO
    }

    fn models(&self) -> Result<Option<Vec<OsString>>, Failure> {
        let Some(given) = self.target_models.as_deref().filter(|given| !given.is_empty()) else {
            return Ok(None);
        };
        // A path need not be text, but a comma is a comma in any case.
        let parts = given.as_bytes().split(|byte| *byte == b',').map(OsStr::from_bytes);
        let names = parts.map(|part| part.to_str().map_or(part, |text| OsStr::new(perfdb_pycompat::text::trim(text))));
        let names: Vec<OsString> = names.filter(|name| !name.is_empty()).map(OsStr::to_owned).collect();
        if names.is_empty() {
            return Err(Failure::usage(format!("--target-models '{}' names no model", given.to_string_lossy())));
        }
        Ok(Some(names))
    }

    fn directory(&self) -> Result<PathBuf, Failure> {
        if self.database_path.as_ref().is_some_and(|path| path.is_empty()) {
            // Most likely a variable of a script that is not set; the current directory was not meant.
            return Err(Failure::usage("--database-path is empty"));
        }
        if self.database_path.is_none() && self.vllm_version.is_none() {
            let root = data_root(std::env::var_os("PERFDB_DATA_DIR"), &std::env::current_dir()?);
            return Ok(normalised(&root));
        }
        let database = DatabaseArguments {
            database_path: self.database_path.clone(),
            device: Some(self.device.clone()),
            vllm_version: self.vllm_version.clone(),
            torch_version: self.torch_version.clone(),
            cann_version: self.cann_version.clone(),
        };
        database.directory(None)
    }
}

fn semantics() -> impl TypedValueParser<Value = Semantics> {
    let names = [
        PossibleValue::new(DEFAULT_SEMANTICS).help("As the original of June 2026, known faults included"),
        PossibleValue::new("newest")
            .help("As the original of August 2026: models by hub id, attention per tensor-parallel size"),
        PossibleValue::new("corrected").help("June 2026 with known faults switched off"),
    ];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "newest" => Semantics::Newest,
        "corrected" => Semantics::Corrected,
        _ => Semantics::Upstream,
    })
}

fn integer_of_any_size(text: &str) -> Result<BigInt, String> {
    integer::parse(text).ok_or_else(|| "not an integer".to_owned())
}

fn finite_number(text: &str) -> Result<f64, String> {
    // Beyond this the bytes would be infinite.
    let is_usable = |number: &f64| (number * 1024.0 * 1024.0 * 1024.0).is_finite();
    parse_float(text).filter(is_usable).ok_or_else(|| "not a finite number".to_owned())
}
