//! Writes the traces in `testdata/ranks`: four ranks of a small server, made up, always the same bytes. Rank 2 computes
//! longer in the second layer, and every clock is off by some milliseconds.
//!
//! ```text
//! cargo run -p perfdb-tracediff --example write_demo_ranks -- testdata/ranks
//! ```

use std::fmt::Write as _;
use std::path::Path;

/// A run to be made up. Times in ns.
pub struct Run {
    /// Ranks of the one process group.
    pub ranks: u32,
    /// Steps.
    pub steps: u32,
    /// Layers of a step: attention, product, all-reduce.
    pub layers: u32,
    /// Rank that is late, the layer whose product takes longer on it, and by how much.
    pub late: Option<(u32, u32, i64)>,
    /// By how much products differ at random, up and down.
    pub jitter: i64,
    /// By how much the clock of each rank is ahead of that of the one before.
    pub clock: i64,
    /// By how many parts of a million each clock runs faster than the one before.
    pub drift_ppm: i64,
}

/// The run in `testdata/ranks`.
pub const DEMO: Run =
    Run { ranks: 4, steps: 3, layers: 3, late: Some((2, 1, 60_000)), jitter: 1_500, clock: 1_700_000, drift_ppm: 0 };

const ATTENTION: &str = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)";
const PRODUCT: &str = "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN";
const REDUCTION: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const ATTENTION_NS: i64 = 80_000;
const PRODUCT_NS: i64 = 220_000;
const TRANSFER_NS: i64 = 30_000;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "testdata/ranks".into());
    std::fs::create_dir_all(&folder)?;
    for (file, text) in traces(&DEMO) {
        std::fs::write(Path::new(&folder).join(file), text)?;
    }
    Ok(())
}

/// File names and texts of a run.
pub fn traces(run: &Run) -> Vec<(String, String)> {
    let mut writers: Vec<Writer> = (0..run.ranks).map(|rank| Writer::new(run, rank)).collect();
    let mut state = 42_u64;
    for step in 0..run.steps {
        let begin = writers.iter().map(|writer| writer.device).max().unwrap_or(0) + 40_000;
        writers.iter_mut().for_each(|writer| writer.begin(step, begin, run.layers));
        for layer in 0..run.layers {
            for (rank, writer) in (0..).zip(&mut writers) {
                // A linear congruential generator.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let chance = (state >> 33) as i64 % (2 * run.jitter + 1) - run.jitter;
                let longer = run.late.filter(|late| (late.0, late.1) == (rank, layer)).map_or(0, |late| late.2);
                writer.kernel(ATTENTION, 7, ATTENTION_NS);
                writer.kernel(PRODUCT, 7, PRODUCT_NS + chance + longer);
            }
            let last = writers.iter().map(|writer| writer.device).max().unwrap_or(0);
            for writer in &mut writers {
                let time = last + TRANSFER_NS - writer.device;
                writer.kernel(REDUCTION, 20, time);
            }
        }
    }
    writers.into_iter().map(Writer::finish).collect()
}

/// Writes the trace of one rank. Its times are of the true clock until they are written.
struct Writer {
    rank: u32,
    ranks: u32,
    ahead: i64,
    drift_ppm: i64,
    device: i64,
    host: i64,
    correlation: u32,
    events: Vec<String>,
}

impl Writer {
    fn new(run: &Run, rank: u32) -> Writer {
        let (ahead, drift_ppm) = (run.clock * i64::from(rank), run.drift_ppm * i64::from(rank));
        Writer {
            rank,
            ranks: run.ranks,
            ahead,
            drift_ppm,
            device: 1_000_000,
            host: 0,
            correlation: 0,
            events: Vec::new(),
        }
    }

    fn begin(&mut self, step: u32, begin: i64, layers: u32) {
        self.host = begin - 40_000;
        self.device = begin;
        let length = i64::from(layers) * 3 * 500 + 2_000;
        let (start, length) = (self.us(self.host - 1_000), length as f64 / 1000.0);
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs={}]", "pid": 1, "tid": 1, "ts": {start}, "dur": {length:.3}}}"#,
            8 + step
        ));
    }

    fn kernel(&mut self, name: &str, stream: u32, time: i64) {
        self.correlation += 1;
        let correlation = self.correlation;
        let launch = self.us(self.host);
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {launch}, "dur": 0.400, "args": {{"correlation": {correlation}}}}}"#
        ));
        self.host += 500;
        let start = self.us(self.device);
        let mut event = format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream}, "ts": {start}, "dur": {:.3}, "args": {{"device": {}, "stream": {stream}, "correlation": {correlation}"#,
            time as f64 / 1000.0,
            self.rank
        );
        if name == REDUCTION {
            let ranks: Vec<String> = (0..self.ranks).map(|rank| rank.to_string()).collect();
            // Writing to a String cannot fail.
            let _ = write!(
                event,
                r#", "Collective name": "allreduce", "Process Group Name": "tp", "Process Group Ranks": "[{}]""#,
                ranks.join(", ")
            );
        }
        event.push_str("}}");
        self.events.push(event);
        self.device += time;
    }

    /// A time on the clock of this rank.
    fn us(&self, time: i64) -> String {
        let shown = time + self.ahead + time * self.drift_ppm / 1_000_000;
        format!("{}.{:03}", shown / 1000, shown % 1000)
    }

    fn finish(self) -> (String, String) {
        let header = format!(
            r#""deviceProperties": [{{"id": {0}, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017755648, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132}}], "cupti_version": 26, "distributedInfo": {{"backend": "nccl", "rank": {0}, "world_size": {1}}}"#,
            self.rank, self.ranks
        );
        let text = format!("{{{header}, \"traceEvents\": [\n{}\n]}}\n", self.events.join(",\n"));
        (format!("rank{}.json", self.rank), text)
    }
}
