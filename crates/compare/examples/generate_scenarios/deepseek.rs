//! DeepSeek-V3, tensor and expert parallel over 16 devices, 8-bit weights and activations: 3 dense layers, 58 with experts.

use super::model::{Kernel, Phase, Step};

const LAYERS: u64 = 61;
const DENSE_LAYERS: u64 = 3;
const HIDDEN: u64 = 7168;
const VOCABULARY_SHARD: u64 = 8080;

pub(crate) fn forward_pass(phase: Phase) -> Vec<Step> {
    let tokens = phase.pick(4099, 8);
    let gathered = Kernel::new("GatherV2", phase.pick(35_000, 11_200), 960)
        .shapes([&[VOCABULARY_SHARD, HIDDEN], &[tokens], &[1]], &[tokens, HIDDEN]);
    let mut steps = vec![
        Step::found("aten.embedding.default", &[&[VOCABULARY_SHARD, HIDDEN], &[tokens]], vec![gathered]),
        Step::found("tensor_cast.all_reduce.default", &[&[tokens, HIDDEN]], vec![all_reduce(phase)]),
    ];
    for layer in 0..LAYERS {
        attention(&mut steps, phase, tokens);
        if layer < DENSE_LAYERS {
            dense(&mut steps, phase, tokens);
        } else {
            experts(&mut steps, phase, tokens, layer);
        }
    }
    let last = phase.pick(1, tokens);
    let logits = Kernel::new("MatMulV2", 112_000, 1020)
        .shapes([&[last, HIDDEN], &[VOCABULARY_SHARD, HIDDEN]], &[last, VOCABULARY_SHARD]);
    let greatest = Kernel::new("ArgMaxV2", 7_900, 1000).shapes([&[last, 129_280]], &[last]);
    steps.extend([
        Step::found("aten.mm.default", &[&[last, HIDDEN], &[HIDDEN, VOCABULARY_SHARD]], vec![logits]),
        Step::found(
            "tensor_cast.all_gather.default",
            &[&[last, VOCABULARY_SHARD]],
            vec![Kernel::new("hcom_allGather_", 33_000, 1060)],
        ),
        Step::missed("aten.argmax.default", &[&[last, 129_280]], 6_000, Some(greatest)),
    ]);
    steps
}

fn all_reduce(phase: Phase) -> Kernel {
    Kernel::new("hcom_allReduce_", phase.pick(402_000, 12_900), phase.pick(940, 1045))
}

fn quantized(tokens: u64, rows: u64, columns: u64, measured_ns: u64) -> Kernel {
    Kernel::new("QuantBatchMatmulV3", measured_ns, 955)
        .shapes([&[tokens, rows], &[columns / 32, rows / 16, 16, 32], &[columns]], &[tokens, columns])
}

fn reduced_product(phase: Phase, tokens: u64, rows: u64, measured_ns: u64) -> Step {
    let operator = "tensor_cast.static_quant_linear_all_reduce.default";
    Step::fused(
        operator,
        &[&[tokens, rows], &[rows, HIDDEN]],
        quantized(tokens, rows, HIDDEN, measured_ns),
        all_reduce(phase),
    )
}

