//! Defects of GPU traces, each at the least strength that must be found.

use super::gpu_trace::{LAYERS, Trace};
use super::random::Random;

/// A defect: what it is called, the codes of which one must be found, and what does it; false if it does not apply.
pub(crate) struct Defect {
    pub(crate) name: &'static str,
    pub(crate) codes: &'static [&'static str],
    pub(crate) inject: fn(&mut Trace, &mut Random) -> bool,
}

pub(crate) const DEFECTS: &[Defect] = &[
    Defect { name: "negative duration", codes: &["NEGATIVE_DURATION"], inject: negative },
    Defect { name: "zero duration", codes: &["ZERO_DURATION"], inject: zero },
    Defect { name: "kernel twice", codes: &["DUPLICATE_EVENTS"], inject: duplicated },
    Defect { name: "kernel repeated", codes: &["LAUNCH_TWICE"], inject: repeated },
    Defect { name: "kernel lost", codes: &["LOST_KERNELS", "RECORDED_LESS"], inject: lost_kernel },
    Defect { name: "launch lost", codes: &["LOST_LAUNCHES"], inject: lost_launch },
    Defect {
        name: "clock back",
        codes: &["TIME_BACKWARDS", "STEPS_OVERLAP", "OVERLAP_IMPOSSIBLE"],
        inject: clock_back,
    },
    Defect {
        name: "device clock back",
        codes: &["DEVICE_ORDER", "KERNEL_BEFORE_LAUNCH", "OVERLAP_IMPOSSIBLE"],
        inject: device_back,
    },
    Defect { name: "device clock forward", codes: &["DEVICE_STALL", "KERNEL_AFTER_SYNC"], inject: device_forward },
    Defect { name: "skew", codes: &["KERNEL_BEFORE_LAUNCH"], inject: skew },
    Defect { name: "skew of microseconds", codes: &["KERNEL_BEFORE_LAUNCH"], inject: small_skew },
    Defect { name: "jump", codes: &["CLOCK_JUMP"], inject: jump },
    Defect { name: "nanoseconds", codes: &["WRONG_UNIT"], inject: nanoseconds },
    Defect { name: "milliseconds", codes: &["WRONG_UNIT"], inject: milliseconds },
    Defect { name: "overlap", codes: &["OVERLAP_IMPOSSIBLE"], inject: overlap },
    Defect { name: "names slid", codes: &["NAMES_SHIFTED"], inject: slid },
    Defect { name: "buffer lost", codes: &["LOST_BUFFER"], inject: lost_buffer },
    Defect { name: "no correlation", codes: &["NO_CORRELATION"], inject: no_correlation },
    Defect { name: "wrong external id", codes: &["EXTERNAL_ID_IMPOSSIBLE"], inject: wrong_external },
    Defect { name: "collective doubled", codes: &["DOUBLE_COLLECTIVE"], inject: doubled_collective },
    Defect { name: "collectives wait", codes: &["WAITING_COLLECTIVES"], inject: waiting },
    Defect { name: "steps overlap", codes: &["STEPS_OVERLAP"], inject: steps_overlap },
    Defect { name: "step missing", codes: &["STEP_MISSING"], inject: step_missing },
];

fn some_kernel(trace: &Trace, random: &mut Random) -> usize {
    let kernels = trace.kernels();
    // Not the first and not the last, which could have been cut off by the profiler.
    kernels[random.within(1, kernels.len() - 1)]
}

fn negative(trace: &mut Trace, random: &mut Random) -> bool {
    let at = random.below(trace.events.len());
    trace.events[at].duration = Some(-1 - random.below(100_000) as i64);
    true
}

fn zero(trace: &mut Trace, random: &mut Random) -> bool {
    let at = some_kernel(trace, random);
    trace.events[at].duration = random.pick(&[Some(0), None]).to_owned();
    true
}

fn duplicated(trace: &mut Trace, random: &mut Random) -> bool {
    let at = some_kernel(trace, random);
    let copy = trace.events[at].clone();
    let to = random.below(trace.events.len());
    trace.events.insert(to, copy);
    true
}

fn repeated(trace: &mut Trace, random: &mut Random) -> bool {
    if trace.graph {
        return false;
    }
    let at = some_kernel(trace, random);
    let mut copy = trace.events[at].clone();
    copy.start += random.within(1_000, 100_000) as i64;
    trace.events.push(copy);
    true
}

