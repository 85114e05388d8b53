//! The native matrix product against the `gemm` crate alone: `cargo bench -p perfdb-replay --bench matmul`.
//!
//! Prints, per size, the time of MatMulV2 on bfloat16 inputs (converted, multiplied in float32, rounded) and of `gemm` on
//! float32 matrices of the same size, both on all threads, and what part of gemm's speed the operator reaches.
#![expect(unsafe_code, reason = "gemm takes raw pointers")]

use std::time::{Duration, Instant};

use perfdb_replay::bindings::Bindings;
use perfdb_replay::case::{Call, TensorSpec};
use perfdb_replay::kernels::tensor::{Data, Tensor};
use perfdb_replay::operators;
use perfdb_store::dtype::DType;

const ROUNDS: usize = 7;

fn median(mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * 7919 % 256) as f32 / 128.0 - 1.0).collect()
}

fn operator_time(m: usize, n: usize, k: usize) -> Duration {
    let call = Call::new("torch.mm")
        .arg_tensor(TensorSpec::new("a", [m, k], DType::BFloat16))
        .arg_tensor(TensorSpec::transposed("b", [n, k], DType::BFloat16));
    let tensor = |shape: [usize; 2]| {
        let values = numbers(shape[0] * shape[1]).into_iter().map(half::bf16::from_f32).collect();
        Tensor::new(shape, Data::BFloat16(values)).expect("as many values as the shape has")
    };
    let run = operators::find("MatMulV2").expect("an operator").run;
    let mut bindings = Bindings::new(&call, vec![tensor([m, k]), tensor([n, k]).transposed_view()]);
    // Operators use the threads of the pool that they run in.
    let pool = rayon::ThreadPoolBuilder::new().build().expect("threads");
    pool.install(|| median(|| drop(std::hint::black_box(run(&mut bindings).expect("a product")))))
}

fn gemm_time(m: usize, n: usize, k: usize) -> Duration {
    let (a, b, mut out) = (numbers(m * k), numbers(n * k), vec![0.0_f32; m * n]);
    let threads = gemm::Parallelism::Rayon(0);
    let stride = |size: usize| isize::try_from(size).expect("a small size");
    median(|| {
        // SAFETY: a holds m · k, b n · k (read transposed) and out m · n values; out is borrowed mutably.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                out.as_mut_ptr(),
                1,
                stride(n),
                false,
                a.as_ptr(),
                1,
                stride(k),
                b.as_ptr(),
                stride(k),
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                threads,
            );
        }
        std::hint::black_box(&mut out);
    })
}

fn main() {
    println!("{:>6} {:>6} {:>6} {:>14} {:>14} {:>9}", "M", "N", "K", "MatMulV2 (ms)", "gemm f32 (ms)", "of gemm");
    for (m, n, k) in [(1024, 1024, 1024), (2048, 2048, 2048), (136, 768, 5120), (16, 4096, 4096), (1, 9496, 5120)] {
        let (operator, gemm) = (operator_time(m, n, k), gemm_time(m, n, k));
        let ratio = gemm.as_secs_f64() / operator.as_secs_f64();
        println!(
            "{m:>6} {n:>6} {k:>6} {:>14.2} {:>14.2} {:>8.0}%",
            operator.as_secs_f64() * 1e3,
            gemm.as_secs_f64() * 1e3,
            ratio * 100.0
        );
    }
}
