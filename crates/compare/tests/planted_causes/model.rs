//! Made-up models of random sizes, and what they take.

use std::collections::BTreeMap;

/// Numbers that look like chance (SplitMix64), so that a seed always gives the same pair.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    pub(crate) fn one_of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len() as u64) as usize]
    }
}

pub(crate) type Shapes = Vec<Vec<u64>>;

/// One kernel of a pass.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) operator: &'static str,
    pub(crate) kernel_type: String,
    pub(crate) shapes: Shapes,
    pub(crate) simulated: Shapes,
    pub(crate) ps: u64,
    /// `None`: the event names no kernel.
    pub(crate) source: Option<&'static str>,
    pub(crate) rule: &'static str,
    pub(crate) bytes: Option<u64>,
}

pub(crate) type Key = (String, Shapes);

impl Kernel {
    pub(crate) fn key(&self) -> Key {
        (self.kernel_type.clone(), self.shapes.clone())
    }

    pub(crate) fn is_collective(&self) -> bool {
        self.kernel_type.starts_with("hcom_")
    }
}

pub(crate) type Layer = Vec<Kernel>;

/// Whole nanoseconds.
pub(crate) fn duration(chance: &mut Chance, low_us: u64, high_us: u64) -> u64 {
    chance.between(low_us * 1000, high_us * 1000) * 1000
}

pub(crate) struct Model {
    pub(crate) tokens: u64,
    pub(crate) hidden: u64,
    pub(crate) inner: u64,
    pub(crate) shards: u64,
}

pub(crate) fn layer(chance: &mut Chance, model: &Model, quantised: bool, experts: bool) -> Layer {
    let mut kernels = attention(chance, model, quantised);
    kernels.extend(feed_forward(chance, model, experts));
    for kernel in &mut kernels {
        match kernel.kernel_type.as_str() {
            "hcom_allReduce_" => kernel.bytes = Some(model.tokens * model.hidden * 2),
            "hcom_allGather_" => kernel.bytes = Some(model.tokens * model.hidden),
            "FusedInferAttentionScore" => kernel.rule = "attention",
            _ => {}
        }
        if kernel.is_collective() {
            (kernel.source, kernel.rule) = (Some("INTERPOLATED"), "comm");
        }
    }
    kernels
}

fn push(
    kernels: &mut Layer,
    operator: &'static str,
    kernel_type: &str,
    shapes: &[&[u64]],
    simulated: &[&[u64]],
    ps: u64,
) {
    kernels.push(Kernel {
        operator,
        kernel_type: kernel_type.to_owned(),
        shapes: shapes.iter().map(|dims| dims.to_vec()).collect(),
        simulated: simulated.iter().map(|dims| dims.to_vec()).collect(),
        ps,
        source: Some("MEASURED"),
        rule: "identity",
        bytes: None,
    });
}

fn attention(chance: &mut Chance, model: &Model, quantised: bool) -> Layer {
    let Model { tokens, hidden, shards, .. } = *model;
    let mut kernels = Layer::new();
    let (matmul, product) = if quantised {
        ("QuantBatchMatmulV3", "tensor_cast.static_quant_linear.default")
    } else {
        ("MatMulV2", "aten.mm.default")
    };
    let projected = hidden / shards + 256;
    push(
        &mut kernels,
        "tensor_cast.add_rms_norm2.default",
        "AddRmsNormBias",
        &[&[tokens, hidden], &[tokens, hidden], &[hidden]],
        &[&[1, tokens, hidden], &[tokens, hidden], &[hidden]],
        duration(chance, 2, 200),
    );
    if quantised {
        push(
            &mut kernels,
            "tensor_cast.quantize.default",
            "AscendQuantV2",
            &[&[tokens, hidden], &[hidden], &[hidden]],
            &[&[tokens, hidden]],
            duration(chance, 2, 60),
        );
    }
    push(
        &mut kernels,
        product,
        matmul,
        &[&[tokens, hidden], &[hidden / 16, projected / 16, 16, 16]],
        &[&[tokens, hidden], &[hidden, projected]],
        duration(chance, 8, 500),
    );
    push(
        &mut kernels,
        "tensor_cast.apply_rope.default",
        "_triton_rope",
        &[&[tokens, 4, 128], &[tokens, 1, 128], &[81920, 128]],
        &[&[1, 4, tokens, 128]],
        duration(chance, 2, 30),
    );
    push(
        &mut kernels,
        "tensor_cast.reshape_and_cache.default",
        "ReshapeAndCacheNdKernel",
        &[&[tokens, 1, 128], &[tokens, 1, 128], &[33, 128, 1, 128], &[33, 128, 1, 128], &[tokens]],
        &[&[tokens, 128]],
        duration(chance, 2, 15),
    );
    let mut inputs: Vec<&[u64]> = vec![&[]; 15];
    let query = [tokens, 4, 128];
    (inputs[0], inputs[1], inputs[2], inputs[4]) = (&query, &[33, 128, 128], &[33, 128, 128], &[2048, 2048]);
    (inputs[5], inputs[6], inputs[14]) = (&[1], &[1], &[1, 33]);
    push(
        &mut kernels,
        "tensor_cast.attention.default",
        "FusedInferAttentionScore",
        &inputs,
        &[&[tokens, 512], &[33, 128, 1, 128], &[33, 128, 1, 128], &[1, 33], &[2], &[1], &[1]],
        duration(chance, 12, 200),
    );
    push(
        &mut kernels,
        product,
        matmul,
        &[&[tokens, 512], &[hidden, 512]],
        &[&[tokens, 512], &[512, hidden]],
        duration(chance, 8, 200),
    );
    kernels
}

