//! Which operators a forward pass calls, with which shapes and how often: a forecast from a model's `config.json`, without a
//! simulator.
//!
//! [`Model::read`] reads the description, a [`Deployment`] says over how many ranks the model is spread, a [`Batch`] what the pass
//! computes. [`forecast`] gives the calls of one rank as questions that a database answers, each with how often it occurs.
//! `docs/formats/forward-pass-signatures.md` has the calls of each family.
//!
//! ```
//! use perfdb_forecast::{Batch, Deployment, Model, Phase, forecast};
//!
//! # let folder = tempfile::tempdir()?;
//! let config = r#"{"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
//!     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
//!     "max_position_embeddings": 40960, "rms_norm_eps": 1e-6}"#;
//! std::fs::write(folder.path().join("config.json"), config)?;
//!
//! let model = Model::read(folder.path())?;
//! let deployment = Deployment { tensor_parallel: 2, ..Deployment::default() };
//! let batch = Batch { sequences: 8, context: 1024, phase: Phase::Decode };
//! let calls = forecast(&model, &deployment, &batch)?;
//! let attention = calls.iter().find(|call| call.query.name() == "tensor_cast.attention.default").unwrap();
//! assert_eq!(attention.count, 28);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

mod deployment;
mod description;
mod error;
mod model;
mod pass;
mod quantization;
mod recorder;
pub mod serving;

pub use deployment::{Batch, Deployment, Layout, Phase};
pub use error::Error;
pub use model::{Attention, Experts, Model, Router, Stored};
pub use quantization::Quantization;
pub use recorder::Call;

/// The calls of one rank's forward pass, in the order in which they first occur; equal calls are one.
///
/// # Errors
/// Sizes that do not fit together, with the name of the size: ranks that do not divide heads or experts, a batch without tokens;
/// and a description whose weights are stored in a way for which no operators are known, unless the deployment says how linear
/// layers compute.
pub fn forecast(model: &Model, deployment: &Deployment, batch: &Batch) -> Result<Vec<Call>, Error> {
    deployment::check(model, deployment, batch)?;
    let quantization = match (deployment.quantization, &model.stored) {
        (Some(quantization), _) => quantization,
        (None, Stored::Known(quantization)) => *quantization,
        (None, Stored::Other { field, value }) => {
            let known = Quantization::ALL.map(Quantization::name).join(", ");
            let reason = format!("'{value}' does not determine the operators of linear layers; choose one of {known}");
            return Err(Error::Deployment { field, reason });
        }
    };
    Ok(pass::calls(model, deployment, batch, quantization))
}
