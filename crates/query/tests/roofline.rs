//! No answer and no lower end of an interval is below what the peaks of the device allow.

use super::database;

use database::{AnyResult, COLUMNS, database};
use perfdb_query::{DType, Database, Layer, Query, ReaderSemantics, Tensor};
use std::fmt::Write as _;

/// Peaks of the H100 SXM: operations of 16 and 8 bits, and bytes, per microsecond.
const OPERATIONS_16: f64 = 989.4e6;
const OPERATIONS_8: f64 = 1978.9e6;
const BYTES: f64 = 3.35e6;

/// A kernel: its class, types, sizes of rows, shapes of its inputs and of its result, and what it does at least.
struct Kernel {
    name: &'static str,
    class: &'static str,
    types: &'static str,
    /// For each axis.
    sizes: &'static [&'static [i64]],
    inputs: fn(&[i64]) -> Vec<Vec<i64>>,
    /// The shortest time that the peaks allow, in microseconds.
    shortest_us: fn(&[f64]) -> f64,
}

fn product(sizes: &[i64]) -> Vec<Vec<i64>> {
    let &[m, n, k] = sizes else { return Vec::new() };
    vec![vec![m, k], vec![k, n]]
}

fn product_us(sizes: &[f64], operations: f64, bytes: f64) -> f64 {
    let &[m, n, k] = sizes else { return f64::NAN };
    (2.0 * m * n * k / operations).max(((m * k + n * k) * bytes + 2.0 * m * n) / BYTES)
}

fn attention(batch: i64, queries: i64, tokens: i64) -> Vec<Vec<i64>> {
    vec![vec![batch, queries, 32, 128], vec![batch, tokens, 8, 128], vec![batch, tokens, 8, 128]]
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "gemm",
        class: "matmul",
        types: "DT_BF16;DT_BF16",
        sizes: &[&[1, 8, 64, 256, 1024, 8192], &[1024, 4096, 16384], &[1024, 2048, 8192]],
        inputs: product,
        shortest_us: |sizes| product_us(sizes, OPERATIONS_16, 2.0),
    },
    Kernel {
        name: "gemm_fp8",
        class: "matmul",
        types: "FLOAT8_E4M3FN;FLOAT8_E4M3FN",
        sizes: &[&[1, 8, 64, 256, 1024, 8192], &[1024, 4096, 16384], &[1024, 2048, 8192]],
        inputs: product,
        shortest_us: |sizes| product_us(sizes, OPERATIONS_8, 1.0),
    },
    Kernel {
        name: "prefill",
        class: "attention_prefill",
        types: "DT_BF16;DT_BF16;DT_BF16",
        sizes: &[&[1, 2, 8, 32], &[128, 512, 2048, 8192, 32768]],
        inputs: |sizes| attention(sizes[0], sizes[1], sizes[1]),
        shortest_us: |sizes| {
            let &[batch, tokens] = sizes else { return f64::NAN };
            let bytes = batch * tokens * 2.0 * 128.0 * (2.0 * 32.0 + 2.0 * 8.0);
            (2.0 * batch * 32.0 * 128.0 * tokens * tokens / OPERATIONS_16).max(bytes / BYTES)
        },
    },
    Kernel {
        name: "decode",
        class: "attention_decode",
        types: "DT_BF16;DT_BF16;DT_BF16",
        sizes: &[&[1, 4, 16, 64, 256], &[128, 1024, 8192, 32768]],
        inputs: |sizes| attention(sizes[0], 1, sizes[1]),
        shortest_us: |sizes| sizes.iter().product::<f64>() * 8.0 * 128.0 * 2.0 * 2.0 / BYTES,
    },
    Kernel {
        name: "moe",
        class: "experts",
        types: "DT_BF16;DT_BF16;INT32",
        sizes: &[&[1, 16, 128, 1024, 8192, 65536]],
        inputs: |sizes| vec![vec![sizes[0], 4096], vec![64, 4096, 1536], vec![sizes[0], 8]],
        shortest_us: |sizes| 6.0 * sizes[0] * 8.0 * 4096.0 * 1536.0 / OPERATIONS_16,
    },
    Kernel {
        name: "norm",
        class: "norm",
        types: "DT_BF16;DT_BF16",
        sizes: &[&[1, 16, 256, 4096, 65536], &[1024, 4096, 8192]],
        inputs: |sizes| vec![sizes.to_vec(), vec![sizes[1]]],
        shortest_us: |sizes| 4.0 * sizes[0] * sizes[1] / BYTES,
    },
    Kernel {
        name: "add",
        class: "elementwise",
        types: "DT_BF16;DT_BF16",
        sizes: &[&[1, 16, 256, 4096, 65536], &[1024, 4096, 8192]],
        inputs: |sizes| vec![sizes.to_vec(), sizes.to_vec()],
        shortest_us: |sizes| 4.0 * sizes[0] * sizes[1] / BYTES,
    },
    Kernel {
        name: "quantise",
        class: "quantize",
        types: "DT_BF16",
        sizes: &[&[1, 16, 256, 4096, 65536], &[1024, 4096, 8192]],
        inputs: |sizes| vec![sizes.to_vec()],
        shortest_us: |sizes| 3.0 * sizes[0] * sizes[1] / BYTES,
    },
];

