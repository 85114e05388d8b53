//! A pass as the simulator and the profiler write it.

use super::model::{Chance, Layer, Shapes};
use std::fmt::Write as _;

pub(crate) fn list(shapes: &Shapes) -> String {
    let dims = |dims: &Vec<u64>| format!("[{}]", dims.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    format!("[{}]", shapes.iter().map(dims).collect::<Vec<_>>().join(", "))
}

/// Microseconds with all decimals.
pub(crate) fn us(ps: u64) -> String {
    format!("{}.{:03}", ps / 1_000_000, ps / 1000 % 1000)
}

pub(crate) fn trace(pass: &[Layer]) -> String {
    let mut events =
        vec![r#"{"name":"process_name","ph":"M","pid":0,"args":{"name":"empirical (PID: 0)"}}"#.to_owned()];
    let mut now = 0;
    for kernel in pass.iter().flatten() {
        let mut args = format!(r#""simulation_shapes":"{}""#, list(&kernel.simulated));
        match (kernel.source, kernel.bytes) {
            (None, _) => args += r#","shape_match_rule":"analytic""#,
            (Some(source), bytes) => {
                let shapes = match (kernel.rule, bytes) {
                    ("attention", _) => String::new(),
                    (_, Some(bytes)) => format!("[[{bytes}]]"),
                    (_, None) => list(&kernel.shapes),
                };
                let (kernel_type, rule) = (&kernel.kernel_type, kernel.rule);
                let _ = write!(
                    args,
                    r#","source":"{source}","kernel_type":"{kernel_type}","shape_match_rule":"{rule}","kernel_shapes":"{shapes}""#
                );
            }
        }
        let (operator, start, duration) = (kernel.operator, us(now), us(kernel.ps));
        events.push(format!(
            r#"{{"name":"{operator}","ph":"X","ts":{start},"dur":{duration},"pid":0,"tid":0,"args":{{{args}}}}}"#
        ));
        now += kernel.ps;
    }
    format!("{{\"traceEvents\":[{}]}}", events.join(",\n"))
}

pub(crate) fn profile(chance: &mut Chance, pass: &[Layer], passes: u32, thrice: bool) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut now_ns = 1_774_512_345_000_000_000 + chance.below(1_000_000_000);
    let mut again = Vec::new();
    for _ in 0..passes {
        for kernel in pass.iter().flatten() {
            let cell = match kernel.shapes.as_slice() {
                [] => "N/A".to_owned(),
                shapes => {
                    let dims = |dims: &Vec<u64>| dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                    format!("\"\"\"{}\"\"\"", shapes.iter().map(dims).collect::<Vec<_>>().join(";"))
                }
            };
            let format = |dims: &Vec<u64>| match dims.as_slice() {
                [_, _, 16, 16 | 32] => "FRACTAL_NZ",
                [] => "NULL",
                _ => "ND",
            };
            let formats = kernel.shapes.iter().map(format).collect::<Vec<_>>().join(";");
            let row = |stream: &str| {
                let (name, duration) = (&kernel.kernel_type, us(kernel.ps));
                let start = format!("{}.{:03}\t", now_ns / 1000, now_ns % 1000);
                format!("{stream},{name},{name},dynamic,{start},{duration},{cell},{formats}")
            };
            if kernel.is_collective() {
                rows.extend([row("N/A"), row("83")]);
                again.push(row("84"));
            } else {
                rows.push(row("2"))
            }
            now_ns += kernel.ps / 1000 + chance.below(1001);
        }
        now_ns += 400_000;
    }
    if thrice {
        // A third listing, in no order, at the end of the file.
        for at in (1..again.len()).rev() {
            again.swap(at, chance.below(at as u64 + 1) as usize);
        }
        rows.append(&mut again);
    }
    let header = "Stream ID,Name,Type,OP State,Start Time(us),Duration(us),Input Shapes,Input Formats";
    format!("{header}\n{}\n", rows.join("\n"))
}
