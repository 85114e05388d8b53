//! Many serving points of one list, each forecast by itself.
//!
//! The list is a CSV with the columns `id`, `backend`, `backend_version`, `model_path`, `system`, `isl`, `osl`, `batch_size`, `tp_size`,
//! `pp_size`, `attention_dp_size`, `moe_tp_size`, `moe_ep_size`, `gemm_quant_mode` and `moe_quant_mode`; where it has
//! `silicon_tpot_ms` and `silicon_ttft_ms`, they are what was measured. Other columns say nothing here.

use super::{Architecture, Calibration, Forecast, Parallel, Request, Scheme, Tables, forecast};
use crate::Error;
use perfdb_store::table::Scan;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const COLUMNS: [&str; 17] = [
    "id",
    "backend",
    "backend_version",
    "model_path",
    "system",
    "isl",
    "osl",
    "batch_size",
    "tp_size",
    "pp_size",
    "attention_dp_size",
    "moe_tp_size",
    "moe_ep_size",
    "gemm_quant_mode",
    "moe_quant_mode",
    "silicon_tpot_ms",
    "silicon_ttft_ms",
];

/// A point of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub id: String,
    /// The folder of the system's tables.
    pub system: String,
    pub framework: String,
    /// Its version, where one is given.
    pub version: Option<String>,
    /// The model's name on the hub: `ORGANISATION/NAME`.
    pub model: String,
    /// What is served.
    pub request: Request,
    /// How weights are stored, where the list says so: products and experts.
    pub schemes: [Option<Scheme>; 2],
    /// What was measured, in milliseconds: time per output token, time to the first one.
    pub measured_ms: [Option<f64>; 2],
}

/// Reads a list.
///
/// # Errors
/// A file that cannot be read, a column that is missing, a size that is none.
pub fn read(path: &Path) -> Result<Vec<Point>, Error> {
    let mut scan = Scan::open(path, &COLUMNS)?;
    if let Some(missing) = (0..9).find(|at| !scan.has(*at)) {
        return Err(Error::Malformed { path: path.to_owned(), reason: format!("has no column {}", COLUMNS[missing]) });
    }
    let mut points = Vec::new();
    while let Some(row) = scan.next_row()? {
        let line = row.line;
        let size = |at: usize, otherwise: Option<u64>| -> Result<u64, Error> {
            let text = row.cell(at);
            let number: Option<f64> = text.trim().parse().ok();
            match (number.filter(|number| *number >= 1.0 && *number < 1e9), otherwise) {
                (Some(number), _) => Ok(number as u64),
                (None, Some(otherwise)) if text.trim().is_empty() || number == Some(0.0) => Ok(otherwise),
                _ => Err(Error::Malformed {
                    path: path.to_owned(),
                    reason: format!("line {line}: {}: '{text}' is no size", COLUMNS[at]),
                }),
            }
        };
        let text = |at: usize| row.cell(at).trim().to_owned();
        let tensor = size(8, None)?;
        let listed = Parallel {
            tensor,
            data: size(10, Some(1))?,
            pipeline: size(9, Some(1))?,
            expert_tensor: size(11, Some(1))?,
            expert: size(12, Some(1))?,
        };
        let (parallel, batch) = in_devices(listed, size(7, None)?);
        let milliseconds = |at: usize| Some(row.number(at)).filter(|number| number.is_finite() && *number > 0.0);
        points.push(Point {
            id: text(0),
            framework: text(1),
            version: Some(text(2)).filter(|version| !version.is_empty()),
            model: text(3),
            system: text(4),
            request: Request { parallel, batch, input: size(5, None)?, output: size(6, None)?, cache: None },
            schemes: [Scheme::of(&text(13)), Scheme::of(&text(14))],
            measured_ms: [milliseconds(15), milliseconds(16)],
        });
    }
    Ok(points)
}

/// Devices of a node; tensors are not split over more of them.
const NODE: u64 = 8;

/// Devices, and requests in flight on each group of them. Servers that were started with N devices for tensor and for expert parallelism
/// stand in lists as N × N devices, and their requests as divided among N × N groups.
pub(super) fn in_devices(listed: Parallel, batch: u64) -> (Parallel, u64) {
    let Parallel { tensor, data, expert_tensor, expert, .. } = listed;
    let devices = expert.saturating_mul(expert);
    let is_square = expert_tensor == expert && devices > NODE && tensor.saturating_mul(data) == devices;
    match (is_square, tensor > 1) {
        (false, _) => (listed, batch),
        (true, true) => (Parallel { tensor: expert, expert_tensor: 1, ..listed }, batch),
        (true, false) => (Parallel { data: expert, expert_tensor: 1, ..listed }, batch.saturating_mul(expert)),
    }
}

/// Versions of TensorRT-LLM below 1 are those of the image that contains it; these points are answered as this one.
const TRTLLM_OF_IMAGES: &str = "1.2.0rc6";
/// Versions of points that name none: those of the time at which such points were measured.
const UNNAMED: [(&str, &str); 3] = [("trtllm", TRTLLM_OF_IMAGES), ("vllm", "0.19.0"), ("sglang", "0.5.9")];

fn version(point: &Point) -> Option<String> {
    let named = point.version.clone().filter(|version| super::Version::parse(version).is_some());
    let named = named.filter(|version| point.framework != "trtllm" || !version.starts_with("0."));
    named
        .or_else(|| UNNAMED.iter().find(|(name, _)| *name == point.framework).map(|(_, version)| (*version).to_owned()))
}

