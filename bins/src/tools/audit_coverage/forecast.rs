//! A workload that is forecast from a model's description.

use crate::{Failure, warn};
use clap::Args;
use clap::builder::PossibleValuesParser;
use perfdb_audit::coverage::{Question, Workload};
use perfdb_forecast::{Batch, Deployment, Error, Layout, Model, Phase, Quantization, forecast};
use perfdb_query::{Grid, ParallelConfig};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A model and the pass that is forecast.
#[derive(Args)]
#[command(next_help_heading = "Forecast without a simulator")]
pub(super) struct ForecastArguments {
    /// Ask for the operators of a forward pass of this model: its config.json, or the folder with it. Takes --tp-size, and
    /// --ep-size for its experts [default: as many ranks as --tp-size]
    #[arg(long, value_name = "PATH", requires_all = ["context", "phase"])]
    model: Option<OsString>,

    /// All tokens of new prompts, or one token more for each sequence
    #[arg(long, value_name = "PHASE", requires = "model", value_parser = PossibleValuesParser::new(Phase::ALL.map(Phase::name)))]
    phase: Option<String>,

    /// Sequences of the pass, over all ranks
    #[arg(long, value_name = "N", requires = "model", default_value_t = 1)]
    batch: i64,

    /// Tokens of each sequence: in a prefill those of the prompt, in a decode those that are there already
    #[arg(long, value_name = "N", requires = "model")]
    context: Option<i64>,

    /// How linear layers compute [default: what config.json says]
    #[arg(long, value_name = "NAME", requires = "model", value_parser = PossibleValuesParser::new(Quantization::ALL.map(Quantization::name)))]
    quantization: Option<String>,

    /// Operators as the simulator of this year lays them out
    #[arg(long, value_name = "YEAR", requires = "model", default_value = Layout::default().name(), value_parser = PossibleValuesParser::new(Layout::ALL.map(Layout::name)))]
    layout: String,
}

/// The one of these with this name; the parser of the command line has checked it.
fn named<T: Copy, const N: usize>(all: [T; N], name_of: fn(T) -> &'static str, name: Option<&String>) -> Option<T> {
    all.into_iter().find(|one| name.is_some_and(|name| name_of(*one) == name))
}

impl ForecastArguments {
    /// The description that is read.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let path = Path::new(self.model.as_ref()?);
        Some(if path.is_dir() { path.join("config.json") } else { path.to_owned() })
    }

    /// The forecast pass, if one is asked for.
    pub(super) fn workload(&self, parallel: &ParallelConfig, grid: Option<&Grid>) -> Result<Option<Workload>, Failure> {
        let (Some(path), Some(context)) = (&self.model, self.context) else { return Ok(None) };
        let Some(phase) = named(Phase::ALL, Phase::name, self.phase.as_ref()) else { return Ok(None) };
        let model = Model::read(path.as_ref())?;
        let tensor_parallel = parallel.tp_size.unwrap_or(1);
        let whole_experts = if model.experts.is_some() { tensor_parallel } else { 1 };
        let deployment = Deployment {
            tensor_parallel,
            expert_parallel: parallel.ep_size.unwrap_or(whole_experts),
            quantization: named(Quantization::ALL, Quantization::name, self.quantization.as_ref()),
            layout: named(Layout::ALL, Layout::name, Some(&self.layout)).unwrap_or_default(),
        };
        let batch = Batch { sequences: self.batch, context, phase };
        let calls = forecast(&model, &deployment, &batch).map_err(with_option)?;
        if batch.length() > model.longest_sequence {
            let (length, longest) = (batch.length(), model.longest_sequence);
            warn(&format!(
                "--context: sequences of {length} tokens, but the model takes {longest} (max_position_embeddings)"
            ));
        }
        let questions = calls.into_iter().zip(0..).map(|(call, place)| {
            let query = call.query.sequence_parallel(parallel.sequence_parallel).grid(grid.cloned());
            Question { place, ..Question::new(query.name().to_owned(), query).calls(call.count) }
        });
        let name = format!("{} {} {} x {context}", name_of(path.as_ref()), phase.name(), batch.sequences);
        Ok(Some(Workload { name, questions: questions.collect() }))
    }
}

/// The option that helps, where one does.
fn with_option(error: Error) -> Failure {
    match error {
        Error::Deployment { field: "quantize" | "quantization_config.quant_method", .. } => {
            Failure::lines(vec![format!("{error} (--quantization)")])
        }
        other => other.into(),
    }
}

/// The name of the folder with the description, or of the file where it has another name.
fn name_of(path: &Path) -> String {
    let is_plain = path.file_name().is_some_and(|name| name == "config.json");
    let named = if is_plain { path.parent().unwrap_or(path) } else { path };
    let name = named.canonicalize().unwrap_or_else(|_| named.to_owned());
    let name = if name.is_dir() { name.file_name() } else { name.file_stem() };
    name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
