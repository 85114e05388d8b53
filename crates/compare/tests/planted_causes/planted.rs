//! A generator of matching pairs with one planted cause, from random sizes of made-up models.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What can be planted; `none`, `doubled_rows` and `passes` change nothing that counts.
pub(crate) const CAUSES: [&str; 17] = [
    "none",
    "dropped_layer",
    "added_layer",
    "row_scaled",
    "mapping_removed",
    "shape_changed",
    "fused",
    "split",
    "collective_waits",
    "collective_scaled",
    "renamed",
    "doubled_rows",
    "not_modelled",
    "predicted_only",
    "calls",
    "passes",
    "mapped_without_row",
];

/// A pair of files and what is wrong between them.
pub(crate) struct Planted {
    pub(crate) cause: &'static str,
    pub(crate) kernel_type: String,
    /// The kernel types that stand for others.
    pub(crate) other_types: Vec<String>,
    /// Predicted less measured time.
    pub(crate) planted_ps: i128,
    pub(crate) predicted_ps: i128,
    pub(crate) measured_ps: i128,
    pub(crate) passes: u32,
    pub(crate) trace: String,
    pub(crate) profile: String,
    pub(crate) mapping: Option<String>,
}

/// Numbers that look like chance (SplitMix64), so that a seed always gives the same pair.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    fn one_of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len() as u64) as usize]
    }
}

type Shapes = Vec<Vec<u64>>;

/// One kernel of a pass.
#[derive(Clone)]
struct Kernel {
    operator: &'static str,
    kernel_type: String,
    shapes: Shapes,
    simulated: Shapes,
    ps: u64,
    /// `None`: the event names no kernel.
    source: Option<&'static str>,
    rule: &'static str,
    bytes: Option<u64>,
}

type Key = (String, Shapes);

impl Kernel {
    fn key(&self) -> Key {
        (self.kernel_type.clone(), self.shapes.clone())
    }

    fn is_collective(&self) -> bool {
        self.kernel_type.starts_with("hcom_")
    }
}

type Layer = Vec<Kernel>;

/// Whole nanoseconds.
fn duration(chance: &mut Chance, low_us: u64, high_us: u64) -> u64 {
    chance.between(low_us * 1000, high_us * 1000) * 1000
}

struct Model {
    tokens: u64,
    hidden: u64,
    inner: u64,
    shards: u64,
}

fn layer(chance: &mut Chance, model: &Model, quantised: bool, experts: bool) -> Layer {
    let Model { tokens, hidden, inner, shards } = *model;
    let mut kernels = Layer::new();
    let mut push = |operator, kernel_type: &str, shapes: &[&[u64]], simulated: &[&[u64]], ps| {
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
    };
    let (matmul, product) = match quantised {
        true => ("QuantBatchMatmulV3", "tensor_cast.static_quant_linear.default"),
        false => ("MatMulV2", "aten.mm.default"),
    };
    let projected = hidden / shards + 256;
    push(
        "tensor_cast.add_rms_norm2.default",
        "AddRmsNormBias",
        &[&[tokens, hidden], &[tokens, hidden], &[hidden]],
        &[&[1, tokens, hidden], &[tokens, hidden], &[hidden]],
        duration(chance, 2, 200),
    );
    if quantised {
        push(
            "tensor_cast.quantize.default",
            "AscendQuantV2",
            &[&[tokens, hidden], &[hidden], &[hidden]],
            &[&[tokens, hidden]],
            duration(chance, 2, 60),
        );
    }
    push(
        product,
        matmul,
        &[&[tokens, hidden], &[hidden / 16, projected / 16, 16, 16]],
        &[&[tokens, hidden], &[hidden, projected]],
        duration(chance, 8, 500),
    );
    push(
        "tensor_cast.apply_rope.default",
        "_triton_rope",
        &[&[tokens, 4, 128], &[tokens, 1, 128], &[81920, 128]],
        &[&[1, 4, tokens, 128]],
        duration(chance, 2, 30),
    );
    push(
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
        "tensor_cast.attention.default",
        "FusedInferAttentionScore",
        &inputs,
        &[&[tokens, 512], &[33, 128, 1, 128], &[33, 128, 1, 128], &[1, 33], &[2], &[1], &[1]],
        duration(chance, 12, 200),
    );
    push(
        product,
        matmul,
        &[&[tokens, 512], &[hidden, 512]],
        &[&[tokens, 512], &[512, hidden]],
        duration(chance, 8, 200),
    );
    push("tensor_cast.all_reduce.default", "hcom_allReduce_", &[], &[&[tokens, hidden]], duration(chance, 10, 800));
    push(
        "tensor_cast.swiglu.default",
        "SwiGlu",
        &[&[tokens, 2 * inner / shards]],
        &[&[1, tokens, inner / shards], &[1, tokens, inner / shards]],
        duration(chance, 2, 40),
    );
    let half: &[u64] = &[tokens, inner / shards];
    push("aten.mul.Tensor", "Mul", &[half, half], &[half, half], duration(chance, 2, 30));
    if experts {
        push(
            "tensor_cast.moe_gating_top_k_softmax.default",
            "MoeGatingTopK",
            &[&[tokens, 256], &[256]],
            &[&[tokens, 256]],
            duration(chance, 2, 9),
        );
        push(
            "tensor_cast.dispatch_ffn_combine_quant.default",
            "DispatchFFNCombine",
            &[&[tokens, hidden], &[16, hidden, 4096], &[16, 2048, hidden]],
            &[&[tokens, hidden], &[tokens, 8]],
            duration(chance, 100, 900),
        );
        push("tensor_cast.all_gather.default", "hcom_allGather_", &[], &[&[tokens, hidden]], duration(chance, 10, 400));
    }
    for kernel in &mut kernels {
        match kernel.kernel_type.as_str() {
            "hcom_allReduce_" => kernel.bytes = Some(tokens * hidden * 2),
            "hcom_allGather_" => kernel.bytes = Some(tokens * hidden),
            "FusedInferAttentionScore" => kernel.rule = "attention",
            _ => {}
        }
        if kernel.is_collective() {
            (kernel.source, kernel.rule) = (Some("INTERPOLATED"), "comm");
        }
    }
    kernels
}

