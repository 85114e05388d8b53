//! What the query API costs: opening and indexing a database of 120 tables of 2000 rows and 62 columns, then queries of each kind.
//!
//! `cargo bench -p perfdb-query --bench query` makes the database; `-- DIR` measures reading and indexing of another one. Counting the line ends of
//! the same files is next to it in the same run, because times alone say nothing about a machine.
//!
//! For instruction counts: `-- --make DIR` makes the database only; `-- --count KIND DIR TIMES`, run under callgrind, asks the queries of one kind
//! this many times: the difference between 1 and 3 times is what they take without what the first ones make. `-- --open DIR` reads and indexes
//! once, for the peak of memory; `-- --large DIR ROWS` makes a table of this many rows.
#![allow(clippy::print_stdout, missing_docs)]

use perfdb_query::{Argument, DType, Database, Layer, Query, Reader, Tensor};
use perfdb_store::columns::full_schema;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type AnyResult<T> = Result<T, Box<dyn std::error::Error>>;

const TABLES: usize = 120;
const ROWS: usize = 2000;
const QUERIES: usize = 200_000;

fn main() -> AnyResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--make", directory] => return make(directory.as_ref()),
        ["--large", directory, rows] => {
            return Ok(fs::write(table_path(directory.as_ref(), 1), table(1, rows.parse()?))?);
        }
        ["--count", kind, directory, times] => return count(kind, directory.as_ref(), times.parse()?),
        ["--open", directory] => {
            let database = index(directory.as_ref())?;
            println!("{} tables", database.kernel_types().len());
            return Ok(());
        }
        _ => {}
    }
    let given = arguments.first().map(PathBuf::from);
    let folder = tempfile::tempdir()?;
    if given.is_none() {
        make(folder.path())?;
    }
    let directory = given.as_deref().unwrap_or(folder.path());
    // By turns, so that both see the same machine.
    let (mut counted, mut opened) = (Duration::MAX, Duration::MAX);
    for _ in 0..9 {
        counted = counted.min(best(1, || lines(directory))?);
        opened = opened.min(best(1, || index(directory).map(drop))?);
    }
    println!(
        "opening and indexing: {:.3} s, {:.2} times what counting the line ends takes",
        opened.as_secs_f64(),
        opened.as_secs_f64() / counted.as_secs_f64()
    );
    if given.is_none() {
        let database = index(directory)?;
        let reader = reader(&database);
        for (name, calls) in kinds() {
            let ask = || {
                calls.iter().cycle().take(QUERIES).for_each(|call| drop(black_box(reader.lookup(call))));
                Ok(())
            };
            println!("{name}: {:.2} us per query", best(5, ask)?.as_secs_f64() * 1e6 / QUERIES as f64);
        }
    }
    Ok(())
}

fn kinds() -> [(&'static str, Vec<Query>); 10] {
    [
        ("exact", exact()),
        ("one table", one_table()),
        ("transposed", transposed()),
        ("padded", padded()),
        ("attention", attention(0)),
        ("between", between(0)),
        ("between two axes", between(64)),
        ("attention between", attention(20)),
        ("composite", composite()),
        ("miss", misses()),
    ]
}

/// Asks every query of a kind this many times.
fn count(kind: &str, directory: &Path, times: usize) -> AnyResult<()> {
    let database = index(directory)?;
    let reader = reader(&database);
    let calls = kinds().into_iter().find(|(name, _)| *name == kind).map(|(_, calls)| calls).unwrap_or_default();
    let ask = || calls.iter().filter(|call| black_box(reader.lookup(call)).is_ok()).count();
    let hits = (0..times).fold(0, |_, _| black_box(ask()));
    println!("{kind}: {} queries, {hits} hits", calls.len());
    Ok(())
}

/// By the rules that `PERFDB_SEMANTICS` names, the default ones without.
fn reader(database: &Database) -> Reader {
    let semantics = std::env::var("PERFDB_SEMANTICS").ok().and_then(|name| name.parse().ok());
    database.reader(semantics.unwrap_or_default(), Layer::default())
}

fn best(runs: usize, mut run: impl FnMut() -> AnyResult<()>) -> AnyResult<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn lines(directory: &Path) -> AnyResult<()> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        count += fs::read(entry?.path())?.iter().filter(|&&byte| byte == b'\n').count();
    }
    black_box(count);
    Ok(())
}

/// Opens a database and asks every table once, so that all are read and indexed.
fn index(directory: &Path) -> AnyResult<Database> {
    let database = Database::open(directory)?;
    database.load_all();
    Ok(database)
}

fn make(directory: &Path) -> AnyResult<()> {
    fs::create_dir_all(directory)?;
    let mut mapping = "operator_mappings:\n".to_owned();
    for at in 0..TABLES {
        let kernel_type = kernel_type(at);
        let mode = if at == 0 { ", query_mode: attention_special" } else { "" };
        mapping.push_str(&format!("  op{at}: {{kernel_type: {kernel_type}{mode}}}\n"));
        fs::write(table_path(directory, at), table(at, ROWS))?;
    }
    mapping.push_str("  composite: {composite: true, sub_kernels: [MatMulV2, hcom_allReduce_], tc_input_count: 2}\n");
    fs::write(directory.join("op_mapping.yaml"), mapping)?;
    let mut collective = "message_bytes,num_devices,topology_tier,Duration(us)\n".to_owned();
    for (at, devices) in [2, 4, 8, 16].iter().flat_map(|devices| (9..29).map(move |at| (at, devices))) {
        collective.push_str(&format!("{},{devices},0,{}\n", 1u64 << at, at * devices));
    }
    fs::write(directory.join("hcom_allReduce_.csv"), collective)?;
    Ok(())
}

