//! Models: the sizes that decide which shapes their kernels see.
//!
//! ```
//! use perfdb_grid::Semantics;
//! use perfdb_grid::models::Models;
//!
//! let models = Models::named(&["dsv3", "Qwen/Qwen3-32B"], Semantics::Upstream).unwrap();
//! assert_eq!(models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["DeepSeek-V3", "Qwen3-32B"]);
//! assert_eq!(models.weight_pairs(Semantics::Upstream).len(), 41);
//! ```

mod config_json;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use perfdb_pycompat::yaml;
use perfdb_store::near_name::nearest;
use serde::Deserialize;

use crate::Semantics;
use crate::error::Error;

const PRESETS: &str = include_str!("models/presets.yaml");

/// The sizes of one model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name for people.
    pub name: String,
    /// Its id on the model hub; `None` for a description from a file.
    #[serde(default)]
    hub_id: Option<String>,
    /// What else it may be called, besides spellings that differ in case and `-` `_` `.` `/`.
    names: Vec<String>,
    /// What names of scenes begin with under [`Semantics::Newest`].
    key: String,
    /// Whether it counts when no models are named.
    #[serde(default)]
    default: bool,
    pub hidden_size: i128,
    /// Intermediate size of the dense feed-forward layers, 0 without any.
    pub intermediate_size: i128,
    /// Attention heads.
    pub heads: i128,
    /// Key and value heads.
    pub kv_heads: i128,
    /// Size of a head.
    pub head_dim: i128,
    /// Rank of the query's latent projection, 0 without.
    #[serde(default)]
    pub q_lora_rank: i128,
    /// Rank of the latent projection of keys and values, 0 without.
    #[serde(default)]
    pub kv_lora_rank: i128,
    /// Part of a query head without position.
    #[serde(default)]
    pub qk_nope_head_dim: i128,
    /// Part of a query head with rotary position.
    pub qk_rope_head_dim: i128,
    /// Routed experts, 0 for a dense model.
    #[serde(default)]
    pub experts: i128,
    /// Experts on one card before expert parallelism.
    #[serde(default)]
    pub experts_per_card: i128,
    /// Intermediate size of an expert.
    #[serde(default)]
    pub expert_intermediate_size: i128,
    /// Experts that a token goes through (top-k).
    #[serde(default)]
    pub experts_per_token: i128,
    /// Tensor-parallel sizes to consider.
    pub tensor_parallel_sizes: Vec<i128>,
    /// Expert-parallel sizes to consider.
    pub expert_parallel_sizes: Vec<i128>,
}

impl Model {
    /// What names of scenes begin with.
    pub(crate) fn scene_key(&self, semantics: Semantics) -> String {
        match semantics {
            Semantics::Newest => self.key.clone(),
            Semantics::Upstream | Semantics::Corrected => self.name.to_lowercase().replace(['-', '_'], ""),
        }
    }

    /// Whether keys and values go through a latent projection (MLA).
    #[must_use]
    pub(crate) fn has_latent_attention(&self) -> bool {
        self.q_lora_rank > 0 || self.kv_lora_rank > 0
    }

    /// Heads and key/value heads of one rank for each tensor-parallel size that splits the heads evenly.
    ///
    /// With more ranks than key/value heads every rank has one of them, if they divide evenly.
    pub(crate) fn split_heads(&self) -> impl Iterator<Item = (i128, i128)> {
        self.tensor_parallel_sizes.iter().filter(|&&size| self.heads % size == 0).filter_map(|&size| {
            let kv_heads = if self.kv_heads >= size {
                self.kv_heads / size
            } else if self.kv_heads > 0 && size % self.kv_heads == 0 {
                1
            } else {
                return None;
            };
            Some((self.heads / size, kv_heads))
        })
    }

    /// Tensor-parallel size, heads and key/value heads of one rank under [`Semantics::Newest`]: each pair of heads once, and only sizes that
    /// divide the key/value heads, or are divided by them.
    pub(crate) fn divided_heads(&self) -> Vec<(i128, i128, i128)> {
        let mut variants: Vec<(i128, i128, i128)> = Vec::new();
        for &size in &self.tensor_parallel_sizes {
            let kv_heads = match self.kv_heads {
                count if count >= size && count % size == 0 => count / size,
                count if 0 < count && count < size && size % count == 0 => 1,
                _ => continue,
            };
            let heads = self.heads / size;
            if self.heads % size == 0 && !variants.iter().any(|&(_, a, b)| (a, b) == (heads, kv_heads)) {
                variants.push((size, heads, kv_heads));
            }
        }
        variants
    }