fn feed_forward(chance: &mut Chance, model: &Model, experts: bool) -> Layer {
    let Model { tokens, hidden, inner, shards } = *model;
    let mut kernels = Layer::new();
    push(
        &mut kernels,
        "tensor_cast.all_reduce.default",
        "hcom_allReduce_",
        &[],
        &[&[tokens, hidden]],
        duration(chance, 10, 800),
    );
    push(
        &mut kernels,
        "tensor_cast.swiglu.default",
        "SwiGlu",
        &[&[tokens, 2 * inner / shards]],
        &[&[1, tokens, inner / shards], &[1, tokens, inner / shards]],
        duration(chance, 2, 40),
    );
    let half: &[u64] = &[tokens, inner / shards];
    push(&mut kernels, "aten.mul.Tensor", "Mul", &[half, half], &[half, half], duration(chance, 2, 30));
    if experts {
        push(
            &mut kernels,
            "tensor_cast.moe_gating_top_k_softmax.default",
            "MoeGatingTopK",
            &[&[tokens, 256], &[256]],
            &[&[tokens, 256]],
            duration(chance, 2, 9),
        );
        push(
            &mut kernels,
            "tensor_cast.dispatch_ffn_combine_quant.default",
            "DispatchFFNCombine",
            &[&[tokens, hidden], &[16, hidden, 4096], &[16, 2048, hidden]],
            &[&[tokens, hidden], &[tokens, 8]],
            duration(chance, 100, 900),
        );
        push(
            &mut kernels,
            "tensor_cast.all_gather.default",
            "hcom_allGather_",
            &[],
            &[&[tokens, hidden]],
            duration(chance, 10, 400),
        );
    }
    kernels
}

/// A pass in which every row of the database has one duration.
pub(crate) fn truth(chance: &mut Chance) -> Vec<Layer> {
    let model = Model {
        tokens: *chance.one_of(&[1, 8, 16, 257, 1024, 4112]),
        hidden: *chance.one_of(&[2048, 4096, 5120, 7168]),
        inner: *chance.one_of(&[12288, 25600, 18432]),
        shards: *chance.one_of(&[4, 8, 16]),
    };
    let layers = chance.between(12, 65) as usize;
    let dense = *chance.one_of(&[0, 0, 3]);
    let (quantised, experts) = (chance.below(2) == 0, chance.below(5) < 2);
    let main = layer(chance, &model, quantised, experts);
    let first = layer(chance, &model, false, false);
    let mut pass: Vec<Layer> = (0..layers).map(|at| if at < dense { first.clone() } else { main.clone() }).collect();
    let mut rows: BTreeMap<Key, u64> = BTreeMap::new();
    for kernel in pass.iter_mut().flatten() {
        kernel.ps = *rows.entry(kernel.key()).or_insert(kernel.ps);
    }
    pass
}

/// Calls of a row differ a little, up and down by turns, so that sums stay.
pub(crate) fn jitter(chance: &mut Chance, pass: &mut [Layer]) {
    let mut open: BTreeMap<Key, u64> = BTreeMap::new();
    let mut last: BTreeMap<Key, (usize, usize)> = BTreeMap::new();
    for at in 0..pass.len() {
        for position in 0..pass[at].len() {
            let kernel = &pass[at][position];
            let key = kernel.key();
            match (open.remove(&key), last.remove(&key)) {
                (Some(less), Some((before, place))) => {
                    pass[before][place].ps -= less;
                    pass[at][position].ps += less;
                }
                _ => {
                    let share = chance.below(4) * kernel.ps / 1_000_000 * 1000;
                    open.insert(key.clone(), share);
                    last.insert(key, (at, position));
                }
            }
        }
    }
}

pub(crate) fn total_ps(pass: &[Layer]) -> i128 {
    pass.iter().flatten().map(|kernel| i128::from(kernel.ps)).sum()
}

pub(crate) fn scaled(ps: u64, (top, bottom): (u64, u64)) -> u64 {
    ps * top / bottom / 1000 * 1000
}

/// Every kernel of a row.
pub(crate) fn each(pass: &mut [Layer], key: &Key, change: impl FnMut(&mut Kernel)) {
    pass.iter_mut().flatten().filter(|kernel| kernel.key() == *key).for_each(change);
}
