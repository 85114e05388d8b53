//! Qwen3-32B, tensor parallel over 16 devices: 64 equal layers.

use super::model::{Kernel, Phase, Step};

const LAYERS: u64 = 64;
const HIDDEN: u64 = 5120;
const VOCABULARY_SHARD: u64 = 9496;

pub(crate) fn forward_pass(phase: Phase) -> Vec<Step> {
    let tokens = phase.pick(4112, 16);
    let gathered = Kernel::new("GatherV2", phase.pick(31_000, 11_800), 950)
        .shapes([&[VOCABULARY_SHARD, HIDDEN], &[tokens], &[1]], &[tokens, HIDDEN]);
    let mut steps = vec![
        Step::found("aten.embedding.default", &[&[VOCABULARY_SHARD, HIDDEN], &[tokens]], vec![gathered]),
        Step::found("tensor_cast.all_reduce.default", &[&[tokens, HIDDEN]], vec![all_reduce(phase)])
            .with_source("INTERPOLATED"),
    ];
    for layer in 0..LAYERS {
        attention(&mut steps, phase, tokens, layer);
        feed_forward(&mut steps, phase, tokens, layer);
    }
    let last = phase.pick(1, tokens);
    let logits = Kernel::new("MatMulV2", 96_000, 1010)
        .shapes([&[last, HIDDEN], &[VOCABULARY_SHARD, HIDDEN]], &[last, VOCABULARY_SHARD]);
    let greatest = Kernel::new("ArgMaxV2", 8_100, 1000).shapes([&[last, 151_936]], &[last]);
    steps.extend([
        Step::found("aten.mm.default", &[&[last, HIDDEN], &[HIDDEN, VOCABULARY_SHARD]], vec![logits]),
        Step::found(
            "tensor_cast.all_gather.default",
            &[&[last, VOCABULARY_SHARD]],
            vec![Kernel::new("hcom_allGather_", 32_000, 1090)],
        ),
        Step::missed("aten.argmax.default", &[&[last, 151_936]], 6_000, Some(greatest)),
    ]);
    steps
}

fn all_reduce(phase: Phase) -> Kernel {
    Kernel::new("hcom_allReduce_", phase.pick(318_000, 24_600), phase.pick(925, 890))
}

fn norm(phase: Phase, tokens: u64, first: bool) -> Step {
    let kernel_type = if first { "RmsNorm" } else { "AddRmsNormBias" };
    let operator = if first { "tensor_cast.rms_norm.default" } else { "tensor_cast.add_rms_norm2.default" };
    let kernel = Kernel::new(kernel_type, phase.pick(79_000, 6_000), phase.pick(880, 960))
        .shapes([&[tokens, HIDDEN], &[tokens, HIDDEN], &[HIDDEN]], &[tokens, HIDDEN]);
    Step::found(operator, &[&[tokens, HIDDEN], &[tokens, HIDDEN], &[HIDDEN]], vec![kernel])
}

fn product(phase: Phase, tokens: u64, columns: u64, measured_ns: u64) -> Step {
    let kernel = Kernel::new(phase.pick("MatMulV3", "MatMulV2"), measured_ns, phase.pick(1030, 945))
        .shapes([&[tokens, HIDDEN], &[columns, HIDDEN]], &[tokens, columns]);
    Step::found("aten.mm.default", &[&[tokens, HIDDEN], &[HIDDEN, columns]], vec![kernel])
}

fn reduced_product(phase: Phase, tokens: u64, rows: u64, measured_ns: u64) -> Step {
    let kernel = Kernel::new("MatMulV2", measured_ns, phase.pick(985, 930))
        .shapes([&[tokens, rows], &[HIDDEN, rows]], &[tokens, HIDDEN]);
    Step::fused("tensor_cast.matmul_all_reduce.default", &[&[tokens, rows], &[rows, HIDDEN]], kernel, all_reduce(phase))
}

fn attention(steps: &mut Vec<Step>, phase: Phase, tokens: u64, layer: u64) {
    let rotated = Kernel::new("split_qkv_rmsnorm_rope_kernel", phase.pick(28_000, 7_400), 1000)
        .shapes([&[tokens, 768], &[128], &[128]], &[tokens, 512]);
    let cached = Kernel::new("ReshapeAndCacheNdKernel", phase.pick(11_200, 4_600), 1050)
        .shapes([&[tokens, 1, 128], &[tokens, 1, 128], &[2048, 128, 1, 128]], &[2048, 128, 1, 128]);
    let attended = Kernel::new("FusedInferAttentionScore", phase.pick(62_000, 41_500), phase.pick(960, 1040))
        .shapes([&[tokens, 4, 128], &[2048, 128, 128], &[2048, 128, 128]], &[tokens, 4, 128]);
    steps.extend([
        norm(phase, tokens, layer == 0),
        product(phase, tokens, 768, phase.pick(149_000, 13_900)),
        Step::zero_cost("aten.split_with_sizes.default", &[&[tokens, 768]]),
        Step::missed(
            "tensor_cast.apply_rope.default",
            &[&[tokens, 4, 128], &[tokens, 1, 128]],
            phase.pick(22_000, 6_000),
            Some(rotated),
        ),
        Step::found("tensor_cast.reshape_and_cache.default", &[&[tokens, 1, 128], &[tokens, 1, 128]], vec![cached]),
        Step::found("tensor_cast.attention.default", &[&[tokens, 4, 128]], vec![attended]),
        reduced_product(phase, tokens, 512, phase.pick(81_000, 9_200)),
    ]);
}

fn feed_forward(steps: &mut Vec<Step>, phase: Phase, tokens: u64, layer: u64) {
    let gated = Kernel::new("SwiGlu", phase.pick(42_000, 4_300), 970).shapes([&[tokens, 3200]], &[tokens, 1600]);
    let wide = product(phase, tokens, 3200, phase.pick(548_000, 38_700));
    steps.extend([
        norm(phase, tokens, false),
        if layer % 9 == 4 { wide.with_source("INTERPOLATED") } else { wide },
        Step::found("tensor_cast.swiglu.default", &[&[tokens, 3200]], vec![gated]),
        reduced_product(phase, tokens, 1600, phase.pick(276_000, 21_400)),
    ]);
}
