//! Small tables whose answers can be worked out by hand.

use perfdb_model::predict::{Attention, Operands, Point, Precision, Rows, Table, configuration};
use perfdb_query::{
    Argument, Class, DType, Database, Layer, ParallelConfig, Query, Reader, ReaderSemantics, Source, Tensor, read_trace,
};
use std::fmt::Write as _;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const COLUMNS: &str =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)";

/// A database of some files and a mapping with one entry.
fn database(
    files: &[(&str, String)],
    entry: &str,
) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text)?;
    }
    std::fs::write(folder.path().join("op_mapping.yaml"), format!("operator_mappings:\n  op: {{{entry}}}\n"))?;
    let database = Database::open(folder.path())?;
    Ok((folder, database))
}

fn bf16(shape: &[i64]) -> Tensor {
    Tensor::new(shape, DType::BFloat16)
}

fn corrected(database: &Database) -> Reader {
    database.reader(ReaderSemantics::Corrected, Layer::Interpolating)
}

fn is_close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-12
}

/// A row of a product.
fn product_row(m: i64, k: i64, n: i64, formats: &str, us: f64) -> String {
    format!("\"{m},{k};{n},{k}\",DT_BF16;DT_BF16,{formats},\"{m},{n}\",DT_BF16,ND,{us}\n")
}

fn product(m: i64, k: i64, n: i64) -> Query {
    Query::operator("op").input(bf16(&[m, k])).input(bf16(&[k, n])).output(bf16(&[m, n]))
}

/// Attention of some tokens with four heads of 128, two of them key heads, with what is in the caches of so many requests.
fn attention_call(tokens: i64, lengths: Vec<i64>) -> Query {
    let (query, key) = (bf16(&[tokens, 4, 128]), bf16(&[9, 2, 128]));
    let nothing = [Argument::None, Argument::None, Argument::None];
    let call = Query::operator("op").input(query).input(key.clone()).input(key).arguments(nothing);
    call.input(Tensor::of_values(lengths, DType::Int64))
}

const ATTENTION: &str = "kernel_type: FusedInferAttentionScore, query_mode: attention_special";

/// Rows of attention: tokens, length, batch (none: no such column), duration.
fn attention_table(rows: &[(i64, i64, Option<i64>, f64)]) -> String {
    let has_batch = rows.iter().any(|row| row.2.is_some());
    let mut table = format!(
        "{COLUMNS},Runtime avg_seq_len,Runtime sparse_mode,Runtime num_key_value_heads,Runtime input_layout{}\n",
        if has_batch { ",Runtime batch_size" } else { "" }
    );
    for (tokens, length, batch, us) in rows {
        let batch = batch.map_or(String::new(), |batch| format!(",{batch}"));
        let _ = writeln!(
            table,
            "\"{tokens},4,128;9,2,128\",DT_BF16;DT_BF16,ND;ND,1,DT_BF16,ND,{us},{length},3,2,TND{batch}"
        );
    }
    table
}

fn attention(
    rows: &[(i64, i64, Option<i64>, f64)],
) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    database(&[("FusedInferAttentionScore.csv", attention_table(rows))], ATTENTION)
}

/// Casts to two types have the same inputs.
#[test]
fn of_rows_with_the_same_inputs_the_one_with_the_results_answers() -> TestResult {
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us)\n";
    let rows = "\"64,8\",FLOAT,ND,\"64,8\",DT_BF16,2\n\"64,8\",FLOAT,ND,\"64,8\",DT_INT8,3\n\"64,8\",FLOAT,ND,\"64,4\",INT8,4\n";
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("Cast.csv"), format!("{header}{rows}"))?;
    let database = Database::open(folder.path())?;
    let query = || Query::kernel("Cast").input(Tensor::new([64, 8], DType::Float32));
    let us = |query: Query| corrected(&database).lookup(&query).map(|answer| answer.duration_us);
    assert_eq!(us(query()), Ok(2.0), "without a result the first row");
    assert_eq!(us(query().output(Tensor::new([64, 8], DType::Int8))), Ok(3.0));
    assert_eq!(us(query().output(Tensor::new([64, 4], DType::Int8))), Ok(4.0));
    assert_eq!(us(query().output(Tensor::new([64, 2], DType::Int8))), Ok(2.0), "no row has it");
    Ok(())
}

