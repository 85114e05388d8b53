//! Fused attention: dense and latent, prefill and decode, with the runtime values that a replay needs.

use std::collections::HashSet;

use perfdb_store::columns::{
    self, INPUT_FORMATS, INPUT_TYPES, RUNTIME_BLOCK_TABLE, RUNTIME_COMPLETENESS, RUNTIME_LENGTHS,
    RUNTIME_OPERATOR_SHAPES, RUNTIME_SETTINGS, RUNTIME_SOURCE, RUNTIME_VALID_BLOCKS,
};

use crate::Semantics;
use crate::candidate::Candidate;
use crate::models::{Model, Models};
use crate::slots::Slots;

/// The runtime columns that candidates set, in the order in which a table that lacks them gets them.
pub(crate) const RUNTIME_COLUMNS: [&str; 15] = columns::joined(&[
    &[RUNTIME_SOURCE],
    &RUNTIME_LENGTHS,
    &[RUNTIME_BLOCK_TABLE, RUNTIME_VALID_BLOCKS],
    &RUNTIME_SETTINGS,
    &[RUNTIME_COMPLETENESS, RUNTIME_OPERATOR_SHAPES],
]);

/// The columns that a candidate sets: types, formats and the runtime columns.
pub(super) const COLUMNS: [&str; 17] = columns::joined(&[&[INPUT_TYPES, INPUT_FORMATS], &RUNTIME_COLUMNS]);

/// Tokens per cache block.
const BLOCK: i128 = 128;
/// The least number of blocks of a cache.
const FEWEST_BLOCKS: i128 = 16;
/// The shape of the causal mask.
const MASK: [i128; 2] = [2048, 2048];
/// Input slots of the kernel; those that a scene does not use are empty.
const SLOTS: usize = 31;

/// Batches and lengths to combine.
struct Grid {
    prefill_batches: &'static [i128],
    prefill_lengths: &'static [i128],
    decode_batches: &'static [i128],
    decode_lengths: &'static [i128],
}

const QWEN3_32B: Grid = Grid {
    prefill_batches: &[1, 2, 4, 8],
    prefill_lengths: &[512, 1024, 2048, 3072, 4096, 4112, 4608, 5120, 6144],
    decode_batches: &[1, 2, 4, 8, 12, 16, 24, 32],
    decode_lengths: &[1024, 2048, 3072, 4096, 4224, 4352, 4608, 4864, 5120, 5376, 5632],
};

/// With the lengths that later workloads were added for.
const QWEN3_32B_LATER: Grid = Grid {
    prefill_lengths: &[512, 1024, 2048, 3072, 3592, 4096, 4112, 4608, 5120, 6144],
    decode_lengths: &[1024, 2048, 3072, 3593, 4096, 4224, 4352, 4608, 4864, 5120, 5376, 5632],
    ..QWEN3_32B
};

const DEEPSEEK_V3: Grid = Grid {
    prefill_batches: &[1, 2, 4, 8],
    prefill_lengths: &[512, 1024, 2048, 3072, 4096, 4099, 4608, 5120, 6144],
    decode_batches: &[1, 2, 4, 8, 12, 16],
    decode_lengths: &[1024, 2048, 3072, 4096, 4100, 4224, 4352, 4608, 4864, 5120, 5376, 5632],
};

const OTHERS: Grid = Grid {
    prefill_batches: &[1, 2, 4, 8],
    prefill_lengths: &[256, 512, 1024, 2048, 4096, 8192],
    decode_batches: &[1, 2, 4, 8, 16, 32],
    decode_lengths: &[512, 1024, 2048, 4096, 8192],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Prefill,
    Decode,
}

/// The attention of one rank of a model.
struct Attention<'a> {
    model: &'a Model,
    scene_key: &'a str,
    heads: Heads,
}

/// Heads of one rank.
#[derive(Clone, Copy)]
struct Heads {
    /// The tensor-parallel size that names of scenes end with, if they do.
    tensor_parallel: Option<i128>,
    query: i128,
    key_value: i128,
}

