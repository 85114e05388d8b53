//! What the product answers where the simulator's readers are wrong, and what every rule set must hold.

use super::database;

use database::{AnyResult, COLUMNS, database};
use perfdb_query::{Argument, Class, DType, Database, Grid, Layer, Query, Reader, ReaderSemantics, Source, Tensor};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

fn mapping(entry: &str) -> String {
    format!("operator_mappings:\n  op: {{{entry}}}\n")
}

fn bf16(shape: &[i64]) -> Tensor {
    Tensor::new(shape, DType::BFloat16)
}

fn product(m: i64, k: i64, n: i64) -> Query {
    Query::operator("op").input(bf16(&[m, k])).input(bf16(&[k, n])).output(bf16(&[m, n]))
}

fn products(rows: &[(i64, i64, i64, f64)]) -> String {
    let mut table = format!("{COLUMNS}\n");
    for (m, k, n, us) in rows {
        let _ = writeln!(table, "\"{m},{k};{n},{k}\",DT_BF16;DT_BF16,ND;ND,\"{m},{n}\",DT_BF16,ND,{us}");
    }
    table
}

fn reader(database: &Database, semantics: ReaderSemantics) -> Reader {
    database.reader(semantics, Layer::Interpolating)
}

fn us(reader: &Reader, query: &Query) -> Option<f64> {
    reader.lookup(query).ok().map(|answer| answer.duration_us)
}

/// The semantics that answer between rows alone; `tests/best.rs` asks the one that goes beyond them.
fn between_rows() -> impl Iterator<Item = ReaderSemantics> {
    ReaderSemantics::ALL.into_iter().filter(|semantics| *semantics != ReaderSemantics::Best)
}