#[test]
fn attention_between_lengths_keeps_to_rows_with_as_many_tokens_per_request() -> TestResult {
    // 16 requests of one token each, and two of 8.
    let rows = [
        (16, 100, Some(16), 10.0),
        (16, 300, Some(16), 30.0),
        (16, 100, Some(2), 1000.0),
        (16, 300, Some(2), 3000.0),
        (16, 250, Some(0), 5.0),
    ];
    let (_folder, database) = attention(&rows)?;
    let us = |requests: usize| {
        corrected(&database).lookup(&attention_call(16, vec![200; requests])).map(|answer| answer.duration_us)
    };
    assert!(is_close(us(16)?, 20.0) && is_close(us(2)?, 2000.0));
    // Four tokens each: no row tells.
    assert!(us(4).is_err());
    Ok(())
}

#[test]
fn attention_without_batches_is_found_between_lengths_alone() -> TestResult {
    let (_folder, database) = attention(&[(16, 100, None, 10.0), (16, 300, None, 30.0)])?;
    assert!(is_close(corrected(&database).lookup(&attention_call(16, vec![200; 16]))?.duration_us, 20.0));
    Ok(())
}

#[test]
fn attention_is_learnt_by_its_work_and_grows_along_its_length() -> TestResult {
    let us = |tokens: i64, length: i64| 5.0 + (tokens * length) as f64 / 1e4 * (1.0 + (length % 7) as f64 / 100.0);
    let (mut measured, mut known) = (Vec::new(), Rows::new(4));
    let place = |tokens: i64, length: i64| {
        let [tokens, length] = [tokens, length].map(|number| number as f64);
        let call = Attention { batch: 1.0, tokens: length, heads: 4.0, kv_heads: 2.0, head_size: 128.0, window: 0.0 };
        Point {
            axes: [tokens, length, 4.0, 128.0].into_iter().collect(),
            work: call.with_cache(tokens, Operands::of(Precision::Bf16).activation_bytes),
            configuration: configuration(&[4.0, 128.0]),
            ..Point::default()
        }
    };
    for tokens in [1, 4, 16, 64, 256] {
        for length in [256, 512, 1024, 2048, 4096, 8192] {
            known.push(measured.len() as u32, &place(tokens, length), us(tokens, length), None);
            measured.push((tokens, length, None, us(tokens, length)));
        }
    }
    let (_folder, database) = attention(&measured)?;
    let (best, table) =
        (database.reader(ReaderSemantics::Best, Layer::Interpolating), Table::new(vec![known], Some(1)));
    // The second is longer than all rows, and not larger than all in tokens.
    for (tokens, length, class) in [(16, 700, Class::Inside), (16, 20_000, Class::Beyond)] {
        let answer = best.lookup(&attention_call(tokens, vec![length]))?;
        let expected = table.predict(0, &place(tokens, length)).ok_or("no prediction")?;
        let prediction = answer.prediction().ok_or("no interval")?;
        assert_eq!((prediction.class, expected.class), (class, class));
        assert_eq!((answer.duration_us, prediction.low_us), (expected.duration_us, expected.low_us));
    }
    Ok(())
}

#[test]
fn norms_are_learnt_by_the_bytes_of_their_matrix() -> TestResult {
    let us = |rows: i64, columns: i64| 2.0 + (rows * columns) as f64 / 1e5 + (rows % 5) as f64 / 10.0;
    let place = |rows: i64, columns: i64| Point::elementwise(rows as f64, columns as f64, 4.0);
    let (mut table, mut known) = (format!("{COLUMNS}\n"), Rows::new(2));
    for rows in [1, 16, 64, 256, 1024, 4096] {
        for columns in [512, 1024, 2048, 8192] {
            known.push(known.len() as u32, &place(rows, columns), us(rows, columns), None);
            writeln!(
                table,
                "\"{rows},{columns};{columns}\",DT_BF16;DT_BF16,ND;ND,\"{rows},{columns}\",DT_BF16,ND,{}",
                us(rows, columns)
            )?;
        }
    }
    let (_folder, database) = database(&[("RmsNorm.csv", table)], "kernel_type: RmsNorm, input_count: 2")?;
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let expected = Table::new(vec![known], Some(0));
    for (rows, columns) in [(500, 1024), (9000, 2048), (500, 4096)] {
        let query = Query::operator("op").input(bf16(&[rows, columns])).input(bf16(&[columns]));
        let expected = expected.predict(0, &place(rows, columns)).ok_or("no prediction")?;
        assert_eq!(best.lookup(&query)?.duration_us, expected.duration_us);
    }
    Ok(())
}

