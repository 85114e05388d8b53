//! Time per output token and to the first one, from measured operators.

mod many;

use crate::json_file::{JsonFile, ResultFiles, Versioned};
use crate::one_output::refuse_forms;
use crate::path_argument::path;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, print, run};
use clap::Parser;
use perfdb_files::escape::shown;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_forecast::serving::{Described, Plan, Scheme, Sweep};
use perfdb_report::forecast::{NONE_FITS, Served, csv, document, refused, sweep, text};
use perfdb_report::page::Provenance;
use perfdb_report::pages::forecast_page;
use perfdb_report::tables::forecasts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "forecast",
    job: Job::ForecastModel,
    summary: "time per output token and to the first one of a model",
    main,
    command: command_of::<Arguments>,
};

/// Forecast the time per output token (TPOT) and to the first token (TTFT) of a served model, with intervals
///
/// The operators of a step are those of the model's config.json. Their durations come from a database that `import-database --from
/// aiconfigurator` made; what it lacks is taken from other versions beside it, from neighbouring cases, or from the limits of the
/// device. The 90 % intervals are over models and systems; for one model they promise less.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// The model: a config.json, or the folder with one
    #[arg(long, value_name = "CONFIG", value_parser = path(), required_unless_present_any = ["points", "layers"])]
    model: Option<PathBuf>,

    /// A model of another architecture: YAML that lists its layers and operators, as docs/guide/forecast.md describes it
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["model", "points"])]
    layers: Option<PathBuf>,

    /// Imported tables of a system, a framework and a version: SYSTEM/FRAMEWORK/VERSION
    #[arg(long, value_name = "DIR", value_parser = path(), required_unless_present = "points")]
    database_path: Option<PathBuf>,

    /// Requests in flight; several make a table
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    batch: Vec<u64>,

    /// Tokens of a prompt
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    input: u64,

    /// Tokens of an answer
    #[arg(long, value_name = "TOKENS", default_value_t = 512)]
    output: u64,

    /// Devices that share each matrix; several make a table
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    tp: Vec<u64>,

    /// Groups of devices that hold different experts
    #[arg(long, value_name = "N", default_value_t = 1)]
    ep: u64,

    /// Groups of devices with requests of their own in attention
    #[arg(long, value_name = "N", default_value_t = 1)]
    dp: u64,

    /// Stages of layers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pp: u64,

    /// How the cache is stored: bfloat16 or fp8 [default: what the model says, or the framework does]
    #[arg(long, value_name = "TYPE", value_parser = Scheme::of_cache)]
    kv_cache: Option<Scheme>,

    /// Compare with measured times (CSV) or with another forecast (its CSV or JSON)
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with = "points")]
    against: Option<PathBuf>,

    /// Constants of frameworks of your own, as docs/guide/forecast.md describes them
    #[arg(long, value_name = "FILE", value_parser = path())]
    calibration: Option<PathBuf>,

    #[command(flatten)]
    files: ResultFiles,

    /// Write one row for each deployment as a Parquet table to FILE
    #[arg(long, value_name = "FILE")]
    parquet: Option<OsString>,

    /// Forecast each point of a list; where it has measured times, print the error and the coverage by model
    #[arg(long, value_name = "CSV", value_parser = path(), requires = "models", requires = "databases", conflicts_with = "model", help_heading = "Many points")]
    points: Option<PathBuf>,

    /// Folder with ORGANISATION--NAME_config.json files
    #[arg(long, value_name = "DIR", value_parser = path(), help_heading = "Many points")]
    models: Option<PathBuf>,

    /// Write one line of JSON for each point to FILE
    #[arg(long, value_name = "FILE", requires = "points", help_heading = "Many points")]
    jsonl: Option<OsString>,

    /// Folder with databases SYSTEM/FRAMEWORK/VERSION
    #[arg(long, value_name = "DIR", value_parser = path(), help_heading = "Many points")]
    databases: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  forecast --model Llama-3.1-70B --database-path gpus/h100_sxm/vllm/0.19.0 \\
      --tp 4 --batch 64 --input 1024 --output 512
  forecast --model config.json --database-path gpus/b200_sxm/trtllm/1.2.0rc5 \\
      --tp 1,2,4,8 --batch 1,8,32,128 -o sweep.html
  forecast --model Qwen3-32B --database-path gpus/h100_sxm/vllm/0.19.0 \\
      --tp 1,2,4 --batch 1,16,64 --against measured.csv
  forecast --points points.csv --models configs --databases gpus -o out.jsonl

