//! Splitting the joint projection into queries, keys and values, with norm and rotary embedding.

use std::collections::HashSet;
use std::sync::Arc;

use perfdb_store::columns::{INPUT_FORMATS, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_TYPES};

use crate::candidate::Candidate;
use crate::grids::TOKENS;
use crate::models::Models;

/// The columns that a candidate sets.
pub(super) const COLUMNS: [&str; 4] = [INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES, OUTPUT_FORMATS];

pub(super) fn candidates(models: &Models) -> Vec<Candidate> {
    let cells = ["DT_BF16;DT_BF16", "ND;ND", "DT_BF16;DT_BF16;DT_BF16", "ND;ND;ND"];
    let cells: Arc<[String]> = cells.map(str::to_owned).into();
    let mut candidates = Vec::new();
    let mut seen = HashSet::new();
    for model in models.iter().filter(|model| !model.has_latent_attention()) {
        let head_dim = model.head_dim;
        for (heads, kv_heads) in model.split_heads() {
            let (query, key) = (heads * head_dim, kv_heads * head_dim);
            for tokens in TOKENS {
                if !seen.insert((tokens, query, key, head_dim)) {
                    continue;
                }
                let inputs: [&[i128]; 2] = [&[tokens, query + 2 * key], &[head_dim]];
                let outputs: [&[i128]; 3] = [&[tokens, query], &[tokens, key], &[tokens, key]];
                candidates.push(Candidate {
                    inputs: inputs.into_iter().collect(),
                    outputs: outputs.into_iter().collect(),
                    cells: Arc::clone(&cells),
                });
            }
        }
    }
    candidates
}