    /// The (N, K) sizes of the model's weights under every tensor-parallel size.
    fn push_weight_pairs(&self, semantics: Semantics, pairs: &mut BTreeSet<(i128, i128)>) {
        let hidden = self.hidden_size;
        for &ranks in &self.tensor_parallel_sizes {
            let per_rank = |size: i128| (size / ranks).max(1);
            let heads = per_rank(self.heads * self.head_dim);
            if self.has_latent_attention() {
                pairs.insert((self.q_lora_rank, hidden));
                pairs.insert((heads, self.q_lora_rank));
                pairs.insert((self.kv_lora_rank + self.qk_rope_head_dim, hidden));
                pairs.insert((heads, self.kv_lora_rank));
                if semantics.is_corrected() {
                    pairs.insert((hidden, heads));
                }
            } else {
                let projected = if semantics.is_corrected() { heads } else { per_rank(hidden) };
                pairs.extend([(projected, hidden), (hidden, projected)]);
            }
            if self.intermediate_size > 0 {
                let intermediate = per_rank(self.intermediate_size);
                pairs.extend([(intermediate, hidden), (hidden, intermediate)]);
            }
        }
    }
}

/// The models of a run, each once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Models(Vec<Model>);

/// What makes two names mean the same model.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    BuiltIn(String),
    File(PathBuf),
}

impl Models {
    /// The models that count when none are named; under [`Semantics::Newest`] all that are built in.
    #[must_use]
    pub(crate) fn default_list(semantics: Semantics) -> Self {
        Self(presets().into_iter().filter(|model| model.default || semantics == Semantics::Newest).collect())
    }

    /// The models with these names: built-in ones, or paths of a `config.json` or of the folder with one.
    /// Under [`Semantics::Newest`] a built-in model has its hub id alone.
    ///
    /// # Errors
    ///
    /// A name that is neither, a short name under [`Semantics::Newest`], and a file that cannot be used as a description.
    pub fn named(names: &[impl AsRef<OsStr>], semantics: Semantics) -> Result<Self, Error> {
        let presets = presets();
        let mut models = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            let (identity, model) = resolve(name.as_ref(), &presets, semantics)?;
            if seen.insert(identity) {
                models.push(model);
            }
        }
        Ok(Self(models))
    }

    /// The models in order.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.0.iter()
    }

    /// The distinct (N, K) weight sizes of all models, in ascending order, N first.
    #[must_use]
    pub fn weight_pairs(&self, semantics: Semantics) -> Vec<(i128, i128)> {
        let mut pairs = BTreeSet::new();
        for model in &self.0 {
            model.push_weight_pairs(semantics, &mut pairs);
        }
        pairs.into_iter().collect()
    }
}

fn presets() -> Vec<Model> {
    match yaml::from_str(PRESETS) {
        Ok(models) => models,
        // A test reads the same text.
        Err(error) => unreachable!("the built-in models are valid: {error}"),
    }
}

fn resolve(given: &OsStr, presets: &[Model], semantics: Semantics) -> Result<(Identity, Model), Error> {
    // A name that is not text can be a path all the same.
    let name = &*given.to_string_lossy();
    let wanted = normalised(name);
    let is_hub_id = |model: &Model| model.hub_id.as_deref().is_some_and(|id| normalised(id) == wanted);
    let is_short_name = |model: &Model| model.names.iter().any(|known| normalised(known) == wanted);
    if let Some(model) = presets.iter().find(|model| is_hub_id(model) || is_short_name(model)) {
        return match &model.hub_id {
            Some(hub_id) if semantics == Semantics::Newest && !is_hub_id(model) => {
                Err(Error::ShortModelName { name: name.to_owned(), hub_id: hub_id.clone() })
            }
            _ => Ok((Identity::BuiltIn(model.name.clone()), model.clone())),
        };
    }
    let path = Path::new(given);
    let file = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    let is_description = file.extension().is_some_and(|extension| extension == "json") && file.is_file();
    if !is_description {
        return Err(unknown(name, presets, semantics));
    }
    let identity = std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
    Ok((Identity::File(identity), config_json::read(&file, name)?))
}