#[test]
fn an_exact_row_wins_over_a_padded_one_that_stands_earlier() -> AnyResult<()> {
    let table = products(&[(1, 512, 256, 8.0), (16, 512, 256, 54.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    assert_eq!(us(&reader(&database, ReaderSemantics::Corrected), &product(16, 512, 256)), Some(54.0));
    assert_eq!(us(&reader(&database, ReaderSemantics::Upstream), &product(16, 512, 256)), Some(8.0));
    Ok(())
}

#[test]
fn of_padded_rows_the_one_with_the_fewest_padded_elements_answers() -> AnyResult<()> {
    let table = products(&[(1, 512, 256, 8.0), (15, 512, 256, 50.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    let answer = reader(&database, ReaderSemantics::Corrected).lookup(&product(16, 512, 256))?;
    assert_eq!((answer.duration_us, answer.rows[0].line), (50.0, 3));
    Ok(())
}

#[test]
fn a_bracket_comes_before_a_smaller_row() -> AnyResult<()> {
    let entry = mapping("kernel_type: MatMulV2");
    let table = products(&[(16, 512, 256, 8.0), (64, 512, 256, 32.0)]);
    let (_folder, bracketed) = database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &entry)])?;
    let query = product(32, 512, 256);
    let answer = reader(&bracketed, ReaderSemantics::Corrected).lookup(&query)?;
    assert_eq!((answer.source, answer.is_padded()), (Source::Interpolated, false));
    assert!((answer.duration_us - 16.0).abs() < 1e-9, "{}", answer.duration_us);
    // The simulator takes the smaller row as it is.
    let answer = reader(&bracketed, ReaderSemantics::Upstream).lookup(&query)?;
    assert_eq!((answer.duration_us, answer.confidence), (8.0, 1.0));
    // Without a bracket the smaller row answers, and is trusted as far as it goes.
    let (_folder, alone) =
        database(&[("MatMulV2.csv", &products(&[(16, 512, 256, 8.0)])), ("op_mapping.yaml", &entry)])?;
    let answer = reader(&alone, ReaderSemantics::Corrected).lookup(&query)?;
    assert_eq!((answer.duration_us, answer.confidence, answer.source), (8.0, 0.5, Source::Padded));
    assert!(answer.is_padded());
    Ok(())
}

#[test]
fn inner_sizes_are_not_padded() -> AnyResult<()> {
    let table = products(&[(16, 250, 256, 8.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    assert_eq!(us(&reader(&database, ReaderSemantics::Corrected), &product(16, 256, 256)), None);
    assert_eq!(
        us(
            &reader(&database, ReaderSemantics::Upstream2025),
            &Query::operator("op").input(bf16(&[16, 256])).input(bf16(&[256, 256]))
        ),
        Some(8.0)
    );
    Ok(())
}

#[test]
fn a_batch_is_not_padded_and_tokens_at_most_to_the_next_tile() -> AnyResult<()> {
    let table = products(&[(1, 512, 256, 8.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    let reader = reader(&database, ReaderSemantics::Corrected);
    assert_eq!([16, 32, 64].map(|m| us(&reader, &product(m, 512, 256))), [Some(8.0), None, None]);
    Ok(())
}

#[test]
fn rows_of_two_equal_inputs_bracket_before_padding() -> AnyResult<()> {
    let mut table = format!("{COLUMNS}\n");
    for (m, us) in [(24, 25.0), (40, 42.0)] {
        let _ = writeln!(table, "\"{m},512;{m},512\",DT_BF16;DT_BF16,ND;ND,\"{m},512\",DT_BF16,ND,{us}");
    }
    let (_folder, database) = database(&[("Add.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: Add"))])?;
    let query = Query::operator("op").input(bf16(&[32, 512])).input(bf16(&[32, 512]));
    let answer = reader(&database, ReaderSemantics::Corrected).lookup(&query)?;
    assert_eq!(answer.source, Source::Interpolated);
    assert!((31.0..37.0).contains(&answer.duration_us), "{}", answer.duration_us);
    Ok(())
}

#[test]
fn a_padded_answer_is_no_measured_one_and_its_interval_reaches_to_the_work() -> AnyResult<()> {
    let table = products(&[(8, 512, 256, 100.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    let entry = database.reader(ReaderSemantics::Best, Layer::Measured).lookup(&product(16, 512, 256))?;
    assert_eq!((entry.source, entry.source.name()), (Source::Padded, "PADDED"));
    let prediction = entry.prediction().ok_or("an interval")?;
    assert_eq!(prediction.class, Class::Padded);
    assert!(prediction.low_us < 100.0 && prediction.high_us >= 200.0, "{}", prediction.high_us);
    Ok(())
}

#[test]
fn a_row_with_one_token_is_the_lower_end_of_a_bracket() -> AnyResult<()> {
    let table = format!(
        "{COLUMNS}\n\"1,512;512\",DT_BF16;DT_BF16,ND;ND,\"1,512\",DT_BF16,ND,2\n\"9,512;512\",DT_BF16;DT_BF16,ND;ND,\"9,512\",DT_BF16,ND,10\n"
    );
    let (_folder, database) =
        database(&[("RmsNorm.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: RmsNorm"))])?;
    let query = Query::operator("op").input(bf16(&[3, 512])).input(bf16(&[512])).output(bf16(&[3, 512]));
    let corrected = reader(&database, ReaderSemantics::Corrected).lookup(&query)?;
    assert_eq!(corrected.source, Source::Interpolated);
    assert!((corrected.duration_us - 20f64.sqrt()).abs() < 1e-9, "{}", corrected.duration_us);
    assert_eq!(us(&reader(&database, ReaderSemantics::Upstream2025), &query), Some(4.0));
    Ok(())
}

#[test]
fn without_a_tier_the_first_row_of_a_size_counts_on_both_sides() -> AnyResult<()> {
    let table = "message_bytes,num_devices,dtype,topology_tier,Duration(us)\n\
                 1000,2,DT_BF16,1,10\n1000,2,DT_BF16,2,90\n3000,2,DT_BF16,1,30\n3000,2,DT_BF16,2,200\n";
    let entry = mapping("kernel_type: hcom_allReduce_, category: communication");
    let (_folder, database) = database(&[("hcom_allReduce_.csv", table), ("op_mapping.yaml", &entry)])?;
    let ranks = || Argument::List(vec![Argument::Integer(0), Argument::Integer(1)]);
    let query = Query::operator("op").input(Tensor::new([2000], DType::Int8)).argument(ranks());
    for semantics in between_rows() {
        let answer = reader(&database, semantics).lookup(&query)?;
        assert!((10.0..=30.0).contains(&answer.duration_us), "{semantics:?}: {}", answer.duration_us);
        assert_eq!(answer.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4]);
    }
    let inner = query.clone().grid(Grid { shape: vec![2, 2, 2], tiers: vec![1, 2] });
    let answer = reader(&database, ReaderSemantics::Corrected).lookup(&inner)?;
    assert_eq!(answer.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 5]);
    Ok(())
}

#[test]
fn rows_of_the_very_type_come_first_in_a_table_of_collectives() -> AnyResult<()> {
    let table = "message_bytes,num_devices,dtype,topology_tier,Duration(us)\n\
                 1000,2,DT_FP16,0,10\n3000,2,DT_FP16,0,30\n1000,2,DT_INT8,0,12\n3000,2,DT_INT8,0,36\n1000,4,DT_INT8,0,50\n";
    let entry = mapping("kernel_type: hcom_allReduce_, category: communication");
    let (_folder, database) = database(&[("hcom_allReduce_.csv", table), ("op_mapping.yaml", &entry)])?;
    let ranks = |count: i64| Argument::List((0..count).map(Argument::Integer).collect());
    let query = |elements: i64, dtype: DType, devices: i64| {
        Query::operator("op").input(Tensor::new([elements], dtype)).argument(ranks(devices)).tier(0)
    };
    for semantics in [ReaderSemantics::Corrected, ReaderSemantics::Best] {
        let us = |query: Query| us(&reader(&database, semantics), &query);
        assert_eq!(us(query(1000, DType::Int8, 2)), Some(12.0), "{semantics:?}");
        assert_eq!(us(query(500, DType::Float16, 2)), Some(10.0), "{semantics:?}");
        // Between rows, too; and a group that only another type has still answers.
        let between = us(query(2000, DType::Int8, 2)).ok_or("no answer")?;
        assert!((12.0..=36.0).contains(&between) && between != us(query(1000, DType::Float16, 2)).unwrap_or(between));
        assert_eq!(us(query(500, DType::Float16, 4)), Some(50.0), "{semantics:?}");
        // That one says so, and is trusted less; so are all where a table has another type alone.
        let answer = |query: Query| reader(&database, semantics).lookup(&query);
        for (query, is_other) in [
            (query(500, DType::Float16, 4), true),
            (query(1000, DType::Int8, 4), false),
            (query(1000, DType::BFloat16, 2), true),
            (query(1000, DType::Int8, 2), false),
            (query(2000, DType::Int8, 2), false),
        ] {
            let answer = answer(query)?;
            assert_eq!(answer.is_of_other_type(), is_other, "{semantics:?} {answer:?}");
            assert_eq!(answer.rule, Some(if is_other { "other_type" } else { "comm" }));
            assert!(!is_other || answer.confidence < 0.81, "{answer:?}");
        }
    }
    let own = reader(&database, ReaderSemantics::Best).lookup(&query(1000, DType::Int8, 4))?;
    let other = reader(&database, ReaderSemantics::Best).lookup(&query(500, DType::Float16, 4))?;
    let ends =
        |answer: &perfdb_query::Answer| answer.prediction().map(|prediction| prediction.high_us / prediction.low_us);
    assert!(ends(&other) > ends(&own), "{other:?} {own:?}");
    assert_eq!(us(&reader(&database, ReaderSemantics::Upstream), &query(1000, DType::Int8, 2)), Some(10.0));
    Ok(())
}

#[test]
fn a_composite_whose_collective_misses_says_so_and_one_between_rows_is_interpolated() -> AnyResult<()> {
    let table = products(&[(16, 512, 256, 8.0), (32, 512, 256, 16.0)]);
    let collective = "message_bytes,num_devices,Duration(us)\n1024,2,10\n1048576,2,20\n";
    let entry = mapping("composite: true, sub_kernels: [MatMulV2, hcom_allReduce_], tc_input_count: 2");
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("hcom_allReduce_.csv", collective), ("op_mapping.yaml", &entry)])?;
    let ranks = |count: i64| Argument::List((0..count).map(Argument::Integer).collect());
    for semantics in between_rows() {
        let measured = database.reader(semantics, Layer::Measured);
        let miss = measured.lookup(&product(16, 512, 256).argument(ranks(3))).err().ok_or("an answer")?;
        assert_eq!(miss.reason.code(), "comm_sub_kernel_miss", "{semantics:?}");
    }
    for semantics in [ReaderSemantics::Corrected, ReaderSemantics::Upstream2025] {
        let answer = reader(&database, semantics).lookup(&product(24, 512, 256).argument(ranks(2)))?;
        assert_eq!((answer.source, answer.confidence), (Source::Interpolated, 0.5), "{semantics:?}");
    }
    Ok(())
}

/// A table of attention rows and the mapping to it.
fn attention(rows: &[(&str, i64, i64, &str, f64)]) -> AnyResult<(tempfile::TempDir, Database)> {
    let mut table =
        format!("{COLUMNS},Runtime avg_seq_len,Runtime sparse_mode,Runtime num_key_value_heads,Runtime input_layout\n");
    for (shape, length, mode, layout, us) in rows {
        let _ =
            writeln!(table, "\"{shape};9,2,128\",DT_BF16;DT_BF16,ND;ND,1,DT_BF16,ND,{us},{length},{mode},2,{layout}");
    }
    let entry = mapping("kernel_type: FusedInferAttentionScore, query_mode: attention_special");
    database(&[("FusedInferAttentionScore.csv", &table), ("op_mapping.yaml", &entry)])
}

fn attention_call(query: &[i64], key: &[i64], length: i64) -> Query {
    let nothing = [Argument::None, Argument::None, Argument::None];
    let call = Query::operator("op").input(bf16(query)).input(bf16(key)).input(bf16(key)).arguments(nothing);
    call.input(Tensor::of_values([length], DType::Int64))
}

#[test]
fn an_empty_layout_never_matches_and_a_blank_one_always_does() -> AnyResult<()> {
    let (_folder, database) = attention(&[("16,4,128", 100, 3, "", 1.0), ("16,4,128", 110, 3, " ", 2.0)])?;
    let query = attention_call(&[16, 4, 128], &[9, 2, 128], 100);
    for semantics in ReaderSemantics::ALL {
        let answer = database.reader(semantics, Layer::Measured).lookup(&query)?;
        assert_eq!(answer.duration_us, 2.0, "{semantics:?}");
    }
    Ok(())
}

#[test]
fn rows_without_causal_mode_answer_decode_calls_of_four_dimensions() -> AnyResult<()> {
    let (_folder, database) = attention(&[("16,4,1,128", 100, 0, "BNSD_NBSD", 7.0)])?;
    let query = attention_call(&[16, 4, 1, 128], &[9, 2, 64, 128], 100);
    let measured =
        |semantics| database.reader(semantics, Layer::Measured).lookup(&query).ok().map(|answer| answer.duration_us);
    assert_eq!(measured(ReaderSemantics::Corrected), Some(7.0));
    assert_eq!(measured(ReaderSemantics::Upstream), None);
    Ok(())
}

#[test]
fn exact_tokens_come_before_a_nearer_length() -> AnyResult<()> {
    let (_folder, database) = attention(&[("15,4,128", 100, 3, "TND", 1.0), ("16,4,128", 110, 3, "TND", 2.0)])?;
    let query = attention_call(&[16, 4, 128], &[9, 2, 128], 100);
    assert_eq!(us(&reader(&database, ReaderSemantics::Corrected), &query), Some(2.0));
    assert_eq!(us(&reader(&database, ReaderSemantics::Upstream), &query), Some(1.0));
    Ok(())
}

#[test]
fn a_row_of_another_type_is_no_measurement_of_an_elementwise_call() -> AnyResult<()> {
    let table = format!("{COLUMNS}\n\"8,512;8,512\",FLOAT;FLOAT,ND;ND,\"8,512\",FLOAT,ND,4\n");
    let (_folder, database) =
        database(&[("Add.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: Add, query_mode: elementwise"))])?;
    let query = Query::operator("op").input(bf16(&[8, 512])).input(bf16(&[8, 512])).output(bf16(&[8, 512]));
    let corrected = reader(&database, ReaderSemantics::Corrected).lookup(&query)?;
    assert_eq!((corrected.duration_us, corrected.source, corrected.confidence), (2.0, Source::Interpolated, 0.5));
    let upstream = reader(&database, ReaderSemantics::Upstream).lookup(&query)?;
    assert_eq!((upstream.duration_us, upstream.source, upstream.confidence), (2.0, Source::Measured, 0.9));
    Ok(())
}

#[test]
fn the_narrowest_bracket_answers() -> AnyResult<()> {
    let table = products(&[(1, 512, 64, 1.0), (4096, 512, 64, 4096.0), (100, 500, 64, 10.0), (100, 520, 64, 11.0)]);
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    let answer = reader(&database, ReaderSemantics::Corrected).lookup(&product(100, 512, 64))?;
    assert_eq!(answer.interpolation().map(|between| between.axes.to_vec()), Some(vec!["K"]));
    assert!((10.0..11.0).contains(&answer.duration_us));
    Ok(())
}

#[test]
fn rows_that_cannot_be_read_are_passed_over_and_the_others_answer() -> AnyResult<()> {
    let mut table = products(&[(16, 512, 256, 8.0)]);
    table.push_str("N/A,DT_BF16;DT_BF16,ND;ND,\"1,1\",DT_BF16,ND,5\n\"x,1;1,1\",DT_BF16;DT_BF16,ND;ND,,DT_BF16,ND,5\n");
    table.push_str(
        "\"1,1;1,1\",DT_BF16;DT_BF16,ND;ND,,DT_BF16,ND,nan\n\"2,2;2,2\",DT_BF16;DT_BF16,ND;ND,,DT_BF16,ND,-1\n",
    );
    let (_folder, database) =
        database(&[("MatMulV2.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: MatMulV2"))])?;
    for semantics in between_rows() {
        let reader = reader(&database, semantics);
        assert_eq!(us(&reader, &product(16, 512, 256)), Some(8.0));
        assert_eq!(us(&reader, &product(1, 1, 1)), None, "no made-up number");
        let nearest = reader.nearest(&product(17, 512, 256), 1);
        assert_eq!((nearest[0].row.line, nearest[0].difference.as_str()), (2, "input 1 is 16,512, not 17,512"));
    }
    Ok(())
}

#[test]
fn replaced_files_are_seen_when_the_database_is_opened_again() -> AnyResult<()> {
    let (folder, database) = database(&[
        ("MatMulV2.csv", &products(&[(16, 512, 256, 8.0)])),
        ("op_mapping.yaml", &mapping("kernel_type: MatMulV2")),
    ])?;
    assert_eq!(database.lookup(&product(16, 512, 256))?.duration_us, 8.0);
    let before = reader(&database, ReaderSemantics::Corrected);
    assert!(!database.reopen()?);
    let new = folder.path().join("new");
    std::fs::write(&new, products(&[(16, 512, 256, 9.25)]))?;
    std::fs::rename(new, folder.path().join("MatMulV2.csv"))?;
    assert!(database.reopen()?);
    assert_eq!(database.lookup(&product(16, 512, 256))?.duration_us, 9.25);
    assert_eq!(us(&before, &product(16, 512, 256)), Some(8.0), "a reader keeps what it began with");
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&database);
    is_shared(&before);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Sizes that kernels round up to one another, in any order, weights stored either way.
    #[test]
    fn every_row_answers_for_itself(
        sizes in prop::collection::btree_set((
            prop::sample::select(vec![1i64, 7, 15, 16, 17, 32, 60, 64, 100, 128]),
            prop::sample::select(vec![250i64, 256, 512]),
            prop::sample::select(vec![60i64, 64, 768]),
        ), 1..40),
        order in any::<u64>(),
    ) {
        let mut sizes: Vec<(i64, i64, i64)> = sizes.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        sizes.sort_by_key(|(m, k, n)| (m * 31 + k * 17 + n).wrapping_mul(order as i64 | 1));
        let rows: Vec<(i64, i64, i64, f64)> =
            sizes.iter().enumerate().map(|(at, (m, k, n))| (*m, *k, *n, 1.0 + at as f64)).collect();
        let (_folder, database) = database(&[
            ("MatMulV2.csv", &products(&rows)),
            ("op_mapping.yaml", &mapping("kernel_type: MatMulV2")),
        ]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let reader = reader(&database, ReaderSemantics::Corrected);
        for (m, k, n, us) in rows {
            let answer = reader.lookup(&product(m, k, n)).map_err(|miss| TestCaseError::fail(miss.to_string()))?;
            prop_assert_eq!((answer.duration_us, answer.source), (us, Source::Measured));
            let batched = Query::operator("op").input(bf16(&[1, m, k])).input(bf16(&[k, n]));
            prop_assert_eq!(reader.lookup(&batched).ok().map(|answer| answer.duration_us), Some(us));
        }
    }

    /// Between rows the answer lies between their durations, and their order does not matter.
    #[test]
    fn answers_between_rows_lie_between_them(
        sizes in prop::collection::btree_set((1i64..200, prop::sample::select(vec![128i64, 256, 384])), 3..30),
        m in 1i64..200,
        k in prop::sample::select(vec![128i64, 200, 256, 384]),
    ) {
        let rows: Vec<(i64, i64, i64, f64)> =
            sizes.into_iter().map(|(m, k)| (m, k, 64, 2.0 + (m * k) as f64 / 100.0)).collect();
        let mut turned = rows.clone();
        turned.reverse();
        let entry = mapping("kernel_type: MatMulV2");
        let answer = |rows: &[(i64, i64, i64, f64)]| -> AnyResult<Option<f64>> {
            let (_folder, database) = database(&[("MatMulV2.csv", &products(rows)), ("op_mapping.yaml", &entry)])?;
            Ok(us(&reader(&database, ReaderSemantics::Corrected), &product(m, k, 64)))
        };
        let forward = answer(&rows).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let backward = answer(&turned).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if let Some(us) = forward {
            let (low, high) = rows.iter().fold((f64::MAX, 0.0f64), |(low, high), row| (low.min(row.3), high.max(row.3)));
            prop_assert!(us >= low * (1.0 - 1e-12) && us <= high * (1.0 + 1e-12), "{us} in {low}..{high}");
        }
        match (forward, backward) {
            (Some(a), Some(b)) => prop_assert!((a - b).abs() <= 1e-9 * a, "{a} {b}"),
            (a, b) => prop_assert_eq!(a, b),
        }
    }
}

/// The table that is there says why it does not answer, wherever its name stands among those of the mapping.
#[test]
fn names_without_a_table_hide_no_reason() -> AnyResult<()> {
    let reason = |reader: &Reader, query: &Query| reader.lookup(query).err().map(|miss| miss.reason.to_string());
    let cast = format!("{COLUMNS}\n\"16,512\",DT_BF16,ND,\"16,512\",DT_BF16,ND,5\n");
    let wanted = Query::operator("op").input(bf16(&[16, 7])).output(bf16(&[16, 7]));
    for names in
        ["kernel_type: Cast, alternate_kernel_types: [None]", "kernel_type: None, alternate_kernel_types: [Cast]"]
    {
        let (_folder, database) = database(&[("Cast.csv", &cast), ("op_mapping.yaml", &mapping(names))])?;
        let reader = reader(&database, ReaderSemantics::Corrected);
        assert_eq!(reason(&reader, &wanted).as_deref(), Some("regime_key_unmatched"), "{names}");
    }
    let sizes = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n1024,4,DT_BF16,0,5,1\n";
    let ranks = Argument::List(vec![Argument::Integer(0), Argument::Integer(1)]);
    let wanted = Query::operator("op").input(bf16(&[512])).argument(ranks);
    let names = "kernel_type: hcom_a_, alternate_kernel_types: [hcom_b_], category: communication";
    let (_folder, database) = database(&[("hcom_a_.csv", sizes), ("op_mapping.yaml", &mapping(names))])?;
    let reader = database.reader(ReaderSemantics::Corrected, Layer::Measured);
    assert_eq!(reason(&reader, &wanted).as_deref(), Some("shape_mismatch"));
    Ok(())
}

/// A row of the very type answers before all others; one of another type says so, and is trusted less.
#[test]
fn rows_of_the_very_type_answer() -> AnyResult<()> {
    let types = [DType::BFloat16, DType::Float16, DType::Float32, DType::Int8];
    let row = |name: &str, us: usize| format!("\"16,1024;512,1024\",{name};{name},ND;ND,\"16,512\",{name},ND,{us}\n");
    let query = |dtype: DType| {
        let tensor = |shape: [i64; 2]| Tensor::new(shape, dtype);
        Query::kernel("MatMulV2").input(tensor([16, 1024])).input(tensor([512, 1024]))
    };
    let names = ["DT_BF16", "FLOAT16", "FLOAT", "INT8"];
    let rows: String = names.iter().enumerate().map(|(at, name)| row(name, 10 + at)).collect();
    for table in [format!("{COLUMNS}\n{rows}"), format!("{COLUMNS}\n{}", rows.replace("FLOAT16", "DT_FLOAT16"))] {
        let (_folder, database) = database(&[("MatMulV2.csv", &table)])?;
        for semantics in [ReaderSemantics::Corrected, ReaderSemantics::Best] {
            for (at, dtype) in types.into_iter().enumerate() {
                let answer = reader(&database, semantics).lookup(&query(dtype))?;
                assert_eq!((answer.duration_us, answer.confidence), (10.0 + at as f64, 1.0), "{dtype} {semantics:?}");
            }
        }
    }
    for (own, asked) in [("FLOAT", DType::BFloat16), ("DT_BF16", DType::Float16)] {
        let (_folder, database) = database(&[("MatMulV2.csv", &format!("{COLUMNS}\n{}", row(own, 44)))])?;
        for semantics in [ReaderSemantics::Corrected, ReaderSemantics::Best] {
            let answer = reader(&database, semantics).lookup(&query(asked))?;
            assert_eq!((answer.duration_us, answer.confidence, answer.rule), (44.0, 0.5, Some("other_type")));
            if let Some(prediction) = answer.prediction() {
                assert!(prediction.low_us < 23.0 && prediction.high_us > 87.0, "{prediction:?}");
            }
        }
    }
    Ok(())
}

/// 8-bit and 4-bit floats answer their own queries.
#[test]
fn small_floats_answer_their_own_queries() -> AnyResult<()> {
    for (name, dtype) in
        [("FLOAT8_E4M3FN", DType::Float8E4M3Fn), ("FLOAT4_E2M1", DType::Float4E2M1FnX2), ("INT4", DType::Int4)]
    {
        let table = format!("{COLUMNS}\n\"16,64;64,32\",{name};{name},ND;ND,\"16,32\",{name},ND,7\n");
        let (_folder, database) = database(&[("gemm.csv", &table)])?;
        let query = Query::kernel("gemm").input(Tensor::new([16, 64], dtype)).input(Tensor::new([64, 32], dtype));
        assert_eq!(us(&reader(&database, ReaderSemantics::Corrected), &query), Some(7.0), "{name}");
        assert_eq!(us(&reader(&database, ReaderSemantics::Upstream), &query), None, "{name}");
    }
    Ok(())
}

#[test]
fn rows_of_the_expert_parallel_size_that_is_asked_for_come_first() -> AnyResult<()> {
    let mut table = format!("{COLUMNS},EP Size\n");
    for (us, ep) in [(2538.0, 1), (1096.0, 4)] {
        let _ = writeln!(table, "\"64,128;8,128,32\",DT_BF16;DT_BF16,ND;ND,\"64,128\",DT_BF16,ND,{us},{ep}");
    }
    let (_folder, database) = database(&[("moe.csv", &table), ("op_mapping.yaml", &mapping("kernel_type: moe"))])?;
    let query = Query::kernel("moe").input(bf16(&[64, 128])).input(bf16(&[8, 128, 32]));
    for (semantics, expected) in [
        (ReaderSemantics::Corrected, [2538.0, 1096.0, 2538.0]),
        (ReaderSemantics::Best, [2538.0, 1096.0, 2538.0]),
        (ReaderSemantics::Upstream, [2538.0, 2538.0, 2538.0]),
    ] {
        let reader = reader(&database, semantics);
        // A size without a row is answered as if none was given.
        let answers = [1, 4, 2].map(|ep| us(&reader, &query.clone().ep_size(ep)));
        assert_eq!(answers, expected.map(Some), "{semantics:?}");
    }
    Ok(())
}