#[test]
fn rows_with_a_format_too_few_are_no_places() -> TestResult {
    let rows = [(16, "ND;ND", 10.0), (20, "ND", 500.0), (32, "ND;ND", 26.0)];
    let table: String = rows.iter().map(|(m, formats, us)| product_row(*m, 512, 256, formats, *us)).collect();
    let (_folder, database) = database(&[("MatMulV2.csv", format!("{COLUMNS}\n{table}"))], "kernel_type: MatMulV2")?;
    // Between 16 and 32 rows, where twice as many take 2.6 times as long.
    let expected = 10.0 * 1.5f64.powf(2.6f64.log2());
    assert!(is_close(corrected(&database).lookup(&product(24, 512, 256))?.duration_us, expected));
    Ok(())
}

#[test]
fn a_padded_row_answers_where_there_is_nothing_to_go_between() -> TestResult {
    let table = format!("{COLUMNS}\n{}", product_row(15, 512, 256, "ND;ND", 50.0));
    let (_folder, database) = database(&[("MatMulV2.csv", table)], "kernel_type: MatMulV2")?;
    let answer = corrected(&database).lookup(&product(16, 512, 256))?;
    assert_eq!((answer.duration_us, answer.source), (50.0, Source::Padded));
    Ok(())
}

#[test]
fn the_nearest_length_of_all_tables_answers_and_in_2025_that_of_the_first() -> TestResult {
    let files = [
        ("FusedInferAttentionScore.csv", attention_table(&[(16, 110, None, 7.0)])),
        ("OtherAttention.csv", attention_table(&[(16, 100, None, 5.0)])),
    ];
    let entry = "kernel_type: FusedInferAttentionScore, alternate_kernel_types: [OtherAttention], query_mode: attention_special";
    let (_folder, database) = database(&files, entry)?;
    let us = |semantics| {
        let answer = database.reader(semantics, Layer::Measured).lookup(&attention_call(16, vec![100]));
        answer.map(|answer| answer.duration_us)
    };
    assert_eq!((us(ReaderSemantics::Corrected)?, us(ReaderSemantics::Upstream2025)?), (5.0, 7.0));
    Ok(())
}

/// An elementwise kernel of one input: shapes of its rows, and durations.
fn elementwise(rows: &[(&str, f64)]) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let mut table = format!("{COLUMNS}\n");
    for (shape, us) in rows {
        writeln!(table, "\"{shape}\",DT_BF16,ND,\"{shape}\",DT_BF16,ND,{us}")?;
    }
    database(&[("Neg.csv", table)], "kernel_type: Neg, query_mode: elementwise")
}

fn negated(shape: &[i64]) -> Query {
    Query::operator("op").input(bf16(shape)).output(bf16(shape))
}

#[test]
fn of_padded_outputs_the_one_with_the_fewest_padded_elements_answers() -> TestResult {
    for rows in [[("1,512", 1.0), ("15,512", 15.0)], [("1,1,512", 1.0), ("1,15,512", 15.0)]] {
        for rows in [rows, [rows[1], rows[0]]] {
            let (_folder, database) = elementwise(&rows)?;
            let measured = database.reader(ReaderSemantics::Corrected, Layer::Measured);
            assert_eq!(measured.lookup(&negated(&[16, 512]))?.duration_us, 15.0, "{rows:?}");
        }
    }
    Ok(())
}

#[test]
fn outputs_are_padded_in_their_tokens_alone() -> TestResult {
    let (_folder, database) = elementwise(&[("16,500", 7.0)])?;
    let us = |semantics| {
        database.reader(semantics, Layer::Measured).lookup(&negated(&[16, 512])).ok().map(|answer| answer.duration_us)
    };
    assert_eq!((us(ReaderSemantics::Corrected), us(ReaderSemantics::Upstream)), (None, Some(7.0)));
    Ok(())
}

#[test]
fn a_database_is_read_anew_where_a_table_or_the_mapping_has_changed() -> TestResult {
    let table = |us: f64| format!("{COLUMNS}\n{}", product_row(16, 512, 256, "ND;ND", us));
    let (folder, database) = database(&[("MatMulV2.csv", table(50.0))], "kernel_type: MatMulV2")?;
    let names = |database: &Database| database.kernel_types().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&database), ["MatMulV2"]);
    assert!(!database.reopen()?);
    // Another length, so that no clock is needed to tell.
    std::fs::write(folder.path().join("MatMulV2.csv"), table(60.25))?;
    assert!(database.reopen()?);
    assert_eq!(corrected(&database).lookup(&product(16, 512, 256))?.duration_us, 60.25);
    std::fs::write(folder.path().join("Add.csv"), format!("{COLUMNS}\n"))?;
    assert!(database.reopen()? && !database.reopen()?);
    assert_eq!(names(&database), ["Add", "MatMulV2"]);
    Ok(())
}

