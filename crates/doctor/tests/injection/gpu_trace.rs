//! GPU traces of a small model, eager or replayed as a graph, without a fault.

use std::fmt::Write;

use super::random::Random;

/// One event; times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) category: &'static str,
    pub(crate) name: String,
    pub(crate) start: i64,
    pub(crate) duration: Option<i64>,
    pub(crate) correlation: Option<i64>,
    pub(crate) external: Option<i64>,
    pub(crate) stream: Option<i64>,
    pub(crate) elements: Option<i64>,
}

impl Event {
    pub(crate) fn end(&self) -> i64 {
        self.start + self.duration.unwrap_or(0)
    }

    pub(crate) fn on_device(&self) -> bool {
        matches!(self.category, "kernel" | "gpu_memcpy")
    }
}

/// A trace.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    pub(crate) graph: bool,
    /// 1 writes microseconds, 1000 nanoseconds, 0.001 milliseconds.
    pub(crate) scale: f64,
}

const KERNELS: [(&str, i64); 7] = [
    ("rms_norm", 4_000),
    ("qkv_gemm", 42_000),
    ("rope_kernel", 5_000),
    ("attn_fwd", 61_000),
    ("out_gemm", 33_000),
    ("ncclDevKernel_AllReduce_Sum", 18_000),
    ("mlp_gemm", 90_000),
];

/// Layers of the model.
pub(crate) const LAYERS: usize = 12;
/// Forward passes.
pub(crate) const STEPS: usize = 4;

impl Trace {
    /// A trace that nothing is wrong with.
    pub(crate) fn new(graph: bool, random: &mut Random) -> Trace {
        let mut trace = Trace { events: Vec::new(), graph, scale: 1.0 };
        let mut host = 1_700_000_000_000_000_000 + random.below(1_000_000_000) as i64;
        let mut device = host;
        let mut correlation = 100 + random.below(900) as i64;
        let mut external = 2;
        for step in 0..STEPS {
            let begin = host;
            if graph {
                correlation += 1;
                let launch = host + 4_000;
                trace.call("cudaGraphLaunch", launch, 9_000, correlation, None);
                device = device.max(launch + 8_000);
                for _ in 0..LAYERS {
                    for (name, usual) in KERNELS {
                        device += 1_200;
                        device = trace.kernel(name, device, random.about(usual), correlation, None);
                    }
                }
                host = launch + 20_000;
            } else {
                for _ in 0..LAYERS {
                    for (name, usual) in KERNELS {
                        correlation += 1;
                        external += 1;
                        trace.operator(&format!("aten::{name}"), host, 12_000, external);
                        trace.call("cudaLaunchKernel", host + 4_000, 5_000, correlation, Some(external));
                        device = (device + 1_200).max(host + 4_000 + 7_000 + random.below(500) as i64);
                        device = trace.kernel(name, device, random.about(usual), correlation, Some(external));
                        host += 15_000;
                    }
                }
            }
            correlation += 1;
            trace.call("cudaDeviceSynchronize", host, (device - host).max(0) + 4_000, correlation, None);
            host = host.max(device) + 4_000;
            trace.push("user_annotation", &format!("ProfilerStep#{}", step + 3), begin, host - begin);
            host += 30_000;
        }
        trace
    }

    fn push(&mut self, category: &'static str, name: &str, start: i64, duration: i64) -> &mut Event {
        self.events.push(Event {
            category,
            name: name.to_owned(),
            start,
            duration: Some(duration),
            correlation: None,
            external: None,
            stream: None,
            elements: None,
        });
        self.events.last_mut().expect("just pushed")
    }

    fn call(&mut self, name: &str, start: i64, duration: i64, correlation: i64, external: Option<i64>) {
        let event = self.push("cuda_runtime", name, start, duration);
        event.correlation = Some(correlation);
        event.external = external;
    }

    fn operator(&mut self, name: &str, start: i64, duration: i64, external: i64) {
        self.push("cpu_op", name, start, duration).external = Some(external);
    }

    fn kernel(&mut self, name: &str, start: i64, duration: i64, correlation: i64, external: Option<i64>) -> i64 {
        let event = self.push("kernel", name, start, duration);
        event.correlation = Some(correlation);
        event.external = external;
        event.stream = Some(7);
        event.elements = name.starts_with("nccl").then_some(4096);
        event.end()
    }

    /// Places of the kernels.
    pub(crate) fn kernels(&self) -> Vec<usize> {
        (0..self.events.len()).filter(|at| self.events[*at].category == "kernel").collect()
    }

    /// Places of the launches, by time.
    pub(crate) fn launches(&self) -> Vec<usize> {
        (0..self.events.len()).filter(|at| self.events[*at].name.contains("Launch")).collect()
    }

    pub(crate) fn begin(&self) -> i64 {
        self.events.iter().map(|event| event.start).min().expect("events")
    }

    pub(crate) fn end(&self) -> i64 {
        self.events.iter().map(Event::end).max().expect("events")
    }

    pub(crate) fn kernel_time(&self) -> i64 {
        self.events.iter().filter(|event| event.category == "kernel").filter_map(|event| event.duration).sum()
    }

    /// The JSON text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"Example GPU\", \"computeMajor\": 8, \"warpSize\": 32}], \"traceEvents\": [\n",
        );
        for (at, event) in self.events.iter().enumerate() {
            if at > 0 {
                text.push_str(",\n");
            }
            text.push_str(&self.event_text(event));
        }
        text.push_str("\n], \"traceName\": \"example\"}\n");
        text
    }

    fn event_text(&self, event: &Event) -> String {
        let (pid, tid) = if event.on_device() { (0, 7) } else { (4711, 4712) };
        let mut text = format!(
            "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {pid}, \"tid\": {tid}, \"ts\": {}",
            event.category,
            event.name,
            self.time(event.start)
        );
        if let Some(duration) = event.duration {
            let _ = write!(text, ", \"dur\": {}", self.time(duration));
        }
        let args: Vec<String> = [
            ("correlation", event.correlation),
            ("External id", event.external),
            ("stream", event.stream),
            ("In msg nelems", event.elements),
        ]
        .iter()
        .filter_map(|(key, value)| value.map(|value| format!("\"{key}\": {value}")))
        .collect();
        let _ = write!(text, ", \"args\": {{{}}}}}", args.join(", "));
        text
    }

    /// Microseconds with three decimals, exactly; in another unit if one was asked for.
    fn time(&self, nanoseconds: i64) -> String {
        if self.scale == 1.0 {
            let sign = if nanoseconds < 0 { "-" } else { "" };
            let size = nanoseconds.unsigned_abs();
            return format!("{sign}{}.{:03}", size / 1000, size % 1000);
        }
        if self.scale > 1.0 {
            return format!("{nanoseconds}.000");
        }
        format!("{}.{:06}", nanoseconds / 1_000_000, nanoseconds % 1_000_000)
    }
}
