//! How long it takes to learn a slice and to predict from it, on made-up tables of 3, 4 and 6 axes.
//!
//! `cargo bench -p perfdb-model`: the best of several runs on one thread.

use perfdb_model::predict::{Attention, Experts, MatMul, Operands, Point, Precision, Rows, Table};
use std::time::Duration;

const ROWS: usize = 35_000;
const QUESTIONS: usize = 100_000;
const RUNS: usize = 5;

/// The same numbers in every run.
struct Draws(u64);

impl Draws {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A power of two from 1 on, or one and a half times it.
    fn size(&mut self, octaves: u64) -> f64 {
        let power = (1u64 << self.below(octaves)) as f64;
        if self.below(2) == 0 { power } else { 1.5 * power }
    }

    /// Any size up to this many octaves.
    fn anything(&mut self, octaves: u64) -> f64 {
        (self.below(1000) as f64 / 1000.0 * octaves as f64).exp2().round()
    }
}

fn product(mut size: impl FnMut(u64) -> f64) -> Point {
    let product = MatMul { rows: size(15), columns: 64.0 * size(10), inner: 64.0 * size(9) };
    Point::matmul(product, Operands::of(Precision::Bf16))
}

fn attention(mut size: impl FnMut(u64) -> f64) -> Point {
    let (batch, tokens, kv_heads) = (size(8), size(14), size(4));
    let heads = kv_heads * size(5);
    Point::prefill(Attention { batch, tokens, heads, kv_heads, head_size: 128.0, window: 0.0 })
}

fn experts(mut size: impl FnMut(u64) -> f64) -> Point {
    let call = Experts {
        tokens: size(15),
        hidden: 512.0 * size(5),
        intermediate: 256.0 * size(5),
        top_k: size(4),
        experts: 8.0 * size(6),
        tensor_parallel: 1.0,
        expert_parallel: size(4),
    };
    Point::experts(call, 2.0)
}

/// How long this thread was on a processor: others may keep the machine busy.
fn on_processor() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux says how long a thread ran");
    let nanoseconds = statistics.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first number is nanoseconds"))
}

fn measure(name: &str, point: fn(&mut dyn FnMut(u64) -> f64) -> Point) {
    let mut draws = Draws(1);
    let axis_count = point(&mut |octaves| draws.size(octaves)).axes.len();
    let mut rows = Rows::new(axis_count);
    for row in 0..ROWS {
        let point = point(&mut |octaves| draws.size(octaves));
        let noise = 1.0 + draws.below(100) as f64 / 1000.0;
        let time_us = 4.0 + noise * (point.work.operations / 6e8 + point.work.bytes / 3e6);
        rows.push(row as u32, &point, time_us, None);
    }
    let asked: Vec<Point> = (0..QUESTIONS).map(|_| point(&mut |octaves| draws.anything(octaves))).collect();
    let mut ready_s = f64::INFINITY;
    let mut answered_s = f64::INFINITY;
    for _ in 0..RUNS {
        let table = Table::new(vec![rows.clone()], Some(0));
        let start = on_processor();
        let known = table.model(0).map_or(0, |(model, _)| model.len());
        ready_s = ready_s.min((on_processor() - start).as_secs_f64());
        let start = on_processor();
        let sum: f64 = asked.iter().filter_map(|point| table.predict(0, point)).map(|answer| answer.duration_us).sum();
        answered_s = answered_s.min((on_processor() - start).as_secs_f64());
        assert!(known > 0 && sum > 0.0);
    }
    let bytes = table_bytes(&rows);
    println!(
        "{name}: {axis_count} axes, {ROWS} rows ready in {ready_s:.2} s, {:.0} predictions/s, {bytes:.1} bytes per row",
        QUESTIONS as f64 / answered_s
    );
}

fn table_bytes(rows: &Rows) -> f64 {
    let table = Table::new(vec![rows.clone()], Some(0));
    table.model(0).map_or(0.0, |(model, _)| model.bytes() as f64 / model.len() as f64)
}

/// Two slices with the same ups and downs, of which one has a row at each point that is asked of the other.
fn measure_with_collocated(name: &str, point: fn(&mut dyn FnMut(u64) -> f64) -> Point) {
    let mut draws = Draws(2);
    let axis_count = point(&mut |octaves| draws.size(octaves)).axes.len();
    let (mut rows, mut collocated, mut asked) = (Rows::new(axis_count), Rows::new(axis_count), Vec::new());
    for row in 0..ROWS {
        let point = point(&mut |octaves| draws.size(octaves));
        let time_us = |noise: f64| 4.0 + (1.0 + noise) * (point.work.operations / 6e8 + point.work.bytes / 3e6);
        let common = draws.below(300) as f64 / 1000.0;
        collocated.push((ROWS + row) as u32, &point, 1.1 * time_us(common), None);
        if row % 2 == 0 {
            rows.push(row as u32, &point, time_us(common + draws.below(20) as f64 / 1000.0), None);
        } else {
            asked.push(point.clone());
        }
    }
    let mut ready_s = f64::INFINITY;
    let mut answered_s = f64::INFINITY;
    let (mut bytes, mut points, mut shares) = (0, 0, 0);
    for _ in 0..RUNS {
        let table = Table::new(vec![rows.clone(), collocated.clone()], Some(0));
        let start = on_processor();
        let first = table.predict(0, &asked[0]);
        ready_s = ready_s.min((on_processor() - start).as_secs_f64());
        let start = on_processor();
        let sum: f64 = asked.iter().filter_map(|point| table.predict(0, point)).map(|answer| answer.duration_us).sum();
        answered_s = answered_s.min((on_processor() - start).as_secs_f64());
        assert!(first.is_some() && sum > 0.0);
        bytes = table.bytes();
        points = table.models().map(|model| model.len()).sum::<usize>();
        shares = asked
            .iter()
            .take(1000)
            .filter(|point| table.explain(0, point).is_some_and(|it| it.collocated.is_some()))
            .count();
    }
    println!(
        "{name}, with a collocated: {} and {ROWS} rows ready in {ready_s:.2} s, {:.0} predictions/s, {:.1} bytes per row; \
         the collocated counts for {shares} of 1000",
        rows.len(),
        asked.len() as f64 / answered_s,
        bytes as f64 / points as f64,
    );
}

fn main() {
    measure("products", |size| product(size));
    measure("attention", |size| attention(size));
    measure("experts", |size| experts(size));
    measure_with_collocated("products", |size| product(size));
    measure_with_collocated("experts", |size| experts(size));
}
