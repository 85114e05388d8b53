//! Grouped matrix products: one product per expert of a card.

use crate::candidate::Candidate;
use crate::grids::EXPERT_TOKENS;
use crate::models::Models;
use crate::slots::Slots;

/// Rows of a block of the stored weight.
const BLOCK: i128 = 16;

pub(super) fn candidates(models: &Models) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for model in models.iter().filter(|model| model.experts > 0) {
        for expert_ranks in &model.expert_parallel_sizes {
            for ranks in &model.tensor_parallel_sizes {
                let hidden = (model.hidden_size / ranks).max(1);
                let intermediate = (model.expert_intermediate_size / ranks).max(1);
                let experts = (model.experts_per_card / expert_ranks).max(1);
                let blocks = (intermediate / BLOCK).max(1);
                for tokens in EXPERT_TOKENS {
                    let inputs: [&[i128]; 9] = [
                        &[tokens, hidden],
                        &[experts, hidden, blocks, BLOCK],
                        &[],
                        &[experts, intermediate],
                        &[],
                        &[],
                        &[],
                        &[experts],
                        &[tokens],
                    ];
                    candidates.push(Candidate {
                        inputs: inputs.into_iter().collect(),
                        outputs: Slots::from_iter([&[tokens, intermediate][..]]),
                        ..Candidate::default()
                    });
                }
            }
        }
    }
    candidates
}
