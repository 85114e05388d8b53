//! The files of the scenarios: a trace as the simulator writes it, a CSV as it is cut out of a profile.

use super::model::{Kernel, Phase, Shape, Step};
use super::{deepseek, qwen};
use std::fmt::Write;

/// Path below the scenario folder, and content.
pub(crate) fn files() -> Vec<(String, String)> {
    let scenarios = [
        ("qwen3_32b_prefill", qwen::forward_pass(Phase::Prefill), 1),
        ("qwen3_32b_decode", qwen::forward_pass(Phase::Decode), 2),
        ("deepseek_v3_prefill", deepseek::forward_pass(Phase::Prefill), 3),
        ("deepseek_v3_decode", deepseek::forward_pass(Phase::Decode), 4),
    ];
    let mut files = Vec::new();
    for (name, steps, seed) in scenarios {
        files.push((format!("{name}/trace.json"), trace(&steps, Noise(seed))));
        files.push((format!("{name}/forward_pass.csv"), forward_pass_csv(&steps, Noise(seed + 100))));
    }
    files
}

/// A small deterministic generator (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// `value`, up to `permille` more or less.
    fn around(&mut self, value: u64, permille: u64) -> u64 {
        value * (1000 - permille + self.next() % (2 * permille + 1)) / 1000
    }
}

/// `[[4112, 5120], [768]]`
fn list(shapes: &[Shape]) -> String {
    format!("{shapes:?}")
}

/// `4112,5120;768`
fn cell(shapes: &[Shape]) -> String {
    let one = |shape: &Shape| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    shapes.iter().map(one).collect::<Vec<_>>().join(";")
}

struct Trace {
    text: String,
    noise: Noise,
    now_us: u64,
}

fn trace(steps: &[Step], noise: Noise) -> String {
    let mut trace = Trace { text: String::new(), noise, now_us: 0 };
    trace.text +=
        r#"{"traceEvents": [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}, "#;
    trace.text += r#"{"name": "thread_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "Stream 0"}}"#;
    for step in steps {
        trace.step(step);
    }
    trace.text += "]}";
    trace.text
}

impl Trace {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Found { operator, shapes, kernels, source, rule } => {
                let times = self.predicted(kernels);
                let types: Vec<&str> = kernels.iter().map(|kernel| kernel.kernel_type).collect();
                let mut args = args_of(source, &types.join(","), rule);
                if let ([kernel], true) = (kernels.as_slice(), kernels.iter().all(|kernel| !kernel.inputs.is_empty())) {
                    args += &format!(r#", "kernel_shapes": "{}""#, list(&kernel.inputs));
                }
                if kernels.len() > 1 {
                    args += &composite(kernels, &times);
                    args += &sub_kernel_shapes(kernels);
                }
                self.event(operator, shapes, times.iter().sum(), &args);
            }
            Step::Fused { operator, shapes, product, collective } => {
                let kernels = [product.clone(), collective.clone()];
                let times = self.predicted(&kernels);
                let args = args_of("MEASURED", product.kernel_type, "exact") + &composite(&kernels, &times);
                self.event(operator, shapes, times.iter().sum(), &args);
            }
            Step::Missed { operator, shapes, analytic_ns, .. } => {
                self.event(operator, shapes, *analytic_ns, r#""shape_match_rule": "analytic""#);
            }
            Step::ZeroCost { operator, shapes } => {
                let args = args_of("MEASURED", "", "zero_cost") + r#", "zero_cost": "True""#;
                self.event(operator, shapes, 0, &args);
            }
            Step::Unmodelled(_) => {}
        }
    }

    fn predicted(&mut self, kernels: &[Kernel]) -> Vec<u64> {
        let times = kernels.iter().map(|kernel| kernel.measured_ns * kernel.predicted_permille / 1000);
        times.map(|time_ns| self.noise.around(time_ns, 25)).collect()
    }

    /// Times of the trace are whole microseconds.
    fn event(&mut self, operator: &str, shapes: &[Shape], time_ns: u64, args: &str) {
        let dur = (time_ns + 500) / 1000;
        let (ts, shapes) = (self.now_us, list(shapes));
        // Writing to a String cannot fail.
        let _ = write!(
            self.text,
            r#", {{"name": "{operator}", "cat": "empirical", "ph": "X", "ts": {ts}, "dur": {dur}, "pid": 0, "tid": 0, "args": {{"simulation_shapes": "{shapes}", {args}}}}}"#
        );
        self.now_us += dur;
    }
}

