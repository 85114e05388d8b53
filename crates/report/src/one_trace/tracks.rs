//! Steps, parts of time and layers as a chrome trace, on the clock of the trace that they are of.

use perfdb_tracediff::{DeviceTracks, Slice};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A process per device, a thread per track; to open in Perfetto.
pub fn tracks(devices: &[DeviceTracks]) -> String {
    let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (number, device) in devices.iter().enumerate() {
        let pid = number + 1;
        named(&mut out, pid, 0, "process_name", &format!("time of device {}", device.device));
        let tracks = [("steps", &device.steps), ("parts of the time", &device.parts), ("layers", &device.layers)];
        for (track, (name, slices)) in tracks.into_iter().enumerate().filter(|(_, (_, slices))| !slices.is_empty()) {
            named(&mut out, pid, track + 1, "thread_name", name);
            slices.iter().for_each(|slice| event(&mut out, pid, track + 1, slice));
        }
    }
    out += "\n]}\n";
    out
}

fn named(out: &mut String, pid: usize, tid: usize, what: &str, name: &str) {
    push(out, &json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}).to_string());
}

/// Times are whole nanoseconds: viewers drop slices that overlap.
fn event(out: &mut String, pid: usize, tid: usize, slice: &Slice) {
    let (start, end) = (slice.start.div_euclid(1000), slice.end.div_euclid(1000));
    let mut text = String::new();
    let name = Value::from(slice.name.as_str());
    let _ = write!(
        text,
        "{{\"ph\":\"X\",\"name\":{name},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{}}}",
        microseconds(start),
        microseconds(end - start)
    );
    push(out, &text);
}

/// Whole nanoseconds as decimal microseconds.
fn microseconds(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let size = ns.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

fn push(out: &mut String, event: &str) {
    out.push_str(if out.ends_with('[') { "\n" } else { ",\n" });
    out.push_str(event);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_events_of_a_track() {
        let slice = |name: &str, start, end| Slice { name: name.to_owned(), start, end };
        let device = DeviceTracks {
            device: "0".to_owned(),
            steps: vec![slice("step \"1\"", 1_000_000_000_001_999, 1_000_000_002_000_000)],
            parts: vec![slice("compute", -1_500, 500)],
            layers: Vec::new(),
        };
        let text = tracks(&[device]);
        let events: Value = serde_json::from_str(&text).expect("JSON");
        let events = events["traceEvents"].as_array().expect("a list");
        assert_eq!(events.len(), 5);
        assert_eq!(events[2]["name"], "step \"1\"");
        assert!(text.contains("\"ts\":1000000000.001,\"dur\":1.999"), "{text}");
        assert!(text.contains("\"ts\":-0.002,\"dur\":0.002"), "{text}");
    }
}