How to read the intervals is explained in docs/guide/forecast.md.

Exit status: 0 done, 1 failed or no point of a list could be forecast, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let outputs =
        arguments.files.paths().chain([&arguments.parquet, &arguments.jsonl].into_iter().flatten().map(Path::new));
    let inputs = [&arguments.model, &arguments.layers, &arguments.against, &arguments.calibration, &arguments.points];
    refuse_inputs(outputs, inputs.into_iter().flatten().map(PathBuf::as_path))?;
    if let (Some(points), Some(models), Some(databases)) = (&arguments.points, &arguments.models, &arguments.databases)
    {
        let others = [&arguments.files.json, &arguments.files.csv, &arguments.files.html, &arguments.parquet]
            .map(Option::as_deref);
        refuse_forms("--points", others, &[".jsonl", ".md"])?;
        let calibration = Plan::calibration(arguments.calibration.as_deref())?;
        return many::execute(points, models, databases, calibration, arguments.jsonl.as_deref());
    }
    let plan = plan(&arguments)?;
    let files = Files {
        json: JsonFile::open(arguments.files.json.as_deref())?,
        csv: JsonFile::open(arguments.files.csv.as_deref())?,
        html: JsonFile::open(arguments.files.html.as_deref())?,
        parquet: TableFile::asked(TOOL.name, arguments.parquet.as_deref().map(Path::new))?,
        read: provenance(TOOL.name, [("model", plan.model.path()), ("database", plan.database.as_path())]),
    };
    files.parquet.iter().try_for_each(TableFile::check)?;
    let planned = plan.forecast()?;
    let served = Served::all(&planned);
    let refused = refused(&planned.found);
    print(&match (&served[..], &refused[..]) {
        ([one], []) => text(one),
        _ => sweep(&planned),
    })?;
    files.write(&served, &refused)?;
    if served.is_empty() { Err(Failure::lines(vec![NONE_FITS.to_owned()])) } else { Ok(Status::Success) }
}

/// A model that is not there; the name of one on the hub looks like a path.
fn refuse_missing(model: &Path) -> Result<(), Failure> {
    let Err(error) = std::fs::metadata(model) else { return Ok(()) };
    let is_name =
        model.is_relative() && model.components().count() == 2 && model.extension().is_none_or(|end| end != "json");
    let hint =
        if is_name { "; nothing is downloaded: save the config.json of the model and give its path" } else { "" };
    Err(Failure::lines(vec![format!("{}: {error}{hint}", shown(model))]))
}

fn plan(arguments: &Arguments) -> Result<Plan, Failure> {
    arguments.model.as_deref().map_or(Ok(()), refuse_missing)?;
    let of_config = arguments.model.clone().map(Described::Config);
    let described = of_config.or_else(|| arguments.layers.clone().map(Described::Layers));
    let (Some(model), Some(database)) = (described, arguments.database_path.clone()) else {
        return Err(Failure::usage("--model and --database-path are needed".to_owned()));
    };
    let (calibration, against) = (arguments.calibration.clone(), arguments.against.clone());
    Ok(Plan { model, database, calibration, against, sweep: sweep_of(arguments) })
}

fn sweep_of(arguments: &Arguments) -> Sweep {
    Sweep {
        tensor: arguments.tp.clone(),
        batch: arguments.batch.clone(),
        data: arguments.dp,
        expert: arguments.ep,
        pipeline: arguments.pp,
        input: arguments.input,
        output: arguments.output,
        cache: arguments.kv_cache,
    }
}

/// The files that are asked for.
struct Files {
    json: Option<JsonFile>,
    csv: Option<JsonFile>,
    html: Option<JsonFile>,
    parquet: Option<TableFile>,
    read: Provenance,
}

impl Files {
    fn write(self, served: &[Served<'_>], refused: &[(String, String)]) -> Result<(), Failure> {
        let mut written = Vec::new();
        if let Some(file) = self.json {
            written.push(file.stage(&Versioned::first(document(served, refused)))?);
        }
        if let Some(file) = self.csv {
            written.push(file.stage_text(&csv(served))?);
        }
        if let Some(file) = self.html {
            written.push(file.stage_text(&forecast_page(served, refused, self.read).to_html()?)?);
        }
        if let Some(file) = self.parquet {
            written.push(file.stage(forecasts(served))?);
        }
        Ok(commit(written)?)
    }
}
