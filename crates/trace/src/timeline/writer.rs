//! Writing windows as events.

use crate::timeline::event::{Args, COUNTER_PROCESS, Event, Label, Microseconds, us};
use crate::timeline::lanes::Lanes;
use crate::timeline::window::{Call, Window};
use std::collections::BTreeMap;
use std::io::{self, Write};

const PS_PER_NS: i64 = 1000;
/// Between the threads of lanes of a side: more than there are processes.
const THREADS_APART: usize = 10;

/// A chrome trace that is being written.
#[derive(Debug)]
pub struct Timeline<W: Write> {
    out: W,
    /// How many threads of each side have a name.
    named_threads: Vec<usize>,
    difference: String,
    /// Where the next window begins.
    clock_ns: i64,
    arrows: u64,
    /// First less second side so far.
    running_ps: i128,
    is_first_event: bool,
    buffer: Vec<u8>,
}

/// The thread of a lane. Perfetto shows the thread that has the number of its process above the others: the kernels.
fn thread_id(side: usize, lane: usize) -> usize {
    side + 1 + lane * THREADS_APART
}

/// A call with its place in the trace.
#[derive(Debug, Clone, Copy)]
struct Placed<'a> {
    side: usize,
    lane: usize,
    start_ns: i64,
    end_ns: i64,
    call: Call<'a>,
    arrow: Option<Arrow>,
}

/// The end of an arrow at a call.
#[derive(Debug, Clone, Copy)]
struct Arrow {
    id: u64,
    is_tail: bool,
}

