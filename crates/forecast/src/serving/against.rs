//! Times of deployments from elsewhere, beside which forecasts are put: measured ones, or those of another forecast.

use super::points::{bare, in_devices};
use super::{Architecture, Estimate, Parallel, Request, Scheme, Tables};
use crate::Error;
use perfdb_store::table::{Scan, ScannedRow};
use perfdb_trace::source::Source;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Times of deployments, read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The file's name.
    pub name: String,
    times: Vec<Times>,
}

/// The times of one deployment.
#[derive(Debug, Clone, PartialEq)]
struct Times {
    parallel: Parallel,
    batch: u64,
    input: u64,
    output: u64,
    tpot: Option<Estimate>,
    ttft: Option<Estimate>,
}

/// What the file has about a deployment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Time per output token; without an interval both of its ends are the time.
    pub tpot: Option<Estimate>,
    /// Time to the first token.
    pub ttft: Option<Estimate>,
    /// Rows with this deployment; of several the one in the middle counts.
    pub rows: usize,
}

impl Reference {
    /// Whether the times have no intervals: they were measured.
    pub fn is_measured(&self) -> bool {
        [self.tpot, self.ttft].iter().flatten().all(|estimate| estimate.low_ms == estimate.high_ms)
    }
}

/// Names of a column: of lists of points, and of the forecast's own CSV.
const COLUMNS: [&[&str]; 17] = [
    &["batch_size", "batch"],
    &["isl", "input_tokens"],
    &["osl", "output_tokens"],
    &["tp_size", "tp"],
    &["pp_size", "pp"],
    &["attention_dp_size", "dp"],
    &["moe_ep_size", "ep"],
    &["silicon_tpot_ms", "tpot_ms"],
    &["silicon_ttft_ms", "ttft_ms"],
    &["tpot_low_ms"],
    &["tpot_high_ms"],
    &["ttft_low_ms"],
    &["ttft_high_ms"],
    &["system"],
    &["backend"],
    &["gemm_quant_mode"],
    &["moe_tp_size"],
];
/// Sizes without which no deployment is known.
const REQUIRED: std::ops::Range<usize> = 0..4;

impl Against {
    /// Reads a CSV of measured points or a forecast's own CSV or JSON; of a list of points those of this model, system and framework.
    ///
    /// # Errors
    /// A file that cannot be read, or has no times of deployments.
    pub fn read(path: &Path, model: &Architecture, description: &Path, tables: &Tables) -> Result<Against, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let times = if is_json { of_json(path)? } else { of_csv(path, model, &model_name(description), tables)? };
        if times.is_empty() {
            let reason = format!("has no times of this model on {} with {}", tables.system, tables.framework);
            return Err(Error::Malformed { path: path.to_owned(), reason });
        }
        Ok(Against { name, times })
    }

    /// What the file has about a deployment.
    pub fn of(&self, request: &Request) -> Option<Reference> {
        let found: Vec<&Times> = self.times.iter().filter(|times| times.is_of(request)).collect();
        let middle = |of: fn(&Times) -> Option<Estimate>| {
            let mut all: Vec<Estimate> = found.iter().filter_map(|times| of(times)).collect();
            all.sort_by(|a, b| a.value_ms.total_cmp(&b.value_ms));
            all.get(all.len() / 2).copied()
        };
        let reference =
            Reference { tpot: middle(|times| times.tpot), ttft: middle(|times| times.ttft), rows: found.len() };
        (reference.rows > 0).then_some(reference)
    }
}

impl Times {
    fn is_of(&self, request: &Request) -> bool {
        let Parallel { tensor, data, pipeline, expert, .. } = request.parallel;
        (self.batch, self.input, self.output) == (request.batch, request.input, request.output)
            && (self.parallel.tensor, self.parallel.data, self.parallel.pipeline) == (tensor, data, pipeline)
            && self.parallel.expert == expert
    }
}