/// A pass in which every row of the database has one duration.
fn truth(chance: &mut Chance) -> Vec<Layer> {
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
fn jitter(chance: &mut Chance, pass: &mut [Layer]) {
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

fn total_ps(pass: &[Layer]) -> i128 {
    pass.iter().flatten().map(|kernel| i128::from(kernel.ps)).sum()
}

fn scaled(ps: u64, (top, bottom): (u64, u64)) -> u64 {
    ps * top / bottom / 1000 * 1000
}

/// Every kernel of a row.
fn each(pass: &mut [Layer], key: &Key, change: impl FnMut(&mut Kernel)) {
    pass.iter_mut().flatten().filter(|kernel| kernel.key() == *key).for_each(change);
}

/// A pair with this cause.
pub(crate) fn plant(cause: &'static str, seed: u64) -> Planted {
    let mut chance = Chance(seed.wrapping_mul(100_003) + 7);
    let chance = &mut chance;
    let mut predicted = truth(chance);
    let mut measured = predicted.clone();
    jitter(chance, &mut measured);
    let mut counts: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    for kernel in predicted.iter().flatten() {
        let entry = counts.entry(kernel.key()).or_insert((0, kernel.ps));
        entry.0 += 1;
    }
    let frequent = |collective: bool| -> Vec<Key> {
        let fits = |(key, (calls, ps)): (&Key, &(u64, u64))| {
            let counts = *calls >= 8 && key.0.starts_with("hcom_") == collective && (collective || *ps > 4_000_000);
            counts.then(|| key.clone())
        };
        counts.iter().filter_map(fits).collect()
    };
    let key = chance.one_of(&frequent(false)).clone();
    let collective = chance.one_of(&frequent(true)).clone();
    let factor = *chance.one_of(&[(1, 2), (4, 5), (6, 5), (3, 2), (2, 1)]);
    let mut kernel_type = key.0.clone();
    let mut other_types: Vec<String> = Vec::new();
    let mut mapping = None;
    let mut passes = 1;
    match cause {
        "none" | "doubled_rows" => {}
        "passes" => passes = chance.between(2, 5) as u32,
        "dropped_layer" => drop(measured.remove(chance.between(3, measured.len() as u64) as usize)),
        "added_layer" => {
            let at = chance.between(3, predicted.len() as u64) as usize;
            predicted.insert(at, predicted[at].clone());
        }
        "row_scaled" => each(&mut predicted, &key, |kernel| kernel.ps = scaled(kernel.ps, factor)),
        "mapping_removed" | "mapped_without_row" => {
            if cause == "mapped_without_row" {
                let mut text = "operator_mappings:\n".to_owned();
                let mut operators: BTreeMap<&str, String> = BTreeMap::new();
                each(&mut predicted, &key, |kernel| {
                    drop(operators.insert(kernel.operator, kernel.kernel_type.clone()))
                });
                for kernel in predicted.iter().flatten() {
                    operators.entry(kernel.operator).or_insert_with(|| kernel.kernel_type.clone());
                }
                for (operator, kernel_type) in operators {
                    let _ = writeln!(text, "  {operator}:\n    kernel_type: {kernel_type}");
                }
                mapping = Some(text);
            }
            each(&mut predicted, &key, |kernel| {
                (kernel.ps, kernel.source) = (scaled(kernel.ps, factor), None);
            });
        }
        "shape_changed" => {
            let times = chance.between(2, 5);
            each(&mut predicted, &key, |kernel| {
                kernel.ps = scaled(kernel.ps, factor);
                let rows = &mut kernel.shapes[0][0];
                *rows = *rows * times + if *rows == 1 { times } else { 0 };
                match kernel.rule {
                    "attention" => kernel.simulated[0][0] *= 3,
                    _ => kernel.simulated = kernel.shapes.clone(),
                }
            });
        }
        "renamed" => {
            let new = match key.0.as_str() {
                "MatMulV2" => "MatMulV3",
                "QuantBatchMatmulV3" => "QuantBatchMatmulV4",
                "AddRmsNormBias" => "AddRmsNorm",
                "AscendQuantV2" => "DynamicQuant",
                "_triton_rope" => "InterleaveRope",
                "ReshapeAndCacheNdKernel" => "reshape_and_cache_200000000",
                "FusedInferAttentionScore" => "PromptFlashAttention",
                "SwiGlu" => "Swish",
                "Mul" => "Muls",
                "MoeGatingTopK" => "MoeGatingTopKSoftmax",
                _ => "MoeDistributeDispatch",
            };
            other_types.push(new.to_owned());
            each(&mut measured, &key, |kernel| {
                (kernel.ps, kernel.kernel_type) = (scaled(kernel.ps, factor), new.to_owned());
            });
        }
        "split" => {
            let names = match key.0.as_str() {
                "AddRmsNormBias" if chance.below(3) > 0 => ["Add", "RmsNorm"],
                _ => ["custom_part_a", "custom_part_b"],
            };
            other_types = names.map(str::to_owned).to_vec();
            for layer in &mut measured {
                let parts = |kernel: Kernel| {
                    if kernel.key() != key {
                        return vec![kernel];
                    }
                    let ps = scaled(kernel.ps, factor);
                    let first = ps / 3000 * 1000;
                    let part = |name: &str, ps| Kernel { kernel_type: name.to_owned(), ps, ..kernel.clone() };
                    vec![part(names[0], first), part(names[1], ps - first)]
                };
                *layer = std::mem::take(layer).into_iter().flat_map(parts).collect();
            }
        }
        "fused" => {
            let last = measured.last().cloned().unwrap_or_default();
            let pairs: Vec<(String, String)> = last
                .windows(2)
                .filter(|pair| !pair[0].is_collective() && !pair[1].is_collective())
                .map(|pair| (pair[0].kernel_type.clone(), pair[1].kernel_type.clone()))
                .collect();
            let (one, other) = chance.one_of(&pairs).clone();
            other_types.push("my_fused_kernel".to_owned());
            for layer in &mut measured {
                let mut at = 0;
                while at + 1 < layer.len() {
                    if layer[at].kernel_type == one && layer[at + 1].kernel_type == other {
                        let second = layer.remove(at + 1);
                        layer[at].ps = scaled(layer[at].ps + second.ps, factor);
                        layer[at].kernel_type = "my_fused_kernel".to_owned();
                    }
                    at += 1;
                }
            }
        }
        "collective_waits" | "collective_scaled" => {
            kernel_type = collective.0.clone();
            let share = chance.between(2, 6);
            each(&mut measured, &collective, |kernel| {
                if cause == "collective_scaled" {
                    kernel.ps = scaled(kernel.ps, (13, 10));
                } else if chance.below(share) == 0 {
                    kernel.ps += chance.between(2, 400) * 1_000_000;
                }
            });
            if cause == "collective_waits" {
                let mut first = true;
                each(&mut measured, &collective, |kernel| {
                    kernel.ps += if std::mem::take(&mut first) { 5_000_000 } else { 0 };
                });
            }
        }
        "not_modelled" | "predicted_only" => {
            let kinds: [(&str, &[u64]); 4] =
                [("ArgMaxV2", &[7, 11]), ("Sort", &[64, 3]), ("custom_probe", &[5, 5]), ("Cast", &[3, 33333])];
            let (name, dims) = *chance.one_of(&kinds);
            kernel_type = name.to_owned();
            for layer in if cause == "not_modelled" { &mut measured } else { &mut predicted } {
                let at = chance.between(0, layer.len() as u64 + 1) as usize;
                let ps = duration(chance, 3, 90);
                let shapes = vec![dims.to_vec()];
                layer.insert(
                    at,
                    Kernel {
                        operator: "aten.probe.default",
                        kernel_type: name.to_owned(),
                        simulated: shapes.clone(),
                        shapes,
                        ps,
                        source: Some("MEASURED"),
                        rule: "identity",
                        bytes: None,
                    },
                );
            }
        }
        "calls" => {
            let layer = predicted.iter_mut().rev().find(|layer| layer.iter().any(|kernel| kernel.key() == key));
            let layer = layer.expect("the row is frequent");
            let kernel = layer.iter().find(|kernel| kernel.key() == key).cloned().expect("it was found");
            (0..chance.between(1, 4)).for_each(|_| layer.push(kernel.clone()));
        }
        other => panic!("{other} is no cause"),
    }
    Planted {
        cause,
        kernel_type,
        other_types,
        planted_ps: total_ps(&predicted) - total_ps(&measured),
        predicted_ps: total_ps(&predicted),
        measured_ps: total_ps(&measured),
        passes,
        trace: trace(&predicted),
        profile: profile(chance, &measured, passes, cause == "doubled_rows"),
        mapping,
    }
}

fn list(shapes: &Shapes) -> String {
    let dims = |dims: &Vec<u64>| format!("[{}]", dims.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    format!("[{}]", shapes.iter().map(dims).collect::<Vec<_>>().join(", "))
}

/// Microseconds with all decimals.
fn us(ps: u64) -> String {
    format!("{}.{:03}", ps / 1_000_000, ps / 1000 % 1000)
}

fn trace(pass: &[Layer]) -> String {
    let mut events =
        vec![r#"{"name":"process_name","ph":"M","pid":0,"args":{"name":"empirical (PID: 0)"}}"#.to_owned()];
    let mut now = 0;
    for kernel in pass.iter().flatten() {
        let mut args = format!(r#""simulation_shapes":"{}""#, list(&kernel.simulated));
        match (kernel.source, kernel.bytes) {
            (None, _) => args += r#","shape_match_rule":"analytic""#,
            (Some(source), bytes) => {
                let shapes = match (kernel.rule, bytes) {
                    ("attention", _) => String::new(),
                    (_, Some(bytes)) => format!("[[{bytes}]]"),
                    (_, None) => list(&kernel.shapes),
                };
                let (kernel_type, rule) = (&kernel.kernel_type, kernel.rule);
                let _ = write!(
                    args,
                    r#","source":"{source}","kernel_type":"{kernel_type}","shape_match_rule":"{rule}","kernel_shapes":"{shapes}""#
                );
            }
        }
        let (operator, start, duration) = (kernel.operator, us(now), us(kernel.ps));
        events.push(format!(
            r#"{{"name":"{operator}","ph":"X","ts":{start},"dur":{duration},"pid":0,"tid":0,"args":{{{args}}}}}"#
        ));
        now += kernel.ps;
    }
    format!("{{\"traceEvents\":[{}]}}", events.join(",\n"))
}

fn profile(chance: &mut Chance, pass: &[Layer], passes: u32, thrice: bool) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut now_ns = 1_774_512_345_000_000_000 + chance.below(1_000_000_000);
    let mut again = Vec::new();
    for _ in 0..passes {
        for kernel in pass.iter().flatten() {
            let cell = match kernel.shapes.as_slice() {
                [] => "N/A".to_owned(),
                shapes => {
                    let dims = |dims: &Vec<u64>| dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                    format!("\"\"\"{}\"\"\"", shapes.iter().map(dims).collect::<Vec<_>>().join(";"))
                }
            };
            let format = |dims: &Vec<u64>| match dims.as_slice() {
                [_, _, 16, 16 | 32] => "FRACTAL_NZ",
                [] => "NULL",
                _ => "ND",
            };
            let formats = kernel.shapes.iter().map(format).collect::<Vec<_>>().join(";");
            let row = |stream: &str| {
                let (name, duration) = (&kernel.kernel_type, us(kernel.ps));
                let start = format!("{}.{:03}\t", now_ns / 1000, now_ns % 1000);
                format!("{stream},{name},{name},dynamic,{start},{duration},{cell},{formats}")
            };
            match kernel.is_collective() {
                true => {
                    rows.extend([row("N/A"), row("83")]);
                    again.push(row("84"));
                }
                false => rows.push(row("2")),
            }
            now_ns += kernel.ps / 1000 + chance.below(1001);
        }
        now_ns += 400_000;
    }
    if thrice {
        // A third listing, in no order, at the end of the file.
        for at in (1..again.len()).rev() {
            again.swap(at, chance.below(at as u64 + 1) as usize);
        }
        rows.append(&mut again);
    }
    let header = "Stream ID,Name,Type,OP State,Start Time(us),Duration(us),Input Shapes,Input Formats";
    format!("{header}\n{}\n", rows.join("\n"))
}
