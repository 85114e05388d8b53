//! A model's `config.json` as it is published with its weights, and what distinguishes one family of models from another.

use crate::Error;
use perfdb_files::escape::excerpt;
use perfdb_trace::source::Source;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Larger sizes are mistakes.
pub(crate) const LARGEST: u64 = 1 << 24;

/// How a family attends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttentionForm {
    Grouped,
    Latent,
}

/// What distinguishes a family beyond what its descriptions say.
pub(crate) struct ModelFamily {
    /// `model_type`, also of the text part of models that see.
    pub(crate) name: &'static str,
    pub(crate) attention: AttentionForm,
    pub(crate) normalises: bool,
    pub(crate) has_bias: bool,
    pub(crate) ties_embeddings: bool,
    /// Whether the operators that the simulator calls for it are known: those of `audit-coverage --model`.
    pub(crate) is_simulated: bool,
}

const fn grouped(name: &'static str, normalises: bool, has_bias: bool) -> ModelFamily {
    let attention = AttentionForm::Grouped;
    ModelFamily { name, attention, normalises, has_bias, ties_embeddings: false, is_simulated: false }
}

const fn latent(name: &'static str) -> ModelFamily {
    ModelFamily { attention: AttentionForm::Latent, ..grouped(name, false, false) }
}

const fn simulated(family: ModelFamily) -> ModelFamily {
    ModelFamily { is_simulated: true, ..family }
}

const fn tied(family: ModelFamily) -> ModelFamily {
    ModelFamily { ties_embeddings: true, ..family }
}

const FAMILIES: [ModelFamily; 29] = [
    simulated(grouped("llama", false, false)),
    simulated(grouped("mistral", false, false)),
    grouped("mixtral", false, false),
    simulated(grouped("qwen2", false, true)),
    grouped("qwen2_moe", false, true),
    grouped("mimo", false, true),
    simulated(grouped("qwen3", true, false)),
    simulated(grouped("qwen3_moe", true, false)),
    grouped("qwen3_vl_text", true, false),
    grouped("qwen3_vl_moe_text", true, false),
    grouped("qwen3_next", true, false),
    grouped("qwen3_5", true, false),
    grouped("qwen3_5_text", true, false),
    grouped("qwen3_5_moe", true, false),
    grouped("qwen3_5_moe_text", true, false),
    grouped("gpt_oss", false, true),
    grouped("minimax_m2", true, false),
    grouped("glm4", false, true),
    grouped("glm4_moe", true, true),
    grouped("llama4", false, false),
    grouped("llama4_text", false, false),
    tied(grouped("gemma3_text", true, false)),
    tied(grouped("gemma3", true, false)),
    latent("deepseek_v2"),
    simulated(latent("deepseek_v3")),
    latent("deepseek_v32"),
    simulated(latent("kimi_k2")),
    latent("glm_moe_dsa"),
    latent("kimi_k25"),
];

/// A field, and what is wrong with it.
pub(crate) struct Fault {
    pub(crate) field: String,
    pub(crate) reason: String,
}

impl Fault {
    pub(crate) fn in_file(self, path: &Path) -> Error {
        Error::Field { path: path.to_owned(), field: self.field, reason: self.reason }
    }
}

pub(crate) type Field<T> = Result<T, Fault>;

pub(crate) fn fault<T>(field: &str, reason: impl Into<String>) -> Field<T> {
    Err(Fault { field: field.to_owned(), reason: reason.into() })
}

/// The fields of a description.
pub(crate) struct Description {
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) whole: Value,
    /// The quantisation file beside it.
    pub(crate) beside: Option<Value>,
}

impl Description {
    /// Reads a `config.json`, or the folder with one, and the quantisation file beside it.
    pub(crate) fn open(path: &Path) -> Result<Description, Error> {
        let path = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
        let whole = json(&path)?;
        let beside = quantization_file(&path).filter(|beside| beside.is_file());
        let beside = beside.map(|beside| json(&beside)).transpose()?;
        Ok(Description { path, whole, beside })
    }