/// The name of a model by its description: that of the folder, or of the file where it has a name of its own.
fn model_name(description: &Path) -> String {
    let absolute = perfdb_files::paths::absolute(description);
    let is_plain = absolute.file_name().is_some_and(|name| name == "config.json");
    let named = if is_plain { absolute.parent().map_or_else(PathBuf::new, Path::to_owned) } else { absolute };
    named.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn of_csv(path: &Path, model: &Architecture, name: &str, tables: &Tables) -> Result<Vec<Times>, Error> {
    const MODEL: &str = "model_path";
    let wanted: Vec<&str> = COLUMNS.iter().copied().flatten().copied().chain([MODEL]).collect();
    let mut scan = Scan::open(path, &wanted)?;
    let place = |name: &str| wanted.iter().position(|known| *known == name);
    let columns = COLUMNS.map(|names| names.iter().filter_map(|name| place(name)).find(|at| scan.has(*at)));
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    if let Some(missing) = REQUIRED.clone().find(|at| columns[*at].is_none()) {
        return Err(malformed(format!("has no column {}", COLUMNS[missing].join(" or "))));
    }
    if columns[7].or(columns[8]).is_none() {
        return Err(malformed("has no column of times: tpot_ms or ttft_ms".to_owned()));
    }
    let model_at = place(MODEL).filter(|at| scan.has(*at));
    let mut found = Vec::new();
    while let Some(row) = scan.next_row()? {
        let differs = |column: usize, own: &str| {
            columns[column].is_some_and(|at| !row.cell(at).trim().is_empty() && row.cell(at).trim() != own)
        };
        let is_other_model = model_at.is_some_and(|at| {
            let listed = row.cell(at).trim().replace('/', "--");
            !listed.is_empty() && bare(&listed) != bare(name)
        });
        let is_other_scheme = columns[15]
            .and_then(|at| Scheme::of(row.cell(at).trim()))
            .is_some_and(|scheme| scheme.bytes() != model.storage.dense.bytes());
        if is_other_model || is_other_scheme || differs(13, &tables.system) || differs(14, &tables.framework) {
            continue;
        }
        let number = |column: usize| {
            columns[column].map(|at| row.number(at)).filter(|number| number.is_finite() && *number > 0.0)
        };
        let size = |column: usize| -> Result<u64, Error> {
            match number(column) {
                Some(size) if (1.0..1e9).contains(&size) => Ok(size as u64),
                None if !REQUIRED.contains(&column) => Ok(1),
                _ => Err(malformed(no_size(&row, COLUMNS[column], columns[column]))),
            }
        };
        let estimate = |value: usize, low: usize, high: usize| {
            let value_ms = number(value)?;
            Some(Estimate {
                value_ms,
                low_ms: number(low).unwrap_or(value_ms),
                high_ms: number(high).unwrap_or(value_ms),
            })
        };
        let listed = Parallel {
            tensor: size(3)?,
            data: size(5)?,
            pipeline: size(4)?,
            expert_tensor: size(16)?,
            expert: size(6)?,
        };
        let (parallel, batch) = in_devices(listed, size(0)?);
        found.push(Times {
            parallel,
            batch,
            input: size(1)?,
            output: size(2)?,
            tpot: estimate(7, 9, 10),
            ttft: estimate(8, 11, 12),
        });
    }
    found.retain(|times| times.tpot.or(times.ttft).is_some());
    Ok(found)
}

fn no_size(row: &ScannedRow<'_>, names: &[&str], at: Option<usize>) -> String {
    let cell = at.map(|at| row.cell(at).trim().to_owned()).unwrap_or_default();
    format!("line {}: {}: '{cell}' is not a size", row.line, names[0])
}

/// The JSON of a forecast.
#[derive(Deserialize)]
struct Document {
    forecasts: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    parallel: WrittenParallel,
    batch: u64,
    input_tokens: u64,
    output_tokens: u64,
    tpot: WrittenEstimate,
    ttft: WrittenEstimate,
}

#[derive(Deserialize)]
struct WrittenParallel {
    tensor: u64,
    data: u64,
    pipeline: u64,
    expert_tensor: u64,
    expert: u64,
}

#[derive(Deserialize)]
struct WrittenEstimate {
    value_ms: f64,
    low_ms: f64,
    high_ms: f64,
}

impl From<WrittenEstimate> for Estimate {
    fn from(written: WrittenEstimate) -> Estimate {
        let WrittenEstimate { value_ms, low_ms, high_ms } = written;
        Estimate { value_ms, low_ms, high_ms }
    }
}

fn of_json(path: &Path) -> Result<Vec<Times>, Error> {
    let bytes = Source::open(path)?.read_all()?;
    let document: Document = serde_json::from_slice(&bytes).map_err(|error| Error::Malformed {
        path: path.to_owned(),
        reason: format!("is not the JSON of a forecast: {error}"),
    })?;
    let times = |written: Written| {
        let WrittenParallel { tensor, data, pipeline, expert_tensor, expert } = written.parallel;
        Times {
            parallel: Parallel { tensor, data, pipeline, expert_tensor, expert },
            batch: written.batch,
            input: written.input_tokens,
            output: written.output_tokens,
            tpot: Some(written.tpot.into()),
            ttft: Some(written.ttft.into()),
        }
    };
    Ok(document.forecasts.into_iter().map(times).collect())
}
