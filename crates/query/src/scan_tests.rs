//! What the indexes find is what a look at every row finds.

use crate::answer::{Attention, DType, Hit, Tensor};
use crate::arguments::arguments;
use crate::attention::{self, Wanted};
use crate::elementwise;
use crate::inputs;
use crate::question::{By, Question};
use crate::rows::{KernelRow, KernelRows};
use crate::shapes::{flattened, strip};
use proptest::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;

const KERNEL_TYPES: [&str; 10] = [
    "MatMulV2",
    "BatchMatMulV2",
    "RmsNorm",
    "DynamicQuant",
    "Index",
    "PadV3",
    "Sort",
    "SwiGlu",
    "_triton_rope",
    "ReshapeAndCacheNdKernel",
];

/// One row: inputs, whether each is in the fractal format, a type, whether it is measured, and an average length.
type Drawn = (Vec<Vec<i64>>, Vec<bool>, usize, bool, i64);

fn dimension() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![-3, 0, 1, 1, 2, 8, 15, 16, 17, 32, 60, 64, 65, 72, 100, 128])
}

fn shapes() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(dimension(), 1..5), 1..5)
}

fn rows() -> impl Strategy<Value = Vec<Drawn>> {
    let formats = prop::collection::vec(prop::bool::weighted(0.2), 5);
    prop::collection::vec((shapes(), formats, 0..3usize, any::<bool>(), 0..60i64), 1..12)
}

/// Changes of shapes that rules undo, one for each dimension.
fn changed(mut shapes: Vec<Vec<i64>>, changes: &[u8]) -> Vec<Vec<i64>> {
    let mut changes = changes.iter().cycle();
    let mut next = || *changes.next().unwrap_or(&0);
    let round_up = |dimension: i64, block: i64| (dimension + block - 1) / block * block;
    for shape in &mut shapes {
        for dimension in &mut *shape {
            match next() {
                0 => *dimension = round_up(*dimension, 16),
                1 => *dimension = round_up(*dimension, 64),
                2 => *dimension = round_up(*dimension, 8),
                3 => *dimension += 1,
                _ => {}
            }
        }
        match next() {
            4 | 5 => shape.insert(0, 1),
            6 => shape.rotate_right(1),
            7 if shape[0] % 2 == 0 => *shape = [&[2, shape[0] / 2], &shape[1..]].concat(),
            8 => shape.reverse(),
            _ => {}
        }
    }
    match next() {
        9 => shapes.truncate(1),
        10 => shapes.rotate_left(1),
        _ => {}
    }
    shapes
}

fn table(kernel_type: &str, rows: &[Drawn]) -> KernelRows {
    let mut text = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us),\
                    Profiling Average Duration(us),Runtime avg_seq_len\n"
        .to_owned();
    for (at, (inputs, formats, dtype, is_measured, length)) in rows.iter().enumerate() {
        let dtype = ["DT_BF16", "FLOAT", "INT8"][*dtype];
        let joined = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let shapes: Vec<String> = inputs.iter().map(joined).collect();
        let formats: Vec<&str> =
            inputs.iter().zip(formats).map(|(_, &nz)| if nz { "FRACTAL_NZ" } else { "ND" }).collect();
        let measured = if *is_measured { at + 1 } else { 0 };
        text.push_str(&format!(
            "\"\"\"{}\"\"\",{},{},\"{}\",{dtype},{measured},{},{length}\n",
            shapes.join(";"),
            vec![dtype; inputs.len()].join(";"),
            formats.join(";"),
            shapes[0],
            at + 1,
        ));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{kernel_type}.csv"));
    std::fs::write(&path, text).expect("written");
    KernelRows::read(&path, kernel_type).expect("a table")
}