pub(super) fn candidates(models: &Models, semantics: Semantics) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut seen = HashSet::new();
    for model in models.iter() {
        let scene_key = model.scene_key(semantics);
        let grid = match (scene_key.as_str(), model.has_latent_attention()) {
            ("qwen332b", false) if semantics == Semantics::Upstream => QWEN3_32B,
            ("qwen332b", false) => QWEN3_32B_LATER,
            ("deepseekv3", true) => DEEPSEEK_V3,
            _ => OTHERS,
        };
        for heads in heads_per_rank(model, semantics) {
            let attention = Attention { model, scene_key: &scene_key, heads };
            let phases = [
                (Phase::Prefill, grid.prefill_batches, grid.prefill_lengths),
                (Phase::Decode, grid.decode_batches, grid.decode_lengths),
            ];
            for (phase, batches, lengths) in phases {
                for &batch in batches {
                    for &length in lengths {
                        let candidate = attention.candidate(phase, batch, length);
                        // Types and formats follow from which slots are empty.
                        if seen.insert((candidate.inputs.clone(), candidate.outputs.clone())) {
                            candidates.push(candidate);
                        }
                    }
                }
            }
        }
    }
    candidates
}

fn heads_per_rank(model: &Model, semantics: Semantics) -> Vec<Heads> {
    let of = |(query, key_value)| Heads { tensor_parallel: None, query, key_value };
    match semantics {
        Semantics::Corrected => model.split_heads().map(of).collect(),
        Semantics::Newest if !model.has_latent_attention() => {
            let split = model.divided_heads().into_iter();
            split.map(|(size, query, key_value)| Heads { tensor_parallel: Some(size), query, key_value }).collect()
        }
        Semantics::Newest | Semantics::Upstream => vec![of((model.heads, model.kv_heads))],
    }
}

impl Attention<'_> {
    fn candidate(&self, phase: Phase, batch: i128, length: i128) -> Candidate {
        let (inputs, outputs) = self.slots(phase, batch, length);
        let (types, formats) = types_and_formats(&inputs);
        let latent = self.model.has_latent_attention();
        let kind = if latent { "mla" } else { "dense" };
        let phase_name = if phase == Phase::Prefill { "prefill" } else { "decode" };
        let rank = self.heads.tensor_parallel.map(|size| format!("_tp{size}")).unwrap_or_default();
        let scene = format!("{}_{kind}_{phase_name}{rank}", self.scene_key);
        let same = vec![length; batch as usize];
        let cumulated = |step: i128| (1..=batch).map(|index| index * step).collect::<Vec<_>>();
        let (query_lengths, kv_lengths) = match (latent, phase) {
            (false, Phase::Prefill) => (cumulated(length), cumulated(length)),
            (false, Phase::Decode) => (cumulated(1), same),
            (true, Phase::Prefill) => (same.clone(), same),
            (true, Phase::Decode) => (vec![1; batch as usize], same),
        };
        let blocks = blocks_of(length);
        let (table_shape, valid_blocks) = match (latent, phase) {
            (false, Phase::Prefill) => (String::new(), String::new()),
            _ => (format!("{batch},{blocks}"), joined(&vec![blocks; batch as usize])),
        };
        let sparse_mode = if latent && phase == Phase::Decode { "0" } else { "3" };
        let mut shapes = String::new();
        inputs.push_text(&mut shapes);
        let cells = [
            types,
            formats,
            scene,
            query_lengths.len().to_string(),
            joined(&query_lengths),
            kv_lengths.len().to_string(),
            joined(&kv_lengths),
            format!("{length}.000000"),
            table_shape,
            valid_blocks,
            self.heads.query.to_string(),
            if latent { "1".to_owned() } else { self.heads.key_value.to_string() },
            sparse_mode.to_owned(),
            if latent { "BNSD_NBSD" } else { "TND" }.to_owned(),
            BLOCK.to_string(),
            "shape_grid_scene_generated".to_owned(),
            shapes,
        ];
        Candidate { inputs, outputs, cells: cells.into() }
    }

    fn slots(&self, phase: Phase, batch: i128, length: i128) -> (Slots, Slots) {
        let Self { model, heads: Heads { query: heads, key_value: kv_heads, .. }, .. } = *self;
        let (rank, rope, dim) = (model.kv_lora_rank, model.qk_rope_head_dim, model.head_dim);
        let blocks = blocks_of(length);
        let cache_blocks = (batch * blocks).max(FEWEST_BLOCKS);
        let mut slots: [Vec<i128>; SLOTS] = Default::default();
        slots[5] = vec![batch];
        slots[6] = vec![batch];
        let output = match (model.has_latent_attention(), phase) {
            (false, Phase::Prefill) => {
                slots[0] = vec![batch * length, heads, dim];
                slots[1] = vec![batch * length, kv_heads, dim];
                slots[0].clone()
            }
            (false, Phase::Decode) => {
                slots[0] = vec![batch, heads, dim];
                slots[1] = vec![cache_blocks, kv_heads, BLOCK, dim];
                slots[0].clone()
            }
            (true, _) => {
                // A decode step has one query per sequence.
                let queries = if phase == Phase::Prefill { length } else { 1 };
                slots[0] = vec![batch, heads, queries, rank];
                slots[1] = vec![cache_blocks, 1, BLOCK, rank];
                slots[24] = vec![batch, heads, queries, rope];
                slots[25] = vec![cache_blocks, 1, BLOCK, rope];
                vec![heads, batch, queries, rank]
            }
        };
        slots[2] = slots[1].clone();
        if !(model.has_latent_attention() && phase == Phase::Decode) {
            slots[4] = MASK.to_vec();
        }
        if model.has_latent_attention() || phase == Phase::Decode {
            slots[14] = vec![batch, blocks];
        }
        (slots.iter().map(Vec::as_slice).collect(), Slots::from_iter([output.as_slice()]))
    }
}