    /// The part about the language model, of models that see as well.
    fn text(&self) -> &Value {
        self.whole.get("text_config").filter(|text| text.is_object()).unwrap_or(&self.whole)
    }

    /// What has the `quantization_config`: the language model, or the whole.
    pub(crate) fn quantized(&self) -> &Value {
        let text = self.text();
        if text.get("quantization_config").is_some() { text } else { &self.whole }
    }

    pub(crate) fn family(&self, is_of_interest: impl Fn(&ModelFamily) -> bool) -> Field<&'static ModelFamily> {
        let of_whole = || self.whole.get("model_type").and_then(Value::as_str);
        let Some(name) = self.name("model_type")?.or_else(of_whole) else {
            return fault("model_type", "is missing");
        };
        let known = || FAMILIES.iter().filter(|family| is_of_interest(family));
        match known().find(|family| family.name == name) {
            Some(family) => Ok(family),
            None => {
                let known: Vec<&str> = known().map(|family| family.name).collect();
                let known = known.join(", ");
                fault("model_type", format!("the architecture {} is not known (known: {known})", excerpt(name)))
            }
        }
    }

    /// The field, if it is there and not null.
    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.text().get(field).filter(|value| !value.is_null())
    }

    /// A size; `least` is 0 or 1.
    fn size_from(&self, field: &str, least: u64) -> Field<Option<u64>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match value.as_u64() {
            Some(size) if (least..=LARGEST).contains(&size) => Ok(Some(size)),
            _ => fault(
                field,
                format!("must be an integer from {least} to {LARGEST}, not {}", excerpt(&value.to_string())),
            ),
        }
    }

    /// A size, or 0.
    pub(crate) fn size(&self, field: &str) -> Field<Option<u64>> {
        self.size_from(field, 0)
    }

    /// The first of these fields that is there and not 0.
    pub(crate) fn first(&self, fields: &[&str]) -> Field<Option<u64>> {
        for field in fields {
            if let Some(size) = self.size(field)?.filter(|size| *size > 0) {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    pub(crate) fn required(&self, field: &str) -> Field<u64> {
        self.size_from(field, 1)?.map_or_else(|| fault(field, "is missing"), Ok)
    }

    pub(crate) fn flag(&self, field: &str) -> Field<Option<bool>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => fault(field, format!("must be true or false, not {}", excerpt(&other.to_string()))),
        }
    }

    /// A text.
    pub(crate) fn name(&self, field: &str) -> Field<Option<&str>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => fault(field, format!("must be a text, not {}", excerpt(&other.to_string()))),
        }
    }

    pub(crate) fn list(&self, field: &str) -> Option<&Vec<Value>> {
        self.get(field).and_then(Value::as_array)
    }

    /// A field that has this value, or is not there.
    pub(crate) fn only<T: Into<Value>>(&self, field: &str, value: T) -> Field<()> {
        let only = value.into();
        match self.get(field) {
            Some(other) if *other != only => {
                fault(field, format!("only {only} can be forecast, not {}", excerpt(&other.to_string())))
            }
            _ => Ok(()),
        }
    }
}

/// `hf_quant_config.json` beside `config.json`, and `NAME_hf_quant_config.json` beside `NAME_config.json`.
fn quantization_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(path.with_file_name(format!("{}hf_quant_config.json", name.strip_suffix("config.json")?)))
}

/// A description in Python's JSON; `Infinity` and `NaN` become null, as no size that is looked at is one of them.
fn json(path: &Path) -> Result<Value, Error> {
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    let bytes = Source::open(path)?.read_all()?;
    let read = perfdb_trace::json::parse(&bytes).map_err(|error| malformed(format!("no JSON: {error}")))?;
    let value = serde_json::to_value(&read).map_err(|error| malformed(format!("no JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(malformed("a model description must be a JSON object".to_owned())) }
}
