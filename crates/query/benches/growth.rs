//! What a query costs as its table grows: between rows, and outside of them, under the default rules.
//!
//! `cargo bench -p perfdb-query --bench growth` makes tables of 200, 6,000 and 60,000 rows: a grid with holes, and shapes that have no grid, of products and of a kernel that nobody described.
#![allow(clippy::print_stdout, missing_docs)]

use perfdb_query::{DType, Database, Layer, Query, Reader, ReaderSemantics, Tensor};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tempfile::TempDir;

type AnyResult<T> = Result<T, Box<dyn std::error::Error>>;

const QUERIES: usize = 1000;
/// Rounds after which all is made that queries of a kind need.
const WARM_UP: usize = 8;
/// How long queries of a kind are asked.
const MEASURED: Duration = Duration::from_millis(600);
/// Queries that take much longer than a look at the clock.
const TIMED_TOGETHER: usize = 50;

fn main() -> AnyResult<()> {
    if let [_, flag, kernel, shape, kind, rows, times] = &std::env::args().collect::<Vec<_>>()[..]
        && flag == "--count"
    {
        return count(kernel, shape, kind, rows.parse()?, times.parse()?);
    }
    for rows in [200, 6_000, 60_000] {
        for (name, shape) in [("grid", grid as fn(usize, usize) -> [i64; 3]), ("scattered", scattered)] {
            for kernel in ["MatMulV2", "Unknown"] {
                of_table(kernel, rows, name, shape)?;
            }
        }
    }
    Ok(())
}

fn of_table(kernel: &str, rows: usize, name: &str, shape: fn(usize, usize) -> [i64; 3]) -> AnyResult<()> {
    let (_folder, reader) = reader(kernel, rows, shape)?;
    for (kind, of) in kinds() {
        let queries: Vec<Query> = (0..QUERIES).map(|at| of(at, shape(at * 7919 % rows, rows))).collect();
        let hits = asked(&reader, &queries);
        let cost_us = cost_us(&reader, &queries);
        println!("{kernel}, {rows} rows, {name}, {kind}: {cost_us:.2} us per query, {hits} of {QUERIES} answered");
    }
    Ok(())
}

/// A table of a kernel, and what reads it.
fn reader(kernel: &str, rows: usize, shape: fn(usize, usize) -> [i64; 3]) -> AnyResult<(TempDir, Reader)> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(format!("{kernel}.csv")), table(rows, shape))?;
    let mapping = format!("operator_mappings: {{op: {{kernel_type: {kernel}}}}}");
    std::fs::write(folder.path().join("op_mapping.yaml"), mapping)?;
    let reader = Database::open(folder.path())?.reader(ReaderSemantics::Corrected, Layer::default());
    Ok((folder, reader))
}

/// Asks a thousand queries of a kind some times, for a count of instructions: `--count MatMulV2 scattered "new N" 6000 3`, under callgrind.
fn count(kernel: &str, shape: &str, kind: &str, rows: usize, times: usize) -> AnyResult<()> {
    let shape = if shape == "grid" { grid } else { scattered };
    let (_folder, reader) = reader(kernel, rows, shape)?;
    let (_, of) = kinds().into_iter().find(|(name, _)| *name == kind).ok_or("unknown kind")?;
    let queries: Vec<Query> = (0..QUERIES).map(|at| of(at, shape(at * 7919 % rows, rows))).collect();
    for _ in 0..times {
        println!("{} answered", asked(&reader, &queries));
    }
    Ok(())
}

/// What a query costs. Of each few queries the fastest of many rounds counts: the one that other work on the machine delayed least.
fn cost_us(reader: &Reader, queries: &[Query]) -> f64 {
    let mut fastest = vec![Duration::MAX; queries.len().div_ceil(TIMED_TOGETHER)];
    (0..WARM_UP).for_each(|_| _ = black_box(asked(reader, queries)));
    let start = Instant::now();
    while start.elapsed() < MEASURED {
        for (queries, fastest) in queries.chunks(TIMED_TOGETHER).zip(&mut fastest) {
            let start = Instant::now();
            black_box(asked(reader, queries));
            *fastest = start.elapsed().min(*fastest);
        }
    }
    fastest.iter().sum::<Duration>().as_secs_f64() * 1e6 / queries.len() as f64
}

fn asked(reader: &Reader, queries: &[Query]) -> usize {
    queries.iter().filter(|query| reader.lookup(query).is_ok()).count()
}

type OfRow = fn(usize, [i64; 3]) -> Query;

fn kinds() -> [(&'static str, OfRow); 7] {
    [
        ("a row", |_, [m, n, k]| product(m, n, k)),
        ("new M", |_, [m, n, k]| product(m + 1, n, k)),
        ("new N", |at, [m, n, k]| product(m, n + 8 * (1 + at as i64 % 5), k)),
        ("new M, N and K", |at, [m, n, k]| product(m + 1, n + 8 * (1 + at as i64 % 5), k + 8)),
        ("outside", |at, [m, n, k]| product(m, n * 1000 + at as i64, k)),
        ("at a corner", |at, _| product(20 + at as i64 % 32, 20 + at as i64 / 32, 8190 - at as i64 % 32)),
        ("another type", |_, [m, n, k]| of_type(m, n, k, DType::Int8)),
    ]
}

fn product(m: i64, n: i64, k: i64) -> Query {
    of_type(m, n, k, DType::BFloat16)
}

fn of_type(m: i64, n: i64, k: i64, dtype: DType) -> Query {
    let tensor = |shape: [i64; 2]| Tensor::new(shape, dtype);
    Query::operator("op").input(tensor([m, k])).input(tensor([n, k]))
}

fn table(rows: usize, shape: fn(usize, usize) -> [i64; 3]) -> String {
    let mut text = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for row in 0..rows {
        let [m, n, k] = shape(row, rows);
        let us = 3.0 + (m * n * k) as f64 / 1.5e8 + (m * k + n * k + m * n) as f64 / 8e5;
        let _ = writeln!(text, "\"{m},{k};{n},{k}\",DT_BF16;DT_BF16,ND;ND,{us:.3}");
    }
    text
}

/// Sizes of a grid, of which every seventh row is missing.
fn grid(row: usize, rows: usize) -> [i64; 3] {
    let row = row * 7 / 6;
    let side = ((rows as f64 / 64.0).sqrt() as usize).max(2);
    [1 + 4 * (row % 64) as i64, 256 * (1 + row / 64 % side) as i64, 512 * (1 + row / 64 / side) as i64]
}

/// Sizes that no other row has.
fn scattered(row: usize, _: usize) -> [i64; 3] {
    let mixed =
        |seed: u64| (row as u64 + 1).wrapping_mul(seed).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    [0x2545_f491_4f6c_dd1d, 0xd129_0d3a_5b2c_86e1, 0x9fb2_1c65_1e98_df25].map(|seed| 16 + (mixed(seed) % 8192) as i64)
}