fn lost_kernel(trace: &mut Trace, random: &mut Random) -> bool {
    let kernels = trace.kernels();
    let replay = kernels.len() / super::gpu_trace::STEPS;
    let at = if trace.graph {
        // Inside a replay: a graph whose first or last replay was cut is no loss.
        kernels[replay * random.below(3) + random.within(1, replay - 1)]
    } else {
        some_kernel(trace, random)
    };
    trace.events.remove(at);
    true
}

fn lost_launch(trace: &mut Trace, random: &mut Random) -> bool {
    let launches = trace.launches();
    // The first launch may be missing because the trace began behind it.
    trace.events.remove(launches[random.within(1, launches.len())]);
    true
}

fn clock_back(trace: &mut Trace, random: &mut Random) -> bool {
    let launches = trace.launches();
    let moment = trace.events[launches[random.within(1, launches.len())]].start;
    for event in trace.events.iter_mut().filter(|event| event.start >= moment) {
        event.start -= 1_000_000;
    }
    true
}

fn device_back(trace: &mut Trace, random: &mut Random) -> bool {
    let kernels = trace.kernels();
    // Inside the last replay of a graph it looks like a parallel branch.
    let last = if trace.graph { kernels.len() - kernels.len() / super::gpu_trace::STEPS } else { kernels.len() };
    let moment = trace.events[kernels[random.within(1, last)]].start;
    for event in trace.events.iter_mut().filter(|event| event.on_device() && event.start >= moment) {
        event.start -= 100_000;
    }
    true
}

fn device_forward(trace: &mut Trace, random: &mut Random) -> bool {
    let kernels = trace.kernels();
    let at = kernels[random.within(1, kernels.len() - 12)];
    let moment = trace.events[at].start;
    for event in trace.events.iter_mut().filter(|event| event.on_device() && event.start >= moment) {
        event.start += 50_000_000;
    }
    true
}

fn skew(trace: &mut Trace, _: &mut Random) -> bool {
    shift(trace, least_latency(trace) + 20_000);
    true
}

/// No kernel starts before its launch, but some sooner than a device can.
fn small_skew(trace: &mut Trace, _: &mut Random) -> bool {
    if trace.graph {
        return false;
    }
    shift(trace, least_latency(trace) - 2_000);
    true
}

fn shift(trace: &mut Trace, by: i64) {
    trace.events.iter_mut().filter(|event| event.on_device()).for_each(|event| event.start -= by);
}

fn least_latency(trace: &Trace) -> i64 {
    let launch = |correlation| {
        trace.events.iter().find(|event| event.name.contains("Launch") && event.correlation == correlation)
    };
    let kernels = trace.kernels();
    let latencies = kernels.iter().filter_map(|at| {
        let kernel = &trace.events[*at];
        Some(kernel.start - launch(kernel.correlation)?.start)
    });
    latencies.min().expect("launched kernels")
}

fn jump(trace: &mut Trace, random: &mut Random) -> bool {
    let span = trace.end() - trace.begin();
    // Between two steps, where nothing is under way.
    let steps: Vec<i64> =
        trace.events.iter().filter(|event| event.category == "user_annotation").map(|event| event.start).collect();
    let moment = steps[random.within(1, steps.len())];
    for event in trace.events.iter_mut().filter(|event| event.start >= moment) {
        event.start += (20 * span).max(1_100_000_000);
    }
    true
}

fn nanoseconds(trace: &mut Trace, _: &mut Random) -> bool {
    trace.scale = 1000.0;
    true
}

fn milliseconds(trace: &mut Trace, _: &mut Random) -> bool {
    trace.scale = 0.001;
    true
}

fn overlap(trace: &mut Trace, random: &mut Random) -> bool {
    if trace.graph {
        return false;
    }
    let mut missing = trace.kernel_time() / 500;
    while missing > 0 {
        let kernels = trace.kernels();
        let at = random.below(kernels.len() - 1);
        let next = trace.events[kernels[at + 1]].start;
        let kernel = &mut trace.events[kernels[at]];
        let overlap = 2_500.min(missing.max(300));
        if kernel.end() <= next {
            kernel.duration = Some(next - kernel.start + overlap);
            missing -= overlap;
        }
    }
    true
}

