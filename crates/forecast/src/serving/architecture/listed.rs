//! Models that are described by a list of layers, and operators that no kind of layer has.

use super::{Architecture, FeedForward, Layers, MOST_PARAMETERS, Mixer};
use crate::Error;
use crate::serving::precision::{Scheme, Storage};
use perfdb_pycompat::yaml;
use perfdb_trace::source::Source;
use serde::Deserialize;
use std::path::Path;

/// Larger sizes are mistakes.
const LARGEST: u64 = 1 << 32;

/// An operator that a list of layers names: a product of matrices, or what moves bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// Columns of the result of a product, 0 without one.
    #[serde(default)]
    pub columns: u64,
    /// What the product sums over, 0 without one.
    #[serde(default)]
    pub inner: u64,
    /// What devices share of it.
    #[serde(default)]
    pub split: Split,
    /// Bytes that a token moves from and to memory, beside the product.
    #[serde(default)]
    pub bytes_per_token: f64,
    /// Bytes that are kept of each sequence; every step reads and writes them.
    #[serde(default)]
    pub state_bytes: f64,
    /// Operations of a token, beside the product.
    #[serde(default)]
    pub operations_per_token: f64,
}

/// What devices share of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Each device does all of it.
    #[default]
    None,
    /// Each device has a part of the columns of the product, and of what is moved.
    Columns,
    /// Each device has a part of what the product sums over, and of what is moved.
    Inner,
}

impl Listed {
    pub(crate) fn has_product(&self) -> bool {
        self.columns > 0
    }

    pub(super) fn parameters(&self) -> u128 {
        u128::from(self.columns) * u128::from(self.inner)
    }

    fn parts(&self, tensor: u64) -> u64 {
        if self.split == Split::None { 1 } else { tensor }
    }

    pub(super) fn weight_bytes(&self, storage: Storage, tensor: u64) -> f64 {
        self.parameters() as f64 * storage.dense.bytes() / self.parts(tensor) as f64
    }

    pub(super) fn state_bytes(&self, tensor: u64) -> f64 {
        self.state_bytes / self.parts(tensor) as f64
    }

    pub(super) fn operations_of_token(&self) -> f64 {
        2.0 * self.parameters() as f64 + self.operations_per_token
    }

    /// Columns and inner size on a device.
    pub(crate) fn share(&self, tensor: u64) -> [u64; 2] {
        match self.split {
            Split::None => [self.columns, self.inner],
            Split::Columns => [self.columns.div_ceil(tensor), self.inner],
            Split::Inner => [self.columns, self.inner.div_ceil(tensor)],
        }
    }

    /// Bytes and operations beside the product, on a device.
    pub(crate) fn moved(&self, tokens: u64, sequences: u64, tensor: u64) -> [f64; 2] {
        let bytes = self.bytes_per_token * tokens as f64 + 2.0 * self.state_bytes * sequences as f64;
        [bytes, self.operations_per_token * tokens as f64].map(|whole| whole / self.parts(tensor) as f64)
    }
}

/// A file that describes a model by its layers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    hidden_size: u64,
    vocabulary: u64,
    #[serde(default)]
    ties_embeddings: bool,
    #[serde(default)]
    storage: Stored,
    layers: Vec<Layers>,
}

/// Names of schemes, as tables have them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Stored {
    attention: Option<String>,
    dense: Option<String>,
    experts: Option<String>,
    cache: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<Architecture, Error> {
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    let bytes = Source::open(path)?.read_all()?;
    let text = std::str::from_utf8(&bytes).map_err(|_| malformed("is not a text".to_owned()))?;
    let found: Description = yaml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    let scheme = |name: Option<&String>| match name {
        None => Ok(None),
        Some(name) => Scheme::of(name).map(Some).ok_or_else(|| {
            malformed(format!("storage: '{name}' is not one of {}", Scheme::names().collect::<Vec<_>>().join(", ")))
        }),
    };
    let weights = |name: Option<&String>| Ok::<_, Error>(scheme(name)?.unwrap_or(Scheme::Bf16));
    let storage = Storage {
        attention: weights(found.storage.attention.as_ref())?,
        dense: weights(found.storage.dense.as_ref())?,
        experts: weights(found.storage.experts.as_ref())?,
        cache: scheme(found.storage.cache.as_ref())?,
    };
    check(&found).map_err(malformed)?;
    let Description { name, hidden_size, vocabulary, ties_embeddings, layers, .. } = found;
    let model = Architecture { family: name, hidden_size, vocabulary, ties_embeddings, layers, storage };
    match model.parameters() {
        parameters if parameters > MOST_PARAMETERS => {
            Err(malformed(format!("the sizes make {:.0e} parameters, more than any model has", parameters as f64)))
        }
        _ => Ok(model),
    }
}