/// A number from 0 to 1 that depends on its arguments alone.
fn chance(numbers: &[i64], seed: u64) -> f64 {
    let hash = numbers.iter().fold(seed, |hash, number| {
        (hash ^ *number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    });
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

/// All combinations of sizes.
fn grid(sizes: &[&[i64]]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |all, axis| {
        all.iter().flat_map(|before| axis.iter().map(|size| [before.as_slice(), &[*size]].concat())).collect()
    })
}

impl Kernel {
    /// A call takes half a microsecond, and 1.02 to 1.6 times what the peaks allow.
    fn table(&self) -> String {
        let mut text = format!("{COLUMNS}\n");
        for sizes in grid(self.sizes) {
            let real: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
            let us = 0.5 + (self.shortest_us)(&real) * (1.02 + 0.58 * chance(&sizes, 7));
            let inputs = (self.inputs)(&sizes);
            let shape = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            let shapes = inputs.iter().map(shape).collect::<Vec<_>>().join(";");
            let formats = vec!["ND"; inputs.len()].join(";");
            let (output, output_type) = match self.class {
                "matmul" => (shape(&vec![sizes[0], sizes[1]]), "DT_BF16"),
                "quantize" => (shape(&inputs[0]), "FLOAT8_E4M3FN"),
                _ => (shape(&inputs[0]), "DT_BF16"),
            };
            let _ = writeln!(text, "\"{shapes}\",{},{formats},\"{output}\",{output_type},ND,{us}", self.types);
        }
        text
    }

    fn query(&self, sizes: &[i64]) -> AnyResult<Query> {
        let types = self.types.split(';').map(str::parse).collect::<Result<Vec<DType>, _>>()?;
        let tensors = (self.inputs)(sizes).into_iter().zip(types).map(|(shape, dtype)| Tensor::new(shape, dtype));
        Ok(tensors.fold(Query::kernel(self.name), Query::input))
    }

    /// Sizes between those of rows and up to twice as large, or half as small.
    fn asked(&self) -> Vec<Vec<i64>> {
        let mut all = Vec::new();
        for (at, sizes) in grid(self.sizes).into_iter().enumerate() {
            for round in 0..3 {
                let near = |(axis, size): (usize, &i64)| {
                    if round == 0 && axis > 0 {
                        return *size;
                    }
                    let by = 2.2 * chance(&[at as i64, axis as i64, round], 11) - 1.1;
                    ((*size as f64 * by.exp2()).round() as i64).max(1)
                };
                all.push(sizes.iter().enumerate().map(near).collect());
            }
        }
        all
    }
}

#[test]
fn no_answer_and_no_lower_end_is_below_the_roofline() -> AnyResult<()> {
    let mut files: Vec<(String, String)> =
        KERNELS.iter().map(|kernel| (format!("{}.csv", kernel.name), kernel.table())).collect();
    let classes = KERNELS.iter().map(|kernel| format!("  {}: {{class: {}}}\n", kernel.name, kernel.class));
    files.push((
        "op_mapping.yaml".to_owned(),
        format!("device: h100_sxm\nkernel_tables:\n{}", classes.collect::<String>()),
    ));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (_folder, database) = database(&files)?;
    for semantics in [ReaderSemantics::Corrected, ReaderSemantics::Best] {
        for kernel in KERNELS {
            let (answers, below) = sweep(&database, semantics, kernel)?;
            assert!(answers >= 5, "{} ({}): {answers} answers", kernel.name, semantics.name());
            assert!(below.is_empty(), "{} ({}): {below:#?}", kernel.name, semantics.name());
        }
    }
    Ok(())
}

/// How many queries of a kernel are answered, and those that are below the roofline.
fn sweep(database: &Database, semantics: ReaderSemantics, kernel: &Kernel) -> AnyResult<(usize, Vec<String>)> {
    let reader = database.reader(semantics, Layer::Interpolating);
    let (mut answers, mut below) = (0, Vec::new());
    for sizes in kernel.asked() {
        let Ok(answer) = reader.lookup(&kernel.query(&sizes)?) else { continue };
        answers += 1;
        let real: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
        let shortest_us = (kernel.shortest_us)(&real);
        let low_us = answer.prediction().map_or(answer.duration_us, |prediction| prediction.low_us);
        if low_us.min(answer.duration_us) < shortest_us * (1.0 - 1e-9) {
            below.push(format!("{sizes:?}: {} from {low_us}, {shortest_us} is possible", answer.duration_us));
        }
    }
    Ok((answers, below))
}
