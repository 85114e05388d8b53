//! What no estimate may contradict: the peaks of the device, the regimes of attention, more work in more time.

use perfdb_query::{Argument, DType, Database, Layer, Query, Reader, ReaderSemantics, Source, Tensor};
use std::fmt::Write;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const COLUMNS: &str = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)";
const H100: &str = "device: NVIDIA H100 80GB HBM3\n";

fn database(
    name: &str,
    table: &str,
    mapping: &str,
) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(name), table)?;
    std::fs::write(folder.path().join("op_mapping.yaml"), mapping)?;
    let database = Database::open(folder.path())?;
    Ok((folder, database))
}

fn best(database: &Database) -> Reader {
    database.reader(ReaderSemantics::Best, Layer::Interpolating)
}

fn bf16(shape: &[i64]) -> Tensor {
    Tensor::new(shape, DType::BFloat16)
}

/// Rows of attention: tokens, requests, average length, microseconds.
fn attention(rows: &[(i64, i64, i64, f64)]) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let mut table = format!(
        "{COLUMNS},Runtime avg_seq_len,Runtime sparse_mode,Runtime num_key_value_heads,Runtime input_layout,Runtime batch_size\n"
    );
    for (tokens, requests, length, us) in rows {
        writeln!(table, "\"{tokens},32,128;9,8,128\",DT_BF16;DT_BF16,ND;ND,{us},{length},3,8,TND,{requests}")?;
    }
    let entry = "operator_mappings:\n  op: {kernel_type: FusedInferAttentionScore, query_mode: attention_special}\n";
    database("FusedInferAttentionScore.csv", &table, &format!("{H100}{entry}"))
}

fn call(tokens: i64, requests: i64, length: i64) -> Query {
    let nothing = [Argument::None, Argument::None, Argument::None];
    let call =
        Query::operator("op").input(bf16(&[tokens, 32, 128])).input(bf16(&[9, 8, 128])).input(bf16(&[9, 8, 128]));
    call.arguments(nothing).input(Tensor::of_values(vec![length; requests as usize], DType::Int64))
}

#[test]
fn decoding_is_not_predicted_from_prompts() -> TestResult {
    let prompts: Vec<_> = [256, 512, 1024, 2048, 4096].map(|tokens| (tokens, 1, tokens, tokens as f64 / 20.0)).into();
    let (_folder, database) = attention(&prompts)?;
    let best = best(&database);
    assert!(best.lookup(&call(300, 1, 300)).is_ok());
    assert!(best.lookup(&call(138, 138, 2304)).is_err(), "no row decodes");
    Ok(())
}

#[test]
fn nothing_is_faster_than_the_memory_of_the_device() -> TestResult {
    // Rows at the peak of 3.35 TB/s, but a call far beyond them.
    let bytes = |requests: i64, length: i64| (requests * length * 8 * 128 * 2 * 2 + 2 * 2 * requests * 32 * 128) as f64;
    let rows: Vec<_> = [1, 2, 4, 8]
        .into_iter()
        .flat_map(|requests| {
            [16, 32, 64, 128].map(|length| (requests, requests, length, 5.0 + bytes(requests, length) / 3.3e6))
        })
        .collect();
    let (_folder, database) = attention(&rows)?;
    for (requests, length) in [(138, 2304), (512, 100), (8, 100_000)] {
        let answer = best(&database).lookup(&call(requests, requests, length))?;
        let least_us = bytes(requests, length) / 3.35e6;
        let prediction = answer.prediction().ok_or("an interval")?;
        assert!(answer.duration_us >= least_us * (1.0 - 1e-9), "{requests} x {length}: {} us", answer.duration_us);
        assert!(prediction.low_us >= least_us * (1.0 - 1e-9) && prediction.high_us >= answer.duration_us);
    }
    Ok(())
}

#[test]
fn a_row_faster_than_the_peaks_stays_what_it_is() -> TestResult {
    let table = format!("{COLUMNS}\n\"4096,4096;4096,4096\",DT_BF16;DT_BF16,ND;ND,1.5\n");
    let mapping = format!("{H100}operator_mappings:\n  op: {{kernel_type: MatMulV2}}\n");
    let (_folder, database) = database("MatMulV2.csv", &table, &mapping)?;
    let answer =
        best(&database).lookup(&Query::operator("op").input(bf16(&[4096, 4096])).input(bf16(&[4096, 4096])))?;
    assert_eq!((answer.duration_us, answer.source), (1.5, Source::Measured));
    Ok(())
}

/// A kernel that nobody described, over tokens, heads and the size of a state.
fn state_update_us(tokens: i64, heads: i64, state: i64) -> f64 {
    4.0 + tokens as f64 * heads as f64 * (state as f64).powf(0.7) / 2e4
}

fn state_update(tokens: i64, heads: i64, state: i64) -> Query {
    Query::operator("op").input(bf16(&[tokens, heads, 128])).input(bf16(&[heads, state])).input(bf16(&[tokens, heads]))
}

fn state_updates() -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let mut table = format!("{COLUMNS}\n");
    for tokens in [1, 4, 16, 64, 256, 1024, 4096] {
        for heads in [4, 8, 16, 32, 64] {
            for state in [64, 128, 256] {
                let us = state_update_us(tokens, heads, state);
                writeln!(
                    table,
                    "\"{tokens},{heads},128;{heads},{state};{tokens},{heads}\",DT_BF16;DT_BF16;DT_BF16,ND;ND;ND,{us}"
                )?;
            }
        }
    }
    database("state_update.csv", &table, "operator_mappings:\n  op: {kernel_type: state_update}\n")
}

#[test]
fn all_sizes_of_a_kernel_that_nobody_described_are_axes() -> TestResult {
    let (_folder, database) = state_updates()?;
    let best = best(&database);
    for (tokens, heads, state) in [(100, 8, 128), (64, 24, 128), (64, 16, 96), (512, 48, 192)] {
        let answer = best.lookup(&state_update(tokens, heads, state))?;
        let us = state_update_us(tokens, heads, state);
        assert!((answer.duration_us / us).ln().abs() < 0.1, "{tokens} {heads} {state}: {} of {us}", answer.duration_us);
        assert!(answer.prediction().is_some_and(|prediction| prediction.low_us < us && us < prediction.high_us));
    }
    Ok(())
}

#[test]
fn more_work_takes_no_less_time() -> TestResult {
    let (_folder, database) = state_updates()?;
    let best = best(&database);
    let us = |[tokens, heads, state]: [i64; 3]| {
        best.lookup(&state_update(tokens, heads, state)).map(|answer| answer.duration_us)
    };
    for axis in 0..3 {
        let mut before = 0.0;
        for step in 1..12 {
            let mut sizes = [40, 12, 100];
            sizes[axis] = sizes[axis] * (4 + step) / 5;
            let now = us(sizes)?;
            assert!(now >= before, "{sizes:?}: {now} after {before}");
            before = now;
        }
    }
    Ok(())
}