/// Whether all sizes are some.
fn check(description: &Description) -> Result<(), String> {
    size("hidden_size", description.hidden_size)?;
    size("vocabulary", description.vocabulary)?;
    if description.layers.is_empty() {
        return Err("layers: there are none".to_owned());
    }
    for (at, layers) in description.layers.iter().enumerate() {
        let in_layers = |reason: String| format!("layers[{at}].{reason}");
        sizes(layers).map_err(in_layers)?;
        if layers.mixer == Mixer::None && layers.feed_forward == FeedForward::None && layers.operators.is_empty() {
            return Err(in_layers("operators: there are none, and neither mixer nor feed_forward".to_owned()));
        }
    }
    Ok(())
}

fn size(name: &str, size: u64) -> Result<(), String> {
    if (1..=LARGEST).contains(&size) { Ok(()) } else { Err(format!("{name}: must be from 1 to {LARGEST}, not {size}")) }
}

fn sizes(layers: &Layers) -> Result<(), String> {
    size("count", layers.count)?;
    let named: Vec<(&str, u64)> = match layers.mixer {
        Mixer::None => Vec::new(),
        Mixer::Grouped { heads, kv_heads, head_dim, window, .. } => {
            vec![("heads", heads), ("kv_heads", kv_heads), ("head_dim", head_dim), ("window", window.unwrap_or(1))]
        }
        Mixer::Latent { heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim, indexer } => {
            let mut sizes = vec![
                ("heads", heads),
                ("query_rank", query_rank.unwrap_or(1)),
                ("kv_rank", kv_rank),
                ("nope_dim", nope_dim),
                ("rope_dim", rope_dim),
                ("value_dim", value_dim),
            ];
            if let Some(index) = indexer {
                sizes.extend([("heads", index.heads), ("head_dim", index.head_dim), ("chosen", index.chosen)]);
            }
            sizes
        }
        Mixer::GatedDelta { key_heads, value_heads, key_dim, value_dim, convolution } => vec![
            ("key_heads", key_heads),
            ("value_heads", value_heads),
            ("key_dim", key_dim),
            ("value_dim", value_dim),
            ("convolution", convolution),
        ],
    };
    for (name, of_mixer) in named {
        size(&format!("mixer.{name}"), of_mixer)?;
    }
    if let Mixer::Grouped { heads, kv_heads, .. } = layers.mixer
        && !heads.is_multiple_of(kv_heads)
    {
        return Err(format!("mixer.kv_heads: {kv_heads} does not divide the {heads} heads"));
    }
    match layers.feed_forward {
        FeedForward::None => {}
        FeedForward::Dense { inner } => size("feed_forward.inner", inner)?,
        FeedForward::Experts { count, per_token, inner, shared_inner, .. } => {
            for (name, of_experts) in
                [("count", count), ("per_token", per_token), ("inner", inner), ("shared_inner", shared_inner.max(1))]
            {
                size(&format!("feed_forward.{name}"), of_experts)?;
            }
            if per_token > count {
                return Err(format!("feed_forward.per_token: {per_token} is more than the {count} experts"));
            }
        }
    }
    for operator in &layers.operators {
        let name = &operator.name;
        if (operator.columns > 0) != (operator.inner > 0) {
            return Err(format!("operators: {name}: a product has columns and inner"));
        }
        if operator.columns.max(operator.inner) > LARGEST {
            return Err(format!("operators: {name}: columns and inner must be up to {LARGEST}"));
        }
        let amounts = [operator.bytes_per_token, operator.state_bytes, operator.operations_per_token];
        if amounts.iter().any(|amount| !(0.0..=1e18).contains(amount)) {
            return Err(format!("operators: {name}: bytes and operations must be from 0 to 1e18"));
        }
        if !operator.has_product() && amounts.iter().all(|amount| *amount == 0.0) {
            return Err(format!("operators: {name}: does nothing; give columns and inner, or bytes_per_token"));
        }
    }
    Ok(())
}