/// The best of all rows by inputs: its line and rule.
fn scan(tables: &[Arc<KernelRows>], question: &Question<'_>) -> Option<(u64, &'static str)> {
    let given = arguments(question)?;
    let mut found = Vec::new();
    for (order, table) in tables.iter().enumerate() {
        let rearranged = table.tolerance.arrangement.rearranged(&given);
        let given = Some(&given).filter(|_| rearranged.as_ref().is_none_or(|new| new.len() != given.len()));
        for row in table.iter() {
            for list in [given, rearranged.as_ref()].into_iter().flatten() {
                let rule = inputs::rule(table, list, row, question.input_count);
                found.extend(rule.map(|rule| ((rule.contains("padding"), order, row.column(), row.line()), rule)));
            }
        }
    }
    found.into_iter().min().map(|((.., line), rule)| (line, rule))
}

fn tensors(shapes: Vec<Vec<i64>>, dtype: usize) -> Vec<Tensor> {
    let dtype = [DType::Bf16, DType::Fp32, DType::Int8][dtype];
    shapes.into_iter().map(|shape| Tensor::new(shape, dtype)).collect()
}

fn line(hit: &Hit) -> u64 {
    hit.lines[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn by_inputs(
        kernel_type in prop::sample::select(KERNEL_TYPES.to_vec()),
        (first, second) in (rows(), rows()),
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(0..24u8, 12),
        input_count in prop::option::weighted(0.3, 0..5usize),
    ) {
        let (shapes, _, dtype, ..) = which.get(&first).clone();
        let tables: Vec<_> = [table(kernel_type, &first), table("MatMulV3", &second)].map(Arc::new).into();
        let inputs = tensors(changed(shapes, &changes), dtype);
        let question = Question {
            kernel_types: SmallVec::new(),
            inputs: &inputs,
            input_count,
            by: By::INPUTS,
            interpolate: false,
            square_root: false,
        };
        let hit = inputs::find(&tables, &question, None).ok();
        prop_assert_eq!(hit.map(|hit| (line(&hit), hit.rule)), scan(&tables, &question));
    }

    #[test]
    fn by_output(rows in rows(), which in any::<prop::sample::Index>(), changes in prop::collection::vec(0..24u8, 5)) {
        let (shapes, _, dtype, ..) = which.get(&rows).clone();
        let table = Arc::new(table("Mul", &rows));
        let output = tensors(changed(shapes[..1].to_vec(), &changes), dtype).remove(0);
        let (wanted, flat) = (strip(&output.shape), flattened(&output.shape));
        let fits = |row: &KernelRow<'_>| {
            elementwise::fits(wanted, flat, *row) && elementwise::scaled(*row, &output).is_some()
        };
        let scanned = table.iter().filter(fits).map(|row| (row.column(), row.line())).min();
        let found = elementwise::find(std::slice::from_ref(&table), &output).ok();
        prop_assert_eq!(found.map(|hit| line(&hit)), scanned.map(|(_, line)| line));
    }

    #[test]
    fn by_attention(
        drawn in rows(),
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(0..24u8, 5),
        length in 0..80i64,
    ) {
        let (shapes, _, dtype, ..) = which.get(&drawn).clone();
        let table = Arc::new(table("FusedInferAttentionScore", &drawn));
        let query = tensors(changed(shapes[..1].to_vec(), &changes), dtype).remove(0);
        let key = vec![1, *query.shape.last().unwrap_or(&1)];
        let question = Attention { query, key, kv_lengths: vec![length] };
        let found = attention::find(std::slice::from_ref(&table), &question).ok();
        let wanted = Wanted::of(&question);
        let distance = |row: KernelRow<'_>| {
            let wanted = wanted.as_ref().filter(|wanted| wanted.fits(row, true))?;
            let distance = (row.runtime()?.avg_seq_len? - wanted.average_length).abs();
            (distance <= 16.0).then_some((distance as i64, row.line()))
        };
        prop_assert_eq!(found.map(|hit| line(&hit)), table.iter().filter_map(distance).min().map(|(_, line)| line));
    }
}
