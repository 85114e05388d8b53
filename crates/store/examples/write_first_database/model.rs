//! The kernels of the example model, and what they take.

/// Layers of the model.
pub(crate) const LAYERS: usize = 4;
/// Tokens of each forward pass; the first is the prefill.
pub(crate) const PASSES: [u64; 5] = [256, 8, 8, 8, 8];
/// A kernel call as a profile has it.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) kernel: &'static str,
    pub(crate) core: &'static str,
    pub(crate) input_shapes: String,
    pub(crate) input_types: String,
    pub(crate) output_shapes: String,
    pub(crate) output_types: String,
    /// What it takes without noise.
    pub(crate) nanoseconds: u64,
}

impl Call {
    pub(crate) fn new(kernel: &'static str, core: &'static str, inputs: &str, outputs: &str, nanoseconds: u64) -> Call {
        let types = |shapes: &str| vec!["DT_BF16"; shapes.split(';').count()].join(";");
        Call {
            kernel,
            core,
            input_shapes: inputs.to_owned(),
            input_types: types(inputs),
            output_shapes: outputs.to_owned(),
            output_types: types(outputs),
            nanoseconds,
        }
    }

    /// A matrix product `tokens × k` by `n × k`.
    pub(crate) fn product(tokens: u64, k: u64, n: u64) -> Call {
        let shapes = format!("{tokens},{k};{n},{k}");
        Call::new("MatMulV2", "AI_CORE", &shapes, &format!("{tokens},{n}"), product_nanoseconds(tokens, k, n))
    }

    pub(crate) fn is_collective(&self) -> bool {
        self.kernel.starts_with("hcom_")
    }
}

/// 3 µs to start, 1.2 TB/s for the weight and the activations, 200 TFLOPS.
pub(crate) fn product_nanoseconds(tokens: u64, k: u64, n: u64) -> u64 {
    let bytes = 2 * (tokens * k + n * k + tokens * n);
    3_000 + (bytes / 1_200).max(2 * tokens * k * n / 200_000)
}

/// The kernels of one forward pass of this many tokens.
pub(crate) fn pass_of(tokens: u64) -> Vec<Call> {
    let vector = "AI_VECTOR_CORE";
    let sequences = if tokens == 256 { 1 } else { tokens };
    let all_reduce = || Call {
        input_types: "N/A".to_owned(),
        output_types: "N/A".to_owned(),
        ..Call::new("hcom_allReduce_", "HCCL", "N/A", "N/A", 9_000 + tokens * 2048 / 25)
    };
    let add_norm = || {
        let shape = format!("{tokens},1024");
        let nanoseconds = 3_200 + tokens * 8192 / 900;
        Call::new(
            "AddRmsNormBias",
            vector,
            &format!("{shape};{shape};1024"),
            &format!("{shape};{tokens},1;{shape}"),
            nanoseconds,
        )
    };
    let mut calls = vec![
        Call::new("GatherV2", vector, &format!("16000,1024;{tokens};1"), &format!("{tokens},1024"), 4_000 + tokens * 5),
        Call::new(
            "RmsNorm",
            vector,
            &format!("{tokens},1024;1024"),
            &format!("{tokens},1024;{tokens},1"),
            3_000 + tokens * 6,
        ),
    ];
    for _ in 0..LAYERS {
        calls.push(Call::product(tokens, 1024, 768));
        let cache = "64,128,1,128";
        calls.push(Call::new(
            "ReshapeAndCacheNdKernel",
            vector,
            &format!("{tokens},1,128;{tokens},1,128;{cache};{cache};{tokens}"),
            &format!("{cache};{cache}"),
            3_600 + tokens * 3,
        ));
        calls.push(attention(tokens, sequences));
        calls.push(Call::product(tokens, 512, 1024));
        calls.push(all_reduce());
        calls.push(add_norm());
        calls.push(Call::product(tokens, 1024, 4096));
        calls.push(Call::new(
            "SwiGlu",
            vector,
            &format!("{tokens},4096"),
            &format!("{tokens},2048"),
            gate_nanoseconds(tokens, 4096),
        ));
        calls.push(Call::product(tokens, 2048, 1024));
        calls.push(all_reduce());
        calls.push(add_norm());
    }
    calls.push(Call::product(sequences, 1024, 16000));
    calls.push(Call::new("ArgMaxV2", vector, &format!("{sequences},16000"), &format!("{sequences}"), 5_500));
    calls
}

/// Slots of attention: query, key, value, none, mask, the two lists of lengths, and as the fifteenth the block table.
pub(crate) fn attention(tokens: u64, sequences: u64) -> Call {
    let mut slots = vec![String::new(); 31];
    slots[0] = format!("{tokens},4,128");
    slots[1] = "64,128,128".to_owned();
    slots[2] = "64,128,128".to_owned();
    slots[4] = "2048,2048".to_owned();
    slots[5] = sequences.to_string();
    slots[6] = sequences.to_string();
    slots[14] = format!("{sequences},8");
    let mut types = vec!["DT_UNDEFINED"; 31];
    types[..3].fill("DT_BF16");
    types[4] = "INT8";
    types[5..7].fill("INT64");
    types[14] = "INT32";
    Call {
        input_types: types.join(";"),
        output_types: "DT_BF16;FLOAT".to_owned(),
        ..Call::new(
            "FusedInferAttentionScore",
            "MIX_AIC",
            &slots.join(";"),
            &format!("{tokens},4,128;"),
            11_000 + tokens * tokens / 4,
        )
    }
}

pub(crate) fn gate_nanoseconds(tokens: u64, width: u64) -> u64 {
    2_800 + tokens * width * 3 / 900
}

/// A fixed sequence of numbers around 1.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    /// Between `1 - percent / 100` and `1 + percent / 100`, in thousandths.
    pub(crate) fn permille(&mut self, percent: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1000 - 10 * percent + (self.0 >> 33) % (20 * percent + 1)
    }
}

pub(crate) fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// A cell of shapes: with quotes of its own, which the CSV doubles.
pub(crate) fn shapes(text: &str) -> String {
    if text == "N/A" { text.to_owned() } else { format!("\"\"\"{text}\"\"\"") }
}

/// As many formats as there are types.
pub(crate) fn formats(types: &str) -> String {
    if types == "N/A" {
        return types.to_owned();
    }
    let format = |name: &str| if name == "DT_UNDEFINED" { "NULL" } else { "ND" };
    types.split(';').map(format).collect::<Vec<_>>().join(";")
}
