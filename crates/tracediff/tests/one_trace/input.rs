//! Traces as the profiler of PyTorch writes them, made up from a number.

use std::fmt::Write as _;

use perfdb_tracediff::{LoadOptions, OneTrace, Selection, Trace, explain};

/// An event; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) phase: &'static str,
    pub(crate) category: &'static str,
    pub(crate) name: String,
    pub(crate) process: i64,
    pub(crate) thread: i64,
    pub(crate) start: i64,
    pub(crate) duration: Option<i64>,
    pub(crate) id: Option<u64>,
    pub(crate) args: Vec<(&'static str, String)>,
}

impl Event {
    fn new(category: &'static str, name: impl Into<String>, start: i64, duration: i64) -> Event {
        Event {
            phase: "X",
            category,
            name: name.into(),
            process: 100,
            thread: 1,
            start,
            duration: Some(duration),
            id: None,
            args: Vec::new(),
        }
    }

    fn flow(phase: &'static str, category: &'static str, id: u64, start: i64) -> Event {
        Event { phase, duration: None, id: Some(id), ..Event::new(category, category, start, 0) }
    }

    fn on(mut self, process: i64, thread: i64) -> Event {
        (self.process, self.thread) = (process, thread);
        self
    }

    fn with(mut self, key: &'static str, value: impl ToString) -> Event {
        self.args.push((key, value.to_string()));
        self
    }

    pub(crate) fn is_on_device(&self) -> bool {
        ["kernel", "gpu_memcpy", "gpu_memset"].contains(&self.category)
    }

    pub(crate) fn text(&self, epoch: i64) -> String {
        let time = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
        let mut text = format!(
            "{{\"ph\": \"{}\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {}",
            self.phase,
            self.category,
            self.name,
            self.process,
            self.thread,
            time(self.start + epoch)
        );
        if let Some(duration) = self.duration {
            let _ = write!(text, ", \"dur\": {}", time(duration));
        }
        if let Some(id) = self.id {
            let _ = write!(text, ", \"id\": {id}");
            text += if self.phase == "f" { ", \"bp\": \"e\"" } else { "" };
        }
        if !self.args.is_empty() {
            let args: Vec<String> = self.args.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            let _ = write!(text, ", \"args\": {{{}}}", args.join(", "));
        }
        text + "}"
    }
}

/// A trace of these events, the epoch in ns.
pub(crate) fn document(events: &[Event], epoch: i64) -> String {
    let events: Vec<String> = events.iter().map(|event| event.text(epoch)).collect();
    format!(
        "{{\"schemaVersion\": 1, \"deviceProperties\": [{{\"id\": 0, \"name\": \"NVIDIA H100 80GB HBM3\"}}],\n\
         \"traceEvents\": [\n{}\n],\n\"traceName\": \"made up\"}}\n",
        events.join(",\n")
    )
}

pub(crate) fn load(text: &str) -> Trace {
    let options = LoadOptions { alone: true, ..LoadOptions::default() };
    Trace::from_reader("t.json", std::io::Cursor::new(text.to_owned()), &options).expect("a trace")
}

pub(crate) fn explained(text: &str) -> OneTrace {
    explain(&load(text), &Selection::default()).expect("a report")
}

/// Numbers without pattern.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as i64
    }
}