fn table_path(directory: &Path, at: usize) -> PathBuf {
    directory.join(format!("{}.csv", kernel_type(at)))
}

/// The text of a table.
fn table(at: usize, rows: usize) -> String {
    let mut columns = full_schema();
    if at == 0 {
        columns.push("Runtime avg_seq_len".to_owned());
        columns.push("Runtime sparse_mode".to_owned());
        columns.push("Runtime num_key_value_heads".to_owned());
        columns.push("Runtime input_layout".to_owned());
    }
    let mut text = columns.join(",") + "\r\n";
    for row in 0..rows {
        let (m, k) = dimensions(row);
        let cells = columns.iter().map(|column| match column.as_str() {
            "OP State" => "dynamic".to_owned(),
            "Accelerator Core" => "AI_CORE".to_owned(),
            "Input Shapes" if at == 0 => format!("\"\"\"{},32,128;9,1,128\"\"\"", 1 + row % 40 * 64),
            "Input Shapes" => format!("\"\"\"{m},{k};4096,{k}\"\"\""),
            "Input Data Types" => "DT_BF16;DT_BF16".to_owned(),
            "Input Formats" => "ND;ND".to_owned(),
            "Output Shapes" => format!("\"\"\"{m},4096\"\"\""),
            "Output Data Types" => "DT_BF16".to_owned(),
            "Output Formats" => "ND".to_owned(),
            "Runtime avg_seq_len" => format!("{}.000000", row / 40 * 40),
            "Runtime sparse_mode" => "3".to_owned(),
            "Runtime num_key_value_heads" => "1".to_owned(),
            "Runtime input_layout" => "TND".to_owned(),
            _ => format!("{}.125000", 1 + row),
        });
        text.push_str(&(cells.collect::<Vec<String>>().join(",") + "\r\n"));
    }
    text
}

fn kernel_type(table: usize) -> String {
    match table {
        0 => "FusedInferAttentionScore".to_owned(),
        1 => "MatMulV2".to_owned(),
        _ => format!("Kernel{table}"),
    }
}

fn dimensions(row: usize) -> (usize, usize) {
    (1 + row % 50 * 7, 128 * (1 + row / 50))
}

fn call(table: usize, m: usize, k: usize) -> Query {
    Query::operator(format!("op{table}")).input(tensor(m, k)).input(tensor(4096, k))
}

fn tensor(rows: usize, columns: usize) -> Tensor {
    Tensor::new([rows as i64, columns as i64], DType::BFloat16)
}

fn exact() -> Vec<Query> {
    (0..4096)
        .map(|at| dimensions(at * 37 % ROWS))
        .zip((1..TABLES).cycle())
        .map(|((m, k), table)| call(table, m, k))
        .collect()
}

/// Exact ones of one table.
fn one_table() -> Vec<Query> {
    (0..4096).map(|at| dimensions(at * 37 % ROWS)).map(|(m, k)| call(2, m, k)).collect()
}

/// Exact ones with the weight as the operator has it, the other way round than in the table.
fn transposed() -> Vec<Query> {
    let turned = |(m, k)| Query::operator("op1").input(tensor(m, k)).input(tensor(k, 4096));
    (0..4096).map(|at| turned(dimensions(at * 37 % ROWS))).collect()
}

fn padded() -> Vec<Query> {
    let rounded = |m: usize| m.div_ceil(64) * 64;
    (0..4096)
        .map(|at| dimensions(at * 37 % ROWS))
        .zip((1..TABLES).cycle())
        .map(|((m, k), table)| call(table, rounded(m), k))
        .collect()
}

fn misses() -> Vec<Query> {
    (0..4096).map(|at| call(1 + at % (TABLES - 1), 99_000 + at, 77)).collect()
}

/// Near a measured length, or between two of them.
fn attention(further: usize) -> Vec<Query> {
    let of = |at: usize| {
        let near = if further == 0 { at % 16 } else { further };
        let lengths = Tensor::of_values([(at % 49 * 40 + near) as i64], DType::Int64);
        Query::operator("op0")
            .input(Tensor::new([1 + (at % 40 * 64) as i64, 32, 128], DType::BFloat16))
            .input(Tensor::new([9, 1, 128], DType::BFloat16))
            .arguments([Argument::None, Argument::None, Argument::None, Argument::None])
            .input(lengths)
    };
    (0..4096).map(of).collect()
}

/// Between two rows of one table, or between four.
fn between(further: usize) -> Vec<Query> {
    let of = |(m, k): (usize, usize)| call(1, (m + 2).min(340), (k + further).min(5056));
    (0..4096).map(|at| of(dimensions(at * 37 % ROWS))).collect()
}

/// A product of which every device has a part, and the sum of the parts.
fn composite() -> Vec<Query> {
    let ranks = || Argument::List((0..4).map(Argument::Integer).collect());
    let of = |(m, k)| Query::operator("composite").input(tensor(m, k)).input(tensor(k, 4096)).argument(ranks());
    (0..4096).map(|at| of(dimensions(at * 37 % ROWS))).collect()
}