/// Models and tables that points have in common.
#[derive(Debug)]
pub struct Sources {
    models: PathBuf,
    databases: PathBuf,
    calibration: Calibration,
    known: HashMap<String, Architecture>,
}

impl Sources {
    /// Models `ORG--NAME_config.json` or folders `ORG/NAME` below the one folder, databases `SYSTEM/FRAMEWORK/VERSION` below the other.
    pub fn new(models: &Path, databases: &Path, calibration: Calibration) -> Sources {
        Sources { models: models.to_owned(), databases: databases.to_owned(), calibration, known: HashMap::new() }
    }

    fn model(&mut self, name: &str) -> Result<Architecture, Error> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let found = self.description(name).ok_or_else(|| Error::Malformed {
            path: self.models.join(format!("{}_config.json", name.replace('/', "--"))),
            reason: format!("the models lack {name}"),
        })?;
        let model = Architecture::read(&found)?;
        self.known.insert(name.to_owned(), model.clone());
        Ok(model)
    }

    /// The description of a model: that of its name, else that of the model whose weights it stores in another way.
    fn description(&self, name: &str) -> Option<PathBuf> {
        let flat = format!("{}_config.json", name.replace('/', "--"));
        let exact = [flat.clone(), name.to_owned(), name.replace('/', "--")].map(|place| self.models.join(place));
        if let Some(found) = exact.into_iter().find(|place| place.exists()) {
            return Some(found);
        }
        let mut names: Vec<String> = std::fs::read_dir(&self.models)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|file| file.ends_with("_config.json") && !file.contains("hf_quant"))
            .collect();
        names.sort();
        names.into_iter().find(|file| bare(file) == bare(&flat)).map(|file| self.models.join(file))
    }

    /// The forecasts of points, in their order.
    pub fn forecast(&mut self, points: &[Point]) -> Vec<Result<Forecast, Error>> {
        let mut groups: BTreeMap<(&str, &str, Option<String>), Vec<usize>> = BTreeMap::new();
        for (at, point) in points.iter().enumerate() {
            groups.entry((&point.system, &point.framework, version(point))).or_default().push(at);
        }
        let mut answers: Vec<Option<Result<Forecast, Error>>> = points.iter().map(|_| None).collect();
        for ((system, framework, version), members) in groups {
            let tables = Tables::of(&self.databases, system, framework, version.as_deref());
            match tables {
                Ok(mut tables) => {
                    for at in members {
                        answers[at] = Some(self.one(&points[at], &mut tables));
                    }
                }
                Err(error) => {
                    let reason = error.to_string();
                    for at in members {
                        answers[at] =
                            Some(Err(Error::Malformed { path: self.databases.clone(), reason: reason.clone() }));
                    }
                }
            }
        }
        answers.into_iter().flatten().collect()
    }

    fn one(&mut self, point: &Point, tables: &mut Tables) -> Result<Forecast, Error> {
        let mut model = self.model(&point.model)?;
        let [dense, experts] = point.schemes;
        let is_block = model.storage.dense == Scheme::Fp8Block || experts == Some(Scheme::Fp8Block);
        let exact = |scheme: Scheme| if is_block && scheme == Scheme::Fp8 { Scheme::Fp8Block } else { scheme };
        // What a description stores in experts alone stays so.
        if model.storage.experts != Scheme::Mxfp4 {
            if let Some(scheme) = dense.map(exact) {
                model.storage.attention = scheme;
                model.storage.dense = scheme;
                model.storage.experts = scheme;
            }
            if let Some(scheme) = experts.map(exact) {
                model.storage.experts = scheme;
            }
        }
        forecast(&model, &point.request, tables, &self.calibration)
    }
}

/// The name of a model without its organisation, its maker's prefix, and how weights are stored or tuned.
pub(super) fn bare(file: &str) -> String {
    let name = file.trim_end_matches("_config.json").rsplit("--").next().unwrap_or_default().to_ascii_lowercase();
    let drop = ["meta", "instruct", "fp8", "nvfp4", "fp4", "bf16", "hf", "chat"];
    name.split('-').filter(|word| !drop.contains(word)).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_model() {
        assert_eq!(bare("meta-llama--Meta-Llama-3.1-70B_config.json"), bare("meta-llama--Llama-3.1-70B_config.json"));
        assert_eq!(bare("nvidia--Qwen3-32B-NVFP4_config.json"), bare("Qwen--Qwen3-32B_config.json"));
        assert_ne!(bare("Qwen--Qwen3-8B_config.json"), bare("Qwen--Qwen3-32B_config.json"));
    }

    #[test]
    fn devices_that_lists_square() {
        let listed = |tensor, data, each| Parallel { tensor, data, pipeline: 1, expert_tensor: each, expert: each };
        let (found, batch) = in_devices(listed(1, 64, 8), 2);
        assert_eq!((found.tensor, found.data, found.expert_tensor, found.expert, batch), (1, 8, 1, 8, 16));
        let (found, batch) = in_devices(listed(16, 1, 4), 32);
        assert_eq!((found.tensor, found.data, found.expert_tensor, found.expert, batch), (4, 1, 1, 4, 32));
        // Four devices of one node are as they are listed.
        assert_eq!(in_devices(listed(4, 1, 2), 8), (listed(4, 1, 2), 8));
    }
}
