//! What the query API costs: opening and indexing a database of 120 tables of 2000 rows and 62 columns, then exact queries and misses.
//!
//! `cargo bench -p perfdb-query --bench query` makes the database; `-- DIR` measures another one (without the queries, whose cases are known here
//! alone). The line-by-line reading of the same files stands beside it, because times alone say nothing about a machine.
//!
//! For instruction counts: `-- --make DIR` makes the database only; `-- --count KIND DIR`, run under callgrind, asks each query of one kind once, and
//! those of kind `none` take as many instructions as reading and indexing.
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
        ["--count", kind, directory] => return count(kind, directory.as_ref()),
        _ => {}
    }
    let given = arguments.first().map(PathBuf::from);
    let folder = tempfile::tempdir()?;
    if given.is_none() {
        make(folder.path())?;
    }
    let directory = given.as_deref().unwrap_or(folder.path());
    let lines = best(5, || lines(directory))?;
    let opened = best(5, || index(directory).map(drop))?;
    println!(
        "opening and indexing: {:.3} s, {:.1} times what counting the lines takes",
        opened.as_secs_f64(),
        opened.as_secs_f64() / lines.as_secs_f64()
    );
    if given.is_none() {
        let database = index(directory)?;
        let reader = reader(&database);
        for (name, calls) in kinds() {
            let queries = if name == "miss" { QUERIES / 100 } else { QUERIES };
            let ask = || {
                calls.iter().cycle().take(queries).for_each(|call| drop(black_box(reader.lookup(call))));
                Ok(())
            };
            println!("{name}: {:.2} us per query", best(5, ask)?.as_secs_f64() * 1e6 / queries as f64);
        }
    }
    Ok(())
}

fn kinds() -> [(&'static str, Vec<Query>); 7] {
    [
        ("exact", exact()),
        ("one table", one_table()),
        ("transposed", transposed()),
        ("padded", padded()),
        ("attention", attention()),
        ("between", between()),
        ("miss", misses()),
    ]
}

/// Asks every query of a kind once.
fn count(kind: &str, directory: &Path) -> AnyResult<()> {
    let database = index(directory)?;
    let reader = reader(&database);
    let calls = kinds().into_iter().find(|(name, _)| *name == kind).map(|(_, calls)| calls).unwrap_or_default();
    let hits = calls.iter().filter(|call| black_box(reader.lookup(call)).is_ok()).count();
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
    let mut mapping = "operator_mappings:\n".to_owned();
    for table in 0..TABLES {
        let kernel_type = kernel_type(table);
        let mode = if table == 0 { ", query_mode: attention_special" } else { "" };
        mapping.push_str(&format!("  op{table}: {{kernel_type: {kernel_type}{mode}}}\n"));
        let mut columns = full_schema();
        if table == 0 {
            columns.push("Runtime avg_seq_len".to_owned());
        }
        let mut text = columns.join(",") + "\r\n";
        for row in 0..ROWS {
            let (m, k) = dimensions(row);
            let cells: Vec<String> = columns
                .iter()
                .map(|column| match column.as_str() {
                    "Input Shapes" if table == 0 => format!("\"\"\"{},32,128;9,1,128\"\"\"", 1 + row % 40 * 64),
                    "Input Shapes" => format!("\"\"\"{m},{k};4096,{k}\"\"\""),
                    "Input Data Types" => "DT_BF16;DT_BF16".to_owned(),
                    "Input Formats" => "ND;ND".to_owned(),
                    "Output Shapes" => format!("\"\"\"{m},4096\"\"\""),
                    "Output Data Types" => "DT_BF16".to_owned(),
                    "Runtime avg_seq_len" => format!("{}.000000", row / 40 * 40),
                    _ => format!("{row}.125000"),
                })
                .collect();
            text.push_str(&(cells.join(",") + "\r\n"));
        }
        fs::write(directory.join(format!("{kernel_type}.csv")), text)?;
    }
    fs::write(directory.join("op_mapping.yaml"), mapping)?;
    Ok(())
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
    (0..64).map(|at| call(1 + at % (TABLES - 1), 99_000 + at, 77)).collect()
}

fn attention() -> Vec<Query> {
    let of = |at: usize| {
        let lengths = Tensor::of_values([(at % 50 * 40 + at % 16) as i64], DType::Int64);
        Query::operator("op0")
            .input(Tensor::new([1 + (at % 40 * 64) as i64, 32, 128], DType::BFloat16))
            .input(Tensor::new([9, 1, 128], DType::BFloat16))
            .arguments([Argument::None, Argument::None, Argument::None, Argument::None])
            .input(lengths)
    };
    (0..4096).map(of).collect()
}

/// Between two rows of one table.
fn between() -> Vec<Query> {
    (0..4096).map(|at| dimensions(at * 37 % ROWS)).map(|(m, k)| call(1, (m + 2).min(340), k)).collect()
}