fn slid(trace: &mut Trace, random: &mut Random) -> bool {
    if !trace.graph {
        return false;
    }
    let kernels = trace.kernels();
    let layer = kernels.len() / super::gpu_trace::STEPS / LAYERS;
    let step = random.below(super::gpu_trace::STEPS);
    let first = (step * LAYERS + random.within(1, LAYERS - 4)) * layer;
    let by = random.within(1, 3);
    let durations: Vec<Option<i64>> = kernels.iter().map(|at| trace.events[*at].duration).collect();
    let mut start = trace.events[kernels[first]].start;
    for place in first..first + 2 * layer {
        let event = &mut trace.events[kernels[place]];
        event.duration = durations[place + by];
        event.start = start;
        start = event.end() + 1_200;
    }
    // What follows keeps its distance.
    let behind = first + 2 * layer;
    let shift = start - trace.events[kernels[behind]].start;
    if shift > 0 {
        let moment = trace.events[kernels[behind]].start;
        for event in &mut trace.events {
            if event.start >= moment {
                event.start += shift;
            } else if !event.on_device() && event.end() >= moment {
                event.duration = event.duration.map(|duration| duration + shift);
            }
        }
    }
    true
}

fn lost_buffer(trace: &mut Trace, random: &mut Random) -> bool {
    if trace.graph {
        return false;
    }
    let kernels = trace.kernels();
    let first = random.within(1, kernels.len() - 9);
    for at in kernels[first..first + 8].iter().rev() {
        trace.events.remove(*at);
    }
    true
}

fn no_correlation(trace: &mut Trace, random: &mut Random) -> bool {
    let mut kernels = trace.kernels();
    random.shuffle(&mut kernels);
    for at in &kernels[..kernels.len().div_ceil(50)] {
        trace.events[*at].correlation = None;
    }
    true
}

fn wrong_external(trace: &mut Trace, random: &mut Random) -> bool {
    if trace.graph {
        return false;
    }
    let kernels = trace.kernels();
    let mut some = kernels.clone();
    random.shuffle(&mut some);
    for at in &some[..kernels.len().div_ceil(33)] {
        let other = kernels[random.below(kernels.len())];
        if other == *at {
            return false;
        }
        trace.events[*at].external = trace.events[other].external;
    }
    true
}

fn doubled_collective(trace: &mut Trace, random: &mut Random) -> bool {
    let collectives: Vec<usize> =
        trace.kernels().into_iter().filter(|at| trace.events[*at].name.starts_with("nccl")).collect();
    let mut copy = trace.events[*random.pick(&collectives)].clone();
    copy.stream = Some(20);
    copy.start += random.below(900) as i64;
    trace.events.push(copy);
    true
}

fn waiting(trace: &mut Trace, random: &mut Random) -> bool {
    let time = trace.kernel_time() * 2 / 25;
    let collectives: Vec<usize> =
        trace.kernels().into_iter().filter(|at| trace.events[*at].name.starts_with("nccl")).collect();
    let at = collectives[random.within(8, collectives.len())];
    let moment = trace.events[at].end();
    // The kernel, and all that comes behind it, end later; so do the calls and steps that wait for it.
    for (place, event) in trace.events.iter_mut().enumerate() {
        let spans = !event.on_device() && event.start < moment && event.end() >= moment;
        if place == at || spans {
            event.duration = event.duration.map(|duration| duration + time + 60_000);
        } else if event.start >= moment {
            event.start += time + 60_000;
        }
    }
    true
}

fn steps_overlap(trace: &mut Trace, random: &mut Random) -> bool {
    let steps: Vec<usize> =
        (0..trace.events.len()).filter(|at| trace.events[*at].category == "user_annotation").collect();
    let place = random.below(steps.len() - 1);
    let next = trace.events[steps[place + 1]].start;
    let step = &mut trace.events[steps[place]];
    step.duration = Some(next - step.start + 10_000);
    true
}

fn step_missing(trace: &mut Trace, random: &mut Random) -> bool {
    let steps: Vec<usize> =
        (0..trace.events.len()).filter(|at| trace.events[*at].category == "user_annotation").collect();
    trace.events.remove(steps[random.within(1, steps.len() - 1)]);
    true
}
