//! Tables by what the database says that they are: a name decides nothing that a class says.

use super::database;

use database::{AnyResult, COLUMNS, database};
use perfdb_files::lock::LockOptions;
use perfdb_query::{Argument, DType, Database, Layer, Query, ReaderSemantics, Source, Tensor};
use perfdb_store::parquet::aiconfigurator::{Choices, import};
use perfdb_store::registry::Registry;
use perfdb_store::table::{ReadOptions, Table};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };
const OWN: [ReaderSemantics; 2] = [ReaderSemantics::Corrected, ReaderSemantics::Best];

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// A table of rows with inputs of some types; the output is that of the first input.
fn table(rows: &[(String, &str, f64)]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for (shapes, types, us) in rows {
        let formats = vec!["ND"; types.split(';').count()].join(";");
        let first = shapes.split(';').next().unwrap_or_default();
        let _ = writeln!(text, "\"{shapes}\",{types},{formats},\"{first}\",DT_BF16,ND,{us}");
    }
    text
}

fn kernel(name: &str, shapes: &str, types: &str) -> AnyResult<Query> {
    let mut query = Query::kernel(name);
    let types: Vec<&str> = types.split(';').collect();
    for (at, shape) in shapes.split(';').enumerate() {
        let dimensions: Vec<i64> = shape.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let dtype = types.get(at).or(types.last()).ok_or("no type")?.parse::<DType>()?;
        query = query.input(Tensor::new(dimensions, dtype));
    }
    Ok(query)
}

/// The duration, its source and the rule, of a query's answer.
fn answer(database: &Database, semantics: ReaderSemantics, query: &Query) -> Option<(f64, Source, String)> {
    let answer = database.reader(semantics, Layer::Interpolating).lookup(query).ok()?;
    Some((answer.duration_us, answer.source, answer.rule.unwrap_or_default().to_owned()))
}

/// A copy of a database with every table under another name, whose class is declared.
fn renamed(database: &Path) -> AnyResult<(tempfile::TempDir, BTreeMap<String, String>)> {
    let registry = Registry::of_database(database)?;
    let folder = tempfile::tempdir()?;
    let mut declared = String::from("kernel_tables:\n");
    let mut names = BTreeMap::new();
    for (at, entry) in std::fs::read_dir(database)?.enumerate() {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let name = path.file_stem().ok_or("no name")?.to_string_lossy().into_owned();
        let other = format!("table_{at}");
        std::fs::copy(&path, folder.path().join(format!("{other}.csv")))?;
        let window = registry.table(&name).window.map(|window| format!(", window: {window}")).unwrap_or_default();
        writeln!(declared, "  {other}: {{class: {}{window}}}", registry.class(&name).name())?;
        names.insert(name, other);
    }
    std::fs::write(folder.path().join("op_mapping.yaml"), declared)?;
    Ok((folder, names))
}

/// Queries of rows and between them: the first dimension of all inputs that have it is a little larger.
fn queries(path: &Path) -> AnyResult<Vec<(String, String, f64)>> {
    let rows = Table::read(path, &ReadOptions::database())?;
    let mut all = Vec::new();
    for row in rows.rows() {
        let cell = |name: &str| row.get(name).unwrap_or_default().trim_matches('"').to_owned();
        let Ok(us) = cell("Average Duration(us)").parse::<f64>() else { continue };
        let (shapes, types) = (cell("Input Shapes"), cell("Input Data Types"));
        let first = shapes.split(',').next().unwrap_or_default().to_owned();
        let more = (first.parse::<i64>()? + 3).to_string();
        let larger: Vec<String> = shapes
            .split(';')
            .map(|shape| match shape.split_once(',') {
                Some((own, rest)) if own == first => format!("{more},{rest}"),
                _ => shape.to_owned(),
            })
            .collect();
        all.push((shapes, types.clone(), us));
        all.push((larger.join(";"), types, f64::NAN));
    }
    Ok(all)
}