/// Lower case without `-` `_` `.` `/` and whitespace.
fn normalised(name: &str) -> String {
    let ignored = |character: char| matches!(character, '-' | '_' | '.' | '/') || character.is_whitespace();
    name.chars().filter(|character| !ignored(*character)).flat_map(char::to_lowercase).collect()
}

fn unknown(name: &str, presets: &[Model], semantics: Semantics) -> Error {
    let mut known: Vec<&str> = Vec::new();
    for model in presets {
        let short_names = model.names.iter().filter(|_| semantics != Semantics::Newest);
        known.extend(short_names.chain(&model.hub_id).map(String::as_str));
    }
    let suggestion = nearest(name, known.iter().copied(), normalised).map(str::to_owned);
    Error::UnknownModel { name: name.to_owned(), known: known.join(", "), suggestion }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Result<Models, Error> {
        Models::named(names, Semantics::Upstream)
    }

    fn display_names(models: &Models) -> Vec<&str> {
        models.iter().map(|model| model.name.as_str()).collect()
    }

    #[test]
    fn spellings_mean_one_model() {
        let models =
            named(&["Qwen3_32B", "zai-org/GLM-5.1", "GLM51", "qwen 3 32 b", "meta-llama/Meta-Llama-3-70B"]).unwrap();
        assert_eq!(display_names(&models), ["Qwen3-32B", "GLM-5.1", "LLaMA-70B"]);
        assert_eq!(
            display_names(&Models::default_list(Semantics::Upstream)),
            ["DeepSeek-V3", "Qwen3-32B", "LLaMA-70B", "GLM-5.1"]
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones_and_suggests_the_nearest() {
        let message = named(&["deepseek-v4"]).unwrap_err().to_string();
        assert!(message.starts_with("unknown model 'deepseek-v4' (known: dsv3, deepseek-v3, "), "{message}");
        assert!(message.ends_with("or a path to a config.json); did you mean 'deepseek-v3'?"), "{message}");
        assert!(!named(&["zzz"]).unwrap_err().to_string().contains("did you mean"));
    }

    #[test]
    fn the_newest_rules_know_hub_ids_alone() {
        let newest = |name: &str| Models::named(&[name], Semantics::Newest);
        for id in ["deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-32B", "meta-llama/Meta-Llama-3-70B", "zai-org/GLM-5.2"] {
            assert_eq!(newest(id).unwrap().iter().count(), 1, "{id}");
        }
        let message = newest("DSV3").unwrap_err().to_string();
        assert_eq!(message, "'DSV3' is a short name; use the hub id 'deepseek-ai/DeepSeek-V3'");
        let message = newest("Qwen/Qwen3-33B").unwrap_err().to_string();
        assert!(
            message.starts_with("unknown model 'Qwen/Qwen3-33B' (known: deepseek-ai/DeepSeek-V3, Qwen/Qwen3-32B, ")
        );
        assert_eq!(Models::default_list(Semantics::Newest).iter().count(), 5);
    }

    #[test]
    fn corrected_pairs_follow_the_heads() {
        let qwen = named(&["qwen3-32b"]).unwrap().weight_pairs(Semantics::Corrected);
        assert!(qwen.contains(&(8192, 5120)) && qwen.contains(&(5120, 8192)) && qwen.contains(&(5120, 512)));
        assert!(!qwen.contains(&(5120, 5120)));
        let deepseek = named(&["dsv3"]).unwrap();
        let added: Vec<_> = {
            let upstream = deepseek.weight_pairs(Semantics::Upstream);
            deepseek.weight_pairs(Semantics::Corrected).into_iter().filter(|pair| !upstream.contains(pair)).collect()
        };
        assert_eq!(added, [(7168, 1024), (7168, 2048), (7168, 4096), (7168, 8192), (7168, 16384)]);
    }

    #[test]
    fn heads_split_over_ranks() {
        let models = named(&["qwen3-32b", "glm5.1"]).unwrap();
        let split: Vec<Vec<_>> = models.iter().map(|model| model.split_heads().collect()).collect();
        assert_eq!(split[0], [(64, 8), (32, 4), (16, 2), (8, 1), (4, 1)]);
        assert_eq!(split[1], [(64, 64), (32, 32), (16, 16), (8, 8), (4, 4)]);
    }
}