fn attention(steps: &mut Vec<Step>, phase: Phase, tokens: u64) {
    let projected = vec![
        quantized(tokens, HIDDEN, 2112, phase.pick(176_000, 14_800)),
        Kernel::new("RmsNorm", phase.pick(27_000, 4_500), 980).shapes([&[tokens, 1536], &[1536]], &[tokens, 1536]),
        quantized(tokens, 1536, 3072, phase.pick(71_000, 16_900)),
        Kernel::new("KvRmsNormRopeCache", phase.pick(38_000, 9_900), 1040)
            .shapes([&[tokens, 1, 1, 576], &[512], &[tokens, 1, 1, 64]], &[600, 128, 1, 64]),
        Kernel::new("InterleaveRope", phase.pick(21_000, 4_100), 1000)
            .shapes([&[tokens, 8, 1, 64], &[tokens, 1, 1, 64]], &[tokens, 8, 1, 64]),
    ];
    let attended = vec![
        Kernel::new("BatchMatMulV2", phase.pick(58_000, 9_600), 930)
            .shapes([&[8, tokens, 128], &[8, 128, 512]], &[8, tokens, 512]),
        Kernel::new("FusedInferAttentionScore", phase.pick(498_000, 57_000), phase.pick(905, 970))
            .shapes([&[tokens, 8, 1, 512], &[600, 128, 1, 512]], &[tokens, 8, 1, 512]),
        Kernel::new("TransposeBatchMatMul", phase.pick(63_000, 12_900), 1030)
            .shapes([&[tokens, 8, 512], &[8, 512, 128]], &[tokens, 8, 128]),
    ];
    let scaled =
        Kernel::new("AscendQuantV2", phase.pick(13_000, 3_500), 940).shapes([&[tokens, 1024]], &[tokens, 1024]);
    let normed = Kernel::new("AddRmsNormDynamicQuant", phase.pick(96_000, 7_200), 935)
        .shapes([&[tokens, HIDDEN], &[tokens, HIDDEN], &[HIDDEN]], &[tokens, HIDDEN]);
    let operator = "tensor_cast.multihead_latent_attention_quant.default";
    steps.extend([
        Step::found("tensor_cast.mlapo_quant.default", &[&[1, tokens, HIDDEN], &[HIDDEN, 2112]], projected),
        Step::zero_cost("aten.transpose.int", &[&[1, tokens, 8, 512]]),
        Step::found(operator, &[&[tokens, 8, 576], &[tokens, 1, 576]], attended),
        Step::found("tensor_cast.quantize.default", &[&[tokens, 1024]], vec![scaled]),
        reduced_product(phase, tokens, 1024, phase.pick(131_000, 21_700)),
        Step::found(
            "tensor_cast.add_rms_norm_quant2.default",
            &[&[tokens, HIDDEN], &[tokens, HIDDEN], &[HIDDEN]],
            vec![normed],
        ),
    ]);
}

fn dense(steps: &mut Vec<Step>, phase: Phase, tokens: u64) {
    let gated = Kernel::new("SwiGlu", phase.pick(51_000, 4_600), 1000).shapes([&[tokens, 2304]], &[tokens, 1152]);
    steps.extend([
        Step::found(
            "tensor_cast.static_quant_linear.default",
            &[&[tokens, HIDDEN], &[HIDDEN, 2304]],
            vec![quantized(tokens, HIDDEN, 2304, phase.pick(204_000, 24_800))],
        ),
        Step::found("tensor_cast.swiglu.default", &[&[tokens, 2304]], vec![gated]),
        reduced_product(phase, tokens, 1152, phase.pick(142_000, 19_300)),
    ]);
}

fn experts(steps: &mut Vec<Step>, phase: Phase, tokens: u64, layer: u64) {
    let routed =
        Kernel::new("MoeGatingTopK", phase.pick(29_000, 6_300), 1020).shapes([&[tokens, 256], &[256]], &[tokens, 8]);
    let mixed = Kernel::new("DispatchFFNCombine", phase.pick(2_140_000, 148_000), phase.pick(975, 950))
        .shapes([&[tokens, HIDDEN], &[16, HIDDEN, 4096], &[16, 2048, HIDDEN], &[tokens, 8]], &[tokens, HIDDEN]);
    let added = Kernel::new("Add", phase.pick(54_000, 3_400), 900)
        .shapes([&[tokens, HIDDEN], &[tokens, HIDDEN]], &[tokens, HIDDEN]);
    let mixture = Step::found(
        "tensor_cast.dispatch_ffn_combine_quant.default",
        &[&[1, tokens, HIDDEN], &[tokens, 8]],
        vec![mixed],
    );
    if phase == Phase::Prefill {
        steps.push(Step::Unmodelled(Kernel::new("allreduceAicpuKernel", 371_000, 0)));
    }
    steps.extend([
        Step::found("tensor_cast.moe_gating_top_k_softmax.default", &[&[tokens, 256]], vec![routed]),
        if layer % 7 == 3 { mixture.with_source("INTERPOLATED") } else { mixture },
        Step::Unmodelled(
            Kernel::new("DynamicQuant", phase.pick(47_000, 3_200), 0).shapes([&[tokens, HIDDEN]], &[tokens, HIDDEN]),
        ),
        Step::missed("aten.index.Tensor", &[&[163_840, 64], &[tokens]], phase.pick(9_000, 3_000), None),
        Step::found("aten.add.Tensor", &[&[tokens, HIDDEN], &[tokens, HIDDEN]], vec![added]),
    ]);
}