fn args_of(source: &str, kernel_type: &str, rule: &str) -> String {
    let confidence = if source == "MEASURED" { "1.0" } else { "0.8" };
    format!(
        r#""source": "{source}", "confidence": "{confidence}", "kernel_type": "{kernel_type}", "shape_match_rule": "{rule}""#
    )
}

/// Parts keep two decimals of a microsecond.
fn composite(kernels: &[Kernel], times_ns: &[u64]) -> String {
    let part = |(kernel, time_ns): (&Kernel, &u64)| {
        let hundredths = (time_ns + 5) / 10;
        let fraction = format!("{:02}", hundredths % 100);
        let fraction = fraction.strip_suffix('0').unwrap_or(&fraction);
        format!("('{}', {}.{fraction})", kernel.kernel_type, hundredths / 100)
    };
    let parts: Vec<String> = kernels.iter().zip(times_ns).map(part).collect();
    format!(r#", "composite": "True", "sub_kernel_durations": "[{}]""#, parts.join(", "))
}

/// The rows that answered for the parts: JSON in a text.
fn sub_kernel_shapes(kernels: &[Kernel]) -> String {
    let part = |kernel: &Kernel| {
        let (kernel_type, shapes) = (kernel.kernel_type, list(&kernel.inputs));
        format!(
            r#"{{\"kernel_type\": \"{kernel_type}\", \"kernel_shapes\": \"{shapes}\", \"shape_match_rule\": \"exact\"}}"#
        )
    };
    let parts: Vec<String> = kernels.iter().map(part).collect();
    format!(r#", "sub_kernel_shapes": "[{}]""#, parts.join(", "))
}

const HEADER: &str = "Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,Input Data Types,Output Shapes\n";

struct Profile {
    text: String,
    noise: Noise,
    /// Nanoseconds since 1970.
    now_ns: u64,
    rows: u64,
}

fn forward_pass_csv(steps: &[Step], noise: Noise) -> String {
    let mut profile = Profile { text: HEADER.to_owned(), noise, now_ns: 1_760_000_000_123_456_789, rows: 0 };
    for step in steps {
        match step {
            Step::Found { kernels, .. } => kernels.iter().for_each(|kernel| profile.kernel(kernel)),
            Step::Fused { product, collective, .. } => {
                profile.kernel(product);
                profile.kernel(collective);
            }
            Step::Missed { kernel, .. } => kernel.iter().for_each(|kernel| profile.kernel(kernel)),
            Step::Unmodelled(kernel) => profile.kernel(kernel),
            Step::ZeroCost { .. } => {}
        }
    }
    profile.text
}

impl Profile {
    /// Collectives are listed twice: on no stream, and on a hardware stream at (nearly) the same time.
    fn kernel(&mut self, kernel: &Kernel) {
        let time_ns = self.noise.around(kernel.measured_ns, 40);
        let wait_ns = 300 + self.noise.next() % 1500;
        self.now_ns += wait_ns;
        if kernel.core == "HCCL" {
            // Both rows within one microsecond, away from its end: doubles of this size have steps of a quarter.
            self.now_ns = self.now_ns / 1000 * 1000 + self.noise.next() % 600;
            let later_ns = self.noise.next() % 100;
            self.row(kernel, "N/A", self.now_ns, time_ns, wait_ns);
            self.row(kernel, "37", self.now_ns + later_ns, time_ns, wait_ns);
        } else {
            self.row(kernel, if kernel.core == "AI_CPU" { "N/A" } else { "2" }, self.now_ns, time_ns, wait_ns);
        }
        // AICPU kernels run beside the others.
        if kernel.core != "AI_CPU" {
            self.now_ns += time_ns;
        }
    }

    fn row(&mut self, kernel: &Kernel, stream: &str, start_ns: u64, time_ns: u64, wait_ns: u64) {
        self.rows += 1;
        let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        let without = kernel.inputs.is_empty();
        let quoted = |shapes: &[Shape]| format!("\"\"\"{}\"\"\"", cell(shapes));
        let (inputs, output) = if without {
            ("N/A".to_owned(), "N/A".to_owned())
        } else {
            (quoted(&kernel.inputs), quoted(std::slice::from_ref(&kernel.output)))
        };
        let dtypes = if without { "N/A".to_owned() } else { vec![kernel.dtype; kernel.inputs.len()].join(";") };
        let _ = writeln!(
            self.text,
            "{stream},{}_{},{},{},{}\t,{},{},{},{inputs},{dtypes},{output}",
            kernel.kernel_type,
            self.rows,
            kernel.kernel_type,
            kernel.core,
            us(start_ns),
            us(time_ns),
            us(wait_ns),
            if without { 0 } else { 24 },
        );
    }
}