fn blocks_of(length: i128) -> i128 {
    ((length + BLOCK - 1) / BLOCK).max(1)
}

fn joined(numbers: &[i128]) -> String {
    numbers.iter().map(i128::to_string).collect::<Vec<_>>().join(",")
}

fn types_and_formats(inputs: &Slots) -> (String, String) {
    let type_of = |slot: usize| match slot {
        4 => "INT8",
        5 | 6 => "INT64",
        14 => "INT32",
        _ => "DT_BF16",
    };
    let (mut types, mut formats) = (Vec::new(), Vec::new());
    for (slot, shape) in inputs.iter().enumerate() {
        let present = !shape.is_empty();
        types.push(if present { type_of(slot) } else { "DT_UNDEFINED" });
        formats.push(if present { "ND" } else { "NULL" });
    }
    (types.join(";"), formats.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: usize = 2;

    /// Names of scenes with the number of their candidates, in order.
    fn scenes(model: &str) -> Vec<(String, usize)> {
        let models = Models::named(&[model], Semantics::Newest).unwrap();
        let mut scenes: Vec<(String, usize)> = Vec::new();
        for candidate in candidates(&models, Semantics::Newest) {
            match scenes.last_mut().filter(|(name, _)| *name == candidate.cells[SCENE]) {
                Some((_, count)) => *count += 1,
                None => scenes.push((candidate.cells[SCENE].clone(), 1)),
            }
        }
        scenes
    }

    #[test]
    fn the_newest_rules_split_dense_attention_by_tensor_parallel_sizes() {
        let names = ["prefill_tp1", "decode_tp1", "prefill_tp2", "decode_tp2", "prefill_tp4", "decode_tp4"];
        let all = scenes("Qwen/Qwen3-32B");
        for (found, name) in all.iter().zip(names) {
            // Four batches and ten lengths, or eight and twelve; a few decode shapes round to the same number of blocks.
            assert_eq!(found.0, format!("qwen332b_dense_{name}"));
        }
        assert_eq!(all.len(), 10);
        assert_eq!(all[0].1, 40);
        assert_eq!(scenes("meta-llama/Meta-Llama-3-70B").len(), 8);
    }

    #[test]
    fn the_newest_rules_keep_latent_attention_whole() {
        let names: Vec<String> = scenes("zai-org/GLM-5.1").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["glm51_mla_prefill", "glm51_mla_decode"]);
    }

    #[test]
    fn heads_that_a_size_does_not_divide_get_no_rows() {
        let mut model = Models::named(&["Qwen/Qwen3-32B"], Semantics::Newest).unwrap().iter().next().unwrap().clone();
        model.kv_heads = 6;
        model.heads = 48;
        assert_eq!(model.divided_heads(), [(1, 48, 6), (2, 24, 3)]);
        model.kv_heads = 0;
        assert_eq!(model.divided_heads(), []);
    }
}
