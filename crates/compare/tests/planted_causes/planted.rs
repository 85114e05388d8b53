//! Matching pairs with one planted cause.

use super::files::{profile, trace};
use super::model::{Chance, Kernel, Key, Layer, duration, each, jitter, scaled, total_ps, truth};
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

/// The type of a kernel that stands for two.
const FUSED: &str = "my_fused_kernel";

/// Rows that are called often: collectives, or others that take long enough to be seen.
fn frequent(predicted: &[Layer], collective: bool) -> Vec<Key> {
    let mut counts: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    for kernel in predicted.iter().flatten() {
        let entry = counts.entry(kernel.key()).or_insert((0, kernel.ps));
        entry.0 += 1;
    }
    let fits = |(key, (calls, ps)): (&Key, &(u64, u64))| {
        let counts = *calls >= 8 && key.0.starts_with("hcom_") == collective && (collective || *ps > 4_000_000);
        counts.then(|| key.clone())
    };
    counts.iter().filter_map(fits).collect()
}

/// The operator mapping of a pass, in which the operator of the row is mapped to its type for certain.
fn mapping_of(predicted: &mut [Layer], key: &Key) -> String {
    let mut text = "operator_mappings:\n".to_owned();
    let mut operators: BTreeMap<&str, String> = BTreeMap::new();
    each(predicted, key, |kernel| drop(operators.insert(kernel.operator, kernel.kernel_type.clone())));
    for kernel in predicted.iter().flatten() {
        operators.entry(kernel.operator).or_insert_with(|| kernel.kernel_type.clone());
    }
    for (operator, kernel_type) in operators {
        let _ = writeln!(text, "  {operator}:\n    kernel_type: {kernel_type}");
    }
    text
}

fn another_name(kernel_type: &str) -> &'static str {
    match kernel_type {
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
    }
}

fn split(measured: &mut [Layer], key: &Key, factor: (u64, u64), names: [&str; 2]) {
    for layer in measured {
        let parts = |kernel: Kernel| {
            if kernel.key() != *key {
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

fn fuse(chance: &mut Chance, measured: &mut [Layer], factor: (u64, u64)) {
    let last = measured.last().cloned().unwrap_or_default();
    let pairs: Vec<(String, String)> = last
        .windows(2)
        .filter(|pair| !pair[0].is_collective() && !pair[1].is_collective())
        .map(|pair| (pair[0].kernel_type.clone(), pair[1].kernel_type.clone()))
        .collect();
    let (one, other) = chance.one_of(&pairs).clone();
    for layer in measured {
        let mut at = 0;
        while at + 1 < layer.len() {
            if layer[at].kernel_type == one && layer[at + 1].kernel_type == other {
                let second = layer.remove(at + 1);
                layer[at].ps = scaled(layer[at].ps + second.ps, factor);
                layer[at].kernel_type = FUSED.to_owned();
            }
            at += 1;
        }
    }
}

/// Collectives that wait for other devices at times, the first for certain, or that take longer each.
fn delay(chance: &mut Chance, measured: &mut [Layer], collective: &Key, waits: bool) {
    let share = chance.between(2, 6);
    each(measured, collective, |kernel| {
        if !waits {
            kernel.ps = scaled(kernel.ps, (13, 10));
        } else if chance.below(share) == 0 {
            kernel.ps += chance.between(2, 400) * 1_000_000;
        }
    });
    let mut first = waits;
    each(measured, collective, |kernel| kernel.ps += if std::mem::take(&mut first) { 5_000_000 } else { 0 });
}

fn enlarge(kernel: &mut Kernel, times: u64) {
    let rows = &mut kernel.shapes[0][0];
    *rows = *rows * times + if *rows == 1 { times } else { 0 };
    match kernel.rule {
        "attention" => kernel.simulated[0][0] *= 3,
        _ => kernel.simulated = kernel.shapes.clone(),
    }
}

/// A kernel more in every layer; its type.
fn add_probes(chance: &mut Chance, layers: &mut [Layer]) -> &'static str {
    let kinds: [(&str, &[u64]); 4] =
        [("ArgMaxV2", &[7, 11]), ("Sort", &[64, 3]), ("custom_probe", &[5, 5]), ("Cast", &[3, 33333])];
    let (name, dims) = *chance.one_of(&kinds);
    for layer in layers {
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
    name
}

/// A pair with this cause.
pub(crate) fn plant(cause: &'static str, seed: u64) -> Planted {
    let chance = &mut Chance(seed.wrapping_mul(100_003) + 7);
    let mut predicted = truth(chance);
    let mut measured = predicted.clone();
    jitter(chance, &mut measured);
    let key = chance.one_of(&frequent(&predicted, false)).clone();
    let collective = chance.one_of(&frequent(&predicted, true)).clone();
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
            mapping = (cause == "mapped_without_row").then(|| mapping_of(&mut predicted, &key));
            each(&mut predicted, &key, |kernel| {
                (kernel.ps, kernel.source) = (scaled(kernel.ps, factor), None);
            });
        }
        "shape_changed" => {
            let times = chance.between(2, 5);
            each(&mut predicted, &key, |kernel| {
                kernel.ps = scaled(kernel.ps, factor);
                enlarge(kernel, times);
            });
        }
        "renamed" => {
            let new = another_name(&key.0);
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
            split(&mut measured, &key, factor, names);
        }
        "fused" => {
            other_types.push(FUSED.to_owned());
            fuse(chance, &mut measured, factor);
        }
        "collective_waits" | "collective_scaled" => {
            kernel_type = collective.0.clone();
            delay(chance, &mut measured, &collective, cause == "collective_waits");
        }
        "not_modelled" | "predicted_only" => {
            let layers = if cause == "not_modelled" { &mut measured } else { &mut predicted };
            kernel_type = add_probes(chance, layers).to_owned();
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
