//! Dispatch, expert feed-forward and combine in one kernel.

use std::collections::{BTreeSet, HashSet};

use crate::candidate::Candidate;
use crate::grids::EXPERT_TOKENS;
use crate::models::{Model, Models};

/// The columns that a candidate sets.
pub(super) const COLUMNS: [&str; 1] = ["EP Size"];

/// Numbers of cards over which the experts may be spread.
const CARD_COUNTS: [i128; 4] = [8, 16, 32, 64];

/// The largest number of experts per rank that the kernel takes.
const MOST_EXPERTS_PER_RANK: i128 = 17;

/// Elements that fit into its workspace: 58 Mi.
const MOST_ELEMENTS: i128 = 58 * 1024 * 1024;

pub(super) fn candidates(models: &Models) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for model in models.iter().filter(|model| model.experts > 0) {
        let mut seen = HashSet::new();
        let (hidden, top_k) = (model.hidden_size, model.experts_per_token);
        for experts in experts_per_rank(model) {
            let ep_size = [(model.experts / experts).to_string()];
            for ranks in &model.tensor_parallel_sizes {
                let width = 2 * (model.expert_intermediate_size / ranks).max(1);
                for tokens in EXPERT_TOKENS {
                    let fits = tokens * hidden * top_k <= MOST_ELEMENTS;
                    if !fits || !seen.insert((tokens, hidden, width, experts, top_k)) {
                        continue;
                    }
                    let inputs: [&[i128]; 7] = [
                        &[tokens, hidden],
                        &[experts, hidden, width],
                        &[experts, width / 2, hidden],
                        &[tokens, top_k],
                        &[experts * width],
                        &[experts * hidden],
                        &[tokens, top_k],
                    ];
                    let outputs: [&[i128]; 2] = [&[tokens, hidden], &[experts]];
                    candidates.push(Candidate {
                        inputs: inputs.into_iter().collect(),
                        outputs: outputs.into_iter().collect(),
                        cells: ep_size.clone().into(),
                    });
                }
            }
        }
    }
    candidates
}

/// The numbers of experts that one rank can have, ascending.
fn experts_per_rank(model: &Model) -> BTreeSet<i128> {
    let mut counts = BTreeSet::new();
    for cards in CARD_COUNTS.into_iter().filter(|cards| *cards <= model.experts) {
        let per_card = model.experts / cards;
        for ranks in model.expert_parallel_sizes.iter().filter(|ranks| **ranks <= per_card) {
            let experts = (per_card / ranks).max(1);
            if experts <= MOST_EXPERTS_PER_RANK {
                counts.insert(experts);
            }
        }
    }
    counts
}