impl<W: Write> Timeline<W> {
    /// Begins a trace with these sides; `difference` is the name of the counter.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn new(out: W, sides: &[&str], difference: &str) -> io::Result<Timeline<W>> {
        let mut timeline = Timeline {
            out,
            named_threads: vec![0; sides.len()],
            difference: difference.to_owned(),
            clock_ns: 0,
            arrows: 0,
            running_ps: 0,
            is_first_event: true,
            buffer: Vec::new(),
        };
        timeline.buffer.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        for (pid, name) in std::iter::once(&difference).chain(sides).enumerate() {
            timeline.push(&Event::Metadata { name: "process_name", pid, tid: 0, args: Label::Name(name) })?;
            timeline.push(&Event::Metadata { name: "process_sort_index", pid, tid: 0, args: Label::SortIndex(pid) })?;
        }
        timeline.flush()?;
        Ok(timeline)
    }

    /// Writes a window behind those that were written.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn add(&mut self, window: &Window<'_>) -> io::Result<()> {
        let (mut placed, mut end_ns) = (Vec::new(), self.clock_ns);
        for (side, calls) in window.sides.iter().enumerate().take(self.named_threads.len()) {
            let Some(first) = calls.calls.first() else { continue };
            let at_ns = |ps: i64| self.clock_ns + ps.saturating_sub(first.start_ps).div_euclid(PS_PER_NS);
            let mut lanes = Lanes::default();
            for &call in &calls.calls {
                let (start_ns, stop_ns) = (at_ns(call.start_ps), at_ns(call.start_ps.saturating_add(call.duration_ps)));
                let lane = lanes.take(start_ns, stop_ns);
                end_ns = end_ns.max(stop_ns);
                placed.push(Placed { side, lane, start_ns, end_ns: stop_ns, call, arrow: None });
            }
            end_ns = end_ns.max(at_ns(calls.until_ps));
        }
        self.join(&mut placed);
        placed.sort_by_key(|call| (call.start_ns, call.arrow.is_some_and(|arrow| !arrow.is_tail)));
        self.name_threads(&placed)?;
        self.whole_windows(window.name, &placed)?;
        for call in &placed {
            self.call(call)?;
        }
        self.clock_ns = end_ns;
        self.count(end_ns)?;
        self.flush()
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.buffer.extend_from_slice(b"\n]}\n");
        self.flush()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Joins calls of the same work on the first two sides, from the one that begins first.
    fn join(&mut self, placed: &mut [Placed<'_>]) {
        let mut waiting: [BTreeMap<u32, Vec<usize>>; 2] = Default::default();
        for (at, call) in placed.iter().enumerate() {
            // An arrow needs a slice of some length.
            if call.side < 2 && call.end_ns > call.start_ns {
                waiting[call.side].entry(call.call.work).or_default().push(at);
            }
        }
        let [first, second] = waiting;
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (work, one) in &first {
            let other = second.get(work).map_or(&[][..], Vec::as_slice);
            pairs.extend(one.iter().copied().zip(other.iter().copied()));
        }
        pairs.sort_unstable();
        for (one, other) in pairs {
            let id = self.arrows;
            self.arrows += 1;
            let first_is_tail = placed[one].start_ns <= placed[other].start_ns;
            placed[one].arrow = Some(Arrow { id, is_tail: first_is_tail });
            placed[other].arrow = Some(Arrow { id, is_tail: !first_is_tail });
        }
    }

    fn name_threads(&mut self, placed: &[Placed<'_>]) -> io::Result<()> {
        for call in placed {
            while self.named_threads[call.side] <= call.lane {
                let lane = self.named_threads[call.side];
                let (pid, tid) = (call.side + 1, thread_id(call.side, lane));
                let name = if lane == 0 { "kernels".to_owned() } else { format!("at the same time {lane}") };
                self.push(&Event::Metadata { name: "thread_name", pid, tid, args: Label::Name(&name) })?;
                self.named_threads[call.side] += 1;
            }
        }
        Ok(())
    }

    /// The slice around the first thread of each side.
    fn whole_windows(&mut self, name: &str, placed: &[Placed<'_>]) -> io::Result<()> {
        for side in 0..self.named_threads.len() {
            let on_first = |call: &&Placed<'_>| call.side == side && call.lane == 0;
            let Some(end_ns) = placed.iter().filter(on_first).map(|call| call.end_ns).max() else { continue };
            let (ts, dur) = (us(self.clock_ns), us(end_ns - self.clock_ns));
            self.push(&Event::Slice {
                name,
                pid: side + 1,
                tid: thread_id(side, 0),
                ts,
                dur,
                cname: None,
                args: Args::default(),
            })?;
        }
        Ok(())
    }

    fn call(&mut self, placed: &Placed<'_>) -> io::Result<()> {
        let Placed { side, lane, start_ns, end_ns, call, arrow } = *placed;
        let (pid, tid, ts) = (side + 1, thread_id(side, lane), us(start_ns));
        let Call { shape, family, cause, .. } = call;
        // Nobody needs more than the nanosecond.
        let lost_us = call.lost_ps.map(|ps| us((ps as f64 / PS_PER_NS as f64).round() as i64));
        self.push(&Event::Slice {
            name: call.name,
            pid,
            tid,
            ts,
            dur: us(end_ns - start_ns),
            cname: call.agreement.color(),
            args: Args { shape, family, cause, lost_us },
        })?;
        let (name, cat) = ("same work", "pair");
        match arrow {
            Some(Arrow { id, is_tail: true }) => self.push(&Event::ArrowTail { id, name, cat, pid, tid, ts })?,
            Some(Arrow { id, .. }) => self.push(&Event::ArrowHead { id, name, cat, bp: "e", pid, tid, ts })?,
            None => {}
        }
        match side {
            0 => self.running_ps += i128::from(call.duration_ps),
            1 => {
                self.running_ps -= i128::from(call.duration_ps);
                self.count(start_ns)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, at_ns: i64) -> io::Result<()> {
        let args = Microseconds { us: us((self.running_ps / i128::from(PS_PER_NS)) as i64) };
        let name = std::mem::take(&mut self.difference);
        let pushed = self.push(&Event::Counter { name: &name, pid: COUNTER_PROCESS, ts: us(at_ns), args });
        self.difference = name;
        pushed
    }

    fn push(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.buffer.extend_from_slice(if self.is_first_event { b"\n" } else { b",\n" });
        self.is_first_event = false;
        Ok(serde_json::to_writer(&mut self.buffer, event)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