#[test]
fn an_ascend_database_answers_the_same_under_other_names() -> AnyResult<()> {
    let folder = tempfile::tempdir()?;
    let source = testdata("demo-database/HOST_CPU/demo");
    for name in ["Add", "MatMulV2", "RmsNorm", "SwiGlu"] {
        let rows = Table::read(&source.join(format!("{name}.csv")), &ReadOptions::database())?;
        let mut text = format!("{COLUMNS}\n");
        for (at, row) in rows.rows().enumerate() {
            let cell = |name: &str| row.get(name).unwrap_or_default().trim_matches('"').to_owned();
            let [inputs, types, formats] = ["Input Shapes", "Input Data Types", "Input Formats"].map(cell);
            let [outputs, output_types, output_formats] =
                ["Output Shapes", "Output Data Types", "Output Formats"].map(cell);
            writeln!(
                text,
                "\"{inputs}\",{types},{formats},\"{outputs}\",{output_types},{output_formats},{}",
                10.0 + at as f64 * 3.5
            )?;
        }
        std::fs::write(folder.path().join(format!("{name}.csv")), text)?;
    }
    std::fs::write(folder.path().join("op_mapping.yaml"), "{}")?;
    same_answers(folder.path(), 8)
}

#[test]
fn an_imported_database_answers_the_same_under_other_names() -> AnyResult<()> {
    let target = tempfile::tempdir()?;
    import(&testdata("aiconfigurator"), target.path(), Choices::default(), &LOCK)?;
    same_answers(&target.path().join("example_gpu/vllm/1.0"), 8)
}

fn same_answers(path: &Path, least: usize) -> AnyResult<()> {
    let (other_path, names) = renamed(path)?;
    let (one, other) = (Database::open(path)?, Database::open(other_path.path())?);
    let mut compared = 0;
    for (name, other_name) in names.iter().filter(|(name, _)| !name.starts_with("hcom_")) {
        for (shapes, types, _) in queries(&path.join(format!("{name}.csv")))? {
            // A weight that lies the other way round is another case of the same product.
            for semantics in OWN {
                let first = answer(&one, semantics, &kernel(name, &shapes, &types)?);
                let second = answer(&other, semantics, &kernel(other_name, &shapes, &types)?);
                assert_eq!(first, second, "{name} {shapes} {types} {}", semantics.name());
                compared += usize::from(first.is_some());
            }
        }
    }
    assert!(compared >= least, "{compared} answers");
    Ok(())
}

#[test]
fn every_imported_row_answers_its_own_query() -> AnyResult<()> {
    let target = tempfile::tempdir()?;
    import(&testdata("aiconfigurator"), target.path(), Choices::default(), &LOCK)?;
    let path = target.path().join("example_gpu/vllm/1.0");
    let database = Database::open(&path)?;
    let mut rows = 0;
    for name in database.kernel_types() {
        assert!(database.row_count(&name)?.is_some_and(|count| count > 0), "{name} has rows");
        if name.starts_with("hcom_") {
            continue;
        }
        for (shapes, types, us) in queries(&path.join(format!("{name}.csv")))?.iter().filter(|(.., us)| us.is_finite())
        {
            for semantics in OWN {
                let found = answer(&database, semantics, &kernel(&name, shapes, types)?);
                let found = found.ok_or_else(|| format!("{name} {shapes} {types} has no answer"))?;
                assert_eq!((found.0, found.1), (*us, Source::Measured), "{name} {shapes}");
            }
            rows += 1;
        }
    }
    assert_eq!(rows, 12);
    Ok(())
}

/// Decoding on an H100 that reads its cache at half its bandwidth.
fn decode_rows() -> Vec<(String, &'static str, f64)> {
    let mut rows = Vec::new();
    for batch in [1i64, 4, 16, 64, 256] {
        for length in [128i64, 512, 2048, 8192, 32768] {
            for heads in [8i64, 32] {
                let us = 4.0 + (batch * length * 8 * 128 * 2 * 2) as f64 / 1.6e6 + heads as f64 * 0.01;
                let shapes = format!("{batch},1,{heads},128;{batch},{length},8,128;{batch},{length},8,128");
                rows.push((shapes, "DT_BF16;DT_BF16;DT_BF16", us));
            }
        }
    }
    rows
}