#[test]
fn new_tables_are_seen_where_collectives_lie_elsewhere() -> TestResult {
    let table = format!("{COLUMNS}\n{}", product_row(16, 512, 256, "ND;ND", 50.0));
    let entry = "kernel_type: MatMulV2}\ncommunication_data_ref: collectives\nrest: {none: none";
    let (folder, database) = database(&[("MatMulV2.csv", table)], entry)?;
    std::fs::create_dir(folder.path().join("collectives"))?;
    assert!(!database.reopen()?);
    std::fs::write(folder.path().join("Add.csv"), format!("{COLUMNS}\n"))?;
    assert!(database.reopen()? && !database.reopen()?);
    std::fs::write(folder.path().join("collectives/hcom_allReduce_.csv"), "message_bytes,num_devices,Duration(us)\n")?;
    assert!(database.reopen()? && !database.reopen()?);
    Ok(())
}

#[test]
fn a_matrix_that_lies_the_other_way_round_is_told_and_a_weight_is_not() -> TestResult {
    let row = "\"512,16;256,512\",DT_BF16;DT_BF16,ND;ND,\"16,256\",DT_BF16,ND,7\n";
    let (_folder, database) = database(&[("MatMulV2.csv", format!("{COLUMNS}\n{row}"))], "kernel_type: MatMulV2")?;
    let (_, explanation) = database.reader(ReaderSemantics::Corrected, Layer::Measured).explain(&product(16, 512, 256));
    let told = explanation.lines.join("\n");
    assert!(told.contains("input 1 is 512,16, not 16,512") && !told.contains("input 2"), "{told}");
    Ok(())
}

#[test]
fn lengths_are_transformed_as_the_newer_setting_says_where_there_is_one() -> TestResult {
    // From the lengths 100 to 400, a third of the way along the lengths and half of it along their roots.
    let table = attention_table(&[(16, 100, None, 10.0), (16, 400, None, 40.0)]);
    let us = |settings: &str| -> Result<f64, Box<dyn std::error::Error>> {
        let entry = format!(
            "{ATTENTION}}}\ninterpolation_policy:\n  kernel_overrides:\n    FusedInferAttentionScore: {{{settings}"
        );
        let (_folder, database) = database(&[("FusedInferAttentionScore.csv", table.clone())], &entry)?;
        let upstream = database.reader(ReaderSemantics::Upstream, Layer::Interpolating);
        Ok(upstream.lookup(&attention_call(16, vec![225]))?.duration_us)
    };
    let (plain, root) = (us("axis_transform: linear")?, us("axis_transform: sqrt_seq")?);
    assert!(is_close(plain, 22.5) && is_close(root, 25.0), "{plain} {root}");
    assert_eq!((us("shape_transform: sqrt")?, us("axis_transform: linear, shape_transform: sqrt")?), (root, plain));
    // No transform that is known: not the older one either.
    assert_eq!(us("axis_transform: [sqrt], shape_transform: sqrt")?, plain);
    Ok(())
}

#[test]
fn composites_have_the_tier_of_collectives_of_the_same_ranks() -> TestResult {
    let folder = tempfile::tempdir()?;
    let event = |name: &str, ranks: &str, tier: &str| {
        format!(
            r#"{{"name": "{name}", "ph": "X", "ts": 0, "dur": 5, "pid": 0, "tid": 0, "args": {{"Inputs": "(tensor(..., size=(16, 512), dtype=torch.bfloat16), {ranks}) kwargs: {{}}", "Output": "None", "source": "MEASURED"{tier}}}}}"#
        )
    };
    let events = [
        event("tensor_cast.matmul_all_reduce.default", "[0, 1]", ""),
        event("tensor_cast.all_reduce.default", "[0, 1]", r#", "topology_tier": "0""#),
        event("tensor_cast.all_reduce.default", "[0, 1, 2, 3]", r#", "topology_tier": "1""#),
        event("tensor_cast.matmul_all_reduce.default", "[4, 5]", ""),
    ];
    let path = folder.path().join("trace.json");
    std::fs::write(&path, format!("{{\"traceEvents\": [{}]}}", events.join(",\n")))?;
    let calls = read_trace(&path, &ParallelConfig::default())?;
    assert_eq!(calls.iter().map(|call| call.event).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for (call, tier) in calls.iter().zip([Some(0), Some(0), Some(1), None]) {
        assert_eq!(call.query, call.query.clone().tier(tier), "event {}", call.event);
    }
    Ok(())
}