/// Steps of two devices: kernels of three streams, collectives and copies, work that one step launches and a later one runs,
/// Python frames around everything, arrows from forward to backward, and a backlog from before the recording.
pub(crate) fn steps(seed: u64, count: i64) -> Vec<Event> {
    let mut random = Random(seed);
    let mut made = Made { events: Vec::new(), free: [[0; 3]; 2], correlation: 10, arrow: 500 };
    for at in 0..12 {
        let start = 10_000 + at * 30_000;
        made.events.push(device("kernel", "backlog_gemm", start, 29_000, 0, 7, 900_000 + at as u64));
        made.free[0][0] = start + 29_000;
    }
    made.events.push(Event::new("python_function", "main.py(1): main", 1_000, 1_000_000_000));
    let mut clock = 200_000;
    let mut annotations = Vec::new();
    for step in 0..count {
        let begin = clock;
        clock += 15_000;
        made.events.push(Event::new("python_function", "train.py(7): step", begin + 500, 1));
        let frame = made.events.len() - 1;
        for operator in 0..24 {
            let wait = if random.below(5) == 0 { random.below(90_000) } else { random.below(4_000) };
            clock += wait;
            let thread = if operator >= 16 { 2 } else { 1 };
            let length = 4_000 + random.below(5_000);
            made.operator(&mut random, clock, length, thread, operator);
            clock += length + 200;
        }
        made.events[frame].duration = Some(clock - begin - 1_000);
        annotations.push((format!("ProfilerStep#{}", step + 3), begin, clock - begin));
        clock += 2_000 + random.below(20_000);
    }
    for (name, begin, length) in annotations {
        made.events.push(Event::new("user_annotation", name.clone(), begin, length));
        let inside = made.events.iter().filter(|event| event.is_on_device() && event.start >= begin);
        if let Some(start) = inside.map(|event| event.start).min() {
            made.events.push(Event::new("gpu_user_annotation", name, start, length).on(0, 7));
        }
    }
    let metadata = Event { phase: "M", duration: None, ..Event::new("", "process_name", 0, 0) };
    made.events.push(metadata.with("name", "\"python\""));
    made.events
}

fn device(category: &'static str, name: &str, start: i64, duration: i64, device: i64, stream: i64, id: u64) -> Event {
    let event = Event::new(category, name, start, duration).on(device, stream);
    event.with("device", device).with("stream", stream).with("correlation", id)
}

struct Made {
    events: Vec<Event>,
    /// When each stream of each device has nothing more to do.
    free: [[i64; 3]; 2],
    correlation: u64,
    arrow: u64,
}

impl Made {
    /// An operator on the host, and what it launches.
    fn operator(&mut self, random: &mut Random, start: i64, length: i64, thread: i64, number: i64) {
        let rows = [64, 256][random.below(2) as usize];
        let (name, category, kernel, stream) = match random.below(12) {
            0 => ("nccl:all_reduce", "kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1),
            1 => ("aten::copy_", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 2),
            2 | 3 => ("aten::mul", "kernel", "void at::native::vectorized_elementwise_kernel<4>", 0),
            _ => ("aten::mm", "kernel", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", 0),
        };
        let dims = format!("[[{rows}, 128], [128, 512]]");
        let operator = Event::new("cpu_op", name, start, length).on(100, thread);
        self.events
            .push(operator.with("Input Dims", dims).with("Input type", "[\"c10::BFloat16\", \"c10::BFloat16\"]"));
        self.events
            .push(Event::new("python_function", "layer.py(3): forward", start - 100, length + 200).on(100, thread));
        if number == 3 || number == 20 {
            self.arrow += u64::from(number == 3);
            let phase = if number == 3 { "s" } else { "f" };
            self.events.push(Event::flow(phase, "fwdbwd", self.arrow, start).on(100, thread));
        }
        self.correlation += 1;
        let id = self.correlation;
        let (called, on) = (start + 1_000, random.below(2));
        let called_for = 1_500 + random.below(1_000);
        let call = Event::new("cuda_runtime", "cudaLaunchKernel", called, called_for).on(100, thread);
        self.events.push(call.with("correlation", id));
        self.events.push(Event::flow("s", "ac2g", id, called).on(100, thread));
        // Now and then something runs much later than it is launched.
        let later = if number % 9 == 4 { 150_000 } else { 900 };
        let free = &mut self.free[on as usize][stream as usize];
        let begin = (called + called_for + later).max(*free);
        let duration = 1_000 + random.below(14_000);
        *free = begin + duration;
        let stream = [7, 20, 31][stream as usize];
        self.events.push(device(category, kernel, begin, duration, on, stream, id));
        self.events.push(Event::flow("f", "ac2g", id, begin).on(on, stream));
    }
}