fn decode(batch: i64, length: i64) -> AnyResult<Query> {
    kernel("paged", &format!("{batch},1,32,128;{batch},{length},8,128;{batch},{length},8,128"), "bf16")
}

#[test]
fn attention_by_shapes_is_answered_for_other_lengths_and_batches() -> AnyResult<()> {
    let rows = table(&decode_rows());
    let declared = "device: h100_sxm\nkernel_tables: {paged: {class: attention_decode}}\n";
    let (_folder, database) = database(&[("paged.csv", &rows), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        for (batch, length) in [(16, 3000), (64, 700), (10, 2048), (100, 5000), (1, 200)] {
            let (us, ..) = answer(&database, semantics, &decode(batch, length)?)
                .ok_or_else(|| format!("{batch} × {length} has no answer ({})", semantics.name()))?;
            let truth = 4.0 + (batch * length * 8 * 128 * 2 * 2) as f64 / 1.6e6 + 0.32;
            assert!((us / truth).ln().abs() < 0.25, "{batch} × {length}: {us}, not {truth} ({})", semantics.name());
        }
    }
    Ok(())
}

#[test]
fn a_kernel_that_turns_its_operators_inputs_answers_its_own_rows() -> AnyResult<()> {
    let rows = [5i64, 64].map(|tokens| {
        let shapes = format!("1,{tokens},2,128;1,{tokens},8,128;1,{tokens},1,128;1,{tokens},1,128");
        (shapes, "DT_BF16;DT_BF16;DT_BF16;DT_BF16", 3.0 + tokens as f64)
    });
    let declared = "kernel_tables: {rotate: {class: rope}}\n";
    let (_folder, database) = database(&[("rotate.csv", &table(&rows)), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        for (shapes, _, us) in &rows {
            let found = answer(&database, semantics, &kernel("rotate", shapes, "bf16")?).ok_or("no answer")?;
            assert_eq!((found.0, found.1), (*us, Source::Measured), "{shapes} ({})", semantics.name());
        }
    }
    Ok(())
}

#[test]
fn variants_of_eight_bit_floats_are_the_type_of_their_rows() -> AnyResult<()> {
    let rows = [("64,512;512,256".to_owned(), "FLOAT8_E4M3FN;FLOAT8_E5M2", 7.0)];
    let declared = "kernel_tables: {gemm: {class: matmul}}\n";
    let (_folder, database) = database(&[("gemm.csv", &table(&rows)), ("op_mapping.yaml", declared)])?;
    for types in ["float8_e4m3fnuz;float8_e5m2fnuz", "fp8;fp8_e5m2"] {
        let found = answer(&database, ReaderSemantics::Corrected, &kernel("gemm", &rows[0].0, types)?);
        assert!(found.is_some_and(|(us, source, _)| (us, source) == (7.0, Source::Measured)), "{types}");
    }
    Ok(())
}

#[test]
fn products_of_other_batches_are_answered() -> AnyResult<()> {
    let us = |batch: i64, m: i64, n: i64, k: i64| 5.0 + (batch * m * n * k) as f64 / 2e8;
    let mut rows = Vec::new();
    for batch in [1, 2, 4, 8] {
        for m in [64, 256, 1024] {
            for (n, k) in [(512, 512), (2048, 512), (512, 2048), (2048, 2048)] {
                rows.push((format!("{batch},{m},{k};{batch},{k},{n}"), "DT_BF16;DT_BF16", us(batch, m, n, k)));
            }
        }
    }
    let declared = "kernel_tables: {bmm: {class: batched_matmul}}\n";
    let (_folder, database) = database(&[("bmm.csv", &table(&rows)), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        for (batch, m, n, k) in [(3, 256, 2048, 512), (6, 1024, 512, 2048), (16, 256, 2048, 2048)] {
            let query = kernel("bmm", &format!("{batch},{m},{k};{batch},{k},{n}"), "bf16")?;
            let found = answer(&database, semantics, &query);
            if batch > 8 && semantics == ReaderSemantics::Corrected {
                assert_eq!(found, None, "the default rules answer between rows alone");
                continue;
            }
            let (found, source, _) = found.ok_or_else(|| format!("{batch}: no answer ({})", semantics.name()))?;
            assert!((found / us(batch, m, n, k)).ln().abs() < 0.15, "{batch}: {found} ({})", semantics.name());
            assert_ne!(source, Source::Measured);
        }
        // A weight for all of the batch is another kernel.
        assert_eq!(answer(&database, semantics, &kernel("bmm", "4,256,512;512,512", "bf16")?), None);
    }
    Ok(())
}

#[test]
fn more_work_never_takes_less_time() -> AnyResult<()> {
    let rows = table(&decode_rows());
    let declared = "device: h100_sxm\nkernel_tables: {paged: {class: attention_decode}, gemm: {class: matmul}}\n";
    let mut products = Vec::new();
    for m in [1i64, 16, 64, 256, 1024, 4096] {
        for (n, k) in [(1024i64, 1024i64), (4096, 1024), (1024, 4096), (4096, 4096)] {
            let us = 3.0 + (2 * m * n * k) as f64 / 3e8 + (m * k + n * k + m * n) as f64 * 2.0 / 1.6e6;
            products.push((format!("{m},{k};{k},{n}"), "DT_BF16;DT_BF16", us));
        }
    }
    let products = table(&products);
    let files = [("paged.csv", rows.as_str()), ("gemm.csv", &products), ("op_mapping.yaml", declared)];
    let (_folder, database) = database(&files)?;
    for semantics in OWN {
        let mut last = 0.0;
        for length in (128..32768).step_by(611) {
            let us = answer(&database, semantics, &decode(16, length)?).ok_or("no answer")?.0;
            assert!(us >= last * 0.999_999, "{length} keys: {us} after {last} ({})", semantics.name());
            last = us;
        }
        for axis in 0..3 {
            let mut last = 0.0;
            for step in 0..40 {
                let mut sizes = [64i64, 2048, 2048];
                sizes[axis] = [16, 1024, 1024][axis] + step * [24, 70, 70][axis];
                let [m, n, k] = sizes;
                let query = kernel("gemm", &format!("{m},{k};{k},{n}"), "bf16")?;
                let us = answer(&database, semantics, &query).ok_or("no answer")?.0;
                assert!(us >= last * 0.999_999, "{sizes:?}: {us} after {last} ({})", semantics.name());
                last = us;
            }
        }
    }
    Ok(())
}

#[test]
fn prompts_and_single_tokens_are_not_predicted_from_each_other() -> AnyResult<()> {
    let rows = [64i64, 256, 1024].map(|tokens| {
        let shapes = format!("1,{tokens},8,128;1,{tokens},8,128;1,{tokens},8,128");
        (shapes, "DT_BF16;DT_BF16;DT_BF16", 5.0 + (tokens * tokens) as f64 / 1e4)
    });
    let declared = "kernel_tables: {flash: {class: attention}}\n";
    let (_folder, database) = database(&[("flash.csv", &table(&rows)), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        let prompt = kernel("flash", "1,500,8,128;1,500,8,128;1,500,8,128", "bf16")?;
        assert!(answer(&database, semantics, &prompt).is_some(), "{}", semantics.name());
        let token = kernel("flash", "1,1,8,128;1,500,8,128;1,500,8,128", "bf16")?;
        assert_eq!(answer(&database, semantics, &token), None, "{}", semantics.name());
    }
    Ok(())
}

#[test]
fn rows_of_the_very_type_come_first_and_others_say_so() -> AnyResult<()> {
    let types = ["DT_BF16", "FLOAT16", "FLOAT", "FLOAT8_E4M3FN", "DT_FLOAT8_E5M2", "INT8", "FLOAT4_E2M1", "INT4"];
    let spelled = ["bf16", "fp16", "fp32", "fp8_e4m3", "fp8_e5m2", "int8", "fp4", "int4"];
    let row = |at: usize, m: i64, dtype: &'static str| {
        let both = if dtype == "INT4" { "DT_BF16;INT4".to_owned() } else { format!("{dtype};{dtype}") };
        (format!("{m},512;512,256"), both, (at + 1) as f64 * 10.0 + m as f64 / 8.0)
    };
    let rows: Vec<(String, String, f64)> =
        types.iter().enumerate().flat_map(|(at, dtype)| [16, 64].map(|m| row(at, m, dtype))).collect();
    let rows: Vec<(String, &str, f64)> =
        rows.iter().map(|(shapes, types, us)| (shapes.clone(), types.as_str(), *us)).collect();
    let declared = "kernel_tables: {gemm: {class: matmul}}\n";
    let (_folder, all) = database(&[("gemm.csv", &table(&rows)), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        for (at, spelled) in spelled.iter().enumerate() {
            let types = if *spelled == "int4" { "bf16;int4".to_owned() } else { (*spelled).to_owned() };
            for m in [16, 40, 64] {
                let found = answer(&all, semantics, &kernel("gemm", &format!("{m},512;512,256"), &types)?);
                let (us, _, rule) = found.ok_or_else(|| format!("{spelled} {m} has no answer"))?;
                let (low, high) = ((at + 1) as f64 * 10.0, (at + 1) as f64 * 10.0 + 9.0);
                assert!((low..high).contains(&us) && rule != "other_type", "{spelled} {m}: {us} {rule}");
            }
        }
    }
    // Half-precision rows alone answer for bf16, and less surely.
    let half = table(&rows[2..4]);
    let (_folder, half) = database(&[("gemm.csv", &half), ("op_mapping.yaml", declared)])?;
    for semantics in OWN {
        for m in [16, 40] {
            let query = kernel("gemm", &format!("{m},512;512,256"), "bf16")?;
            let answer = half.reader(semantics, Layer::Interpolating).lookup(&query)?;
            assert_eq!((answer.rule, answer.confidence <= 0.5), (Some("other_type"), true), "{m}");
            let own = kernel("gemm", &format!("{m},512;512,256"), "fp16")?;
            let answer = half.reader(semantics, Layer::Interpolating).lookup(&own)?;
            assert_ne!(answer.rule, Some("other_type"), "{m}");
        }
    }
    Ok(())
}

#[test]
fn a_kernel_that_nobody_described_is_not_padded() -> AnyResult<()> {
    let rows: Vec<_> = [1024, 2048].iter().map(|s| (format!("64,1,{s},2,0,128"), "DT_BF16", *s as f64)).collect();
    let sizes = [("60,1".to_owned(), "DT_BF16", 5.0), ("60".to_owned(), "DT_BF16", 3.0)];
    let (_folder, database) = database(&[("some_module.csv", &table(&rows)), ("some_kernel.csv", &table(&sizes))])?;
    for semantics in OWN {
        for (name, shapes) in [
            ("some_module", "64,16,1024,2,0,128"),
            ("some_module", "64,1,1024,2,0,144"),
            ("some_kernel", "64,1"),
            ("some_kernel", "64"),
        ] {
            let source = answer(&database, semantics, &kernel(name, shapes, "DT_BF16")?).map(|(_, source, _)| source);
            assert!(
                !matches!(source, Some(Source::Measured | Source::Padded)),
                "{name} {shapes} {semantics:?} {source:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn inputs_are_padded_together_or_not_at_all() -> AnyResult<()> {
    let norm = [("60,512;48".to_owned(), "DT_BF16;DT_BF16", 10.0)];
    let add = [("60,8,64;60,2,64".to_owned(), "DT_BF16;DT_BF16", 5.0)];
    let mapping = "kernel_tables:\n  some_norm: {class: norm}\n  some_add: {class: elementwise}\n";
    let files = [("some_norm.csv", &*table(&norm)), ("some_add.csv", &*table(&add)), ("op_mapping.yaml", mapping)];
    let (_folder, database) = database(&files)?;
    let source = |name: &str, shapes: &str| -> AnyResult<Option<Source>> {
        let query = kernel(name, shapes, "DT_BF16")?;
        Ok(answer(&database, ReaderSemantics::Corrected, &query).map(|(_, source, _)| source))
    };
    assert_eq!(source("some_norm", "64,512;48")?, Some(Source::Padded));
    assert_eq!(source("some_norm", "60,512;64")?, None, "no tokens");
    assert_eq!(source("some_add", "64,8,64;64,2,64")?, Some(Source::Padded));
    assert_eq!(source("some_add", "60,8,64;64,2,64")?, None, "not those of the first");
    Ok(())
}

#[test]
fn a_padded_row_with_a_size_of_zero_is_no_measured_one() -> AnyResult<()> {
    let rows = [("60,0,128".to_owned(), "DT_BF16", 10.0)];
    let mapping = "kernel_tables:\n  some_norm: {class: norm}\n";
    let (_folder, database) = database(&[("some_norm.csv", &table(&rows)), ("op_mapping.yaml", mapping)])?;
    let query = kernel("some_norm", "64,0,128", "DT_BF16")?;
    let [corrected, best] = OWN.map(|semantics| answer(&database, semantics, &query));
    assert_eq!(corrected.ok_or("no answer")?, (10.0, Source::Padded, "padding".to_owned()));
    assert_eq!(best.ok_or("no answer")?.1, Source::Interpolated);
    Ok(())
}

#[test]
fn operators_of_models_are_answered_by_tables_of_shapes() -> AnyResult<()> {
    let moe = [8i64, 64, 512].map(|tokens| {
        (format!("{tokens},512;8,512,256;{tokens},2"), "DT_BF16;DT_BF16;INT32", 20.0 + tokens as f64 / 4.0)
    });
    let declared = "operator_mappings:\n  tensor_cast.attention.default: {kernel_type: paged, query_mode: attention_special}\n  \
        tensor_cast.dispatch_ffn_combine.default: {kernel_type: moe, query_mode: moe_fused}\n\
        kernel_tables: {paged: {class: attention_decode}, moe: {class: experts}}\n";
    let files =
        [("paged.csv", table(&decode_rows())), ("moe.csv", table(&moe)), ("op_mapping.yaml", declared.to_owned())];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (_folder, database) = database(&files)?;
    let bf16 = |shape: &[i64]| Tensor::new(shape, DType::BFloat16);
    let attention = |batch: i64, length: i64| {
        let lengths = Tensor::of_values(vec![length; batch as usize], DType::Int64);
        Query::operator("tensor_cast.attention.default")
            .input(bf16(&[batch, 32 * 128]))
            .input(bf16(&[4096, 128, 8, 128]))
            .input(bf16(&[4096, 128, 8, 128]))
            .argument(Argument::None)
            .input(Tensor::new([batch, 64], DType::Int64))
            .input(Tensor::of_values((0..=batch).collect::<Vec<_>>(), DType::Int64))
            .input(lengths)
            .input(Tensor::of_values(vec![1; batch as usize], DType::Int64))
    };
    let experts = |tokens: i64| {
        let weights = |shape: [i64; 2]| Argument::List(vec![Argument::Tensor(bf16(&shape)); 8]);
        let none = || Argument::List(vec![Argument::None; 8]);
        Query::operator("tensor_cast.dispatch_ffn_combine.default")
            .input(bf16(&[tokens, 512]))
            .input(Tensor::new([tokens, 2], DType::Int64))
            .arguments([weights([512, 512]), none(), weights([256, 512]), none(), Argument::Integer(0)])
            .argument(Argument::List(vec![Argument::Integer(0)]))
            .ep_size(1)
    };
    for semantics in OWN {
        let exact = answer(&database, semantics, &attention(16, 2048)).ok_or("no exact attention")?;
        assert_eq!(exact.1, Source::Measured);
        let between = answer(&database, semantics, &attention(16, 3000)).ok_or("no attention")?;
        assert!(between.0 > exact.0, "{between:?}");
        let exact = answer(&database, semantics, &experts(64)).ok_or("no exact experts")?;
        assert_eq!(exact.0, 36.0);
        let between = answer(&database, semantics, &experts(200)).ok_or("no experts")?;
        assert!(between.0 > 36.0 && between.0 < 148.0, "{between:?}");
    }
    Ok(())
}
