//! The steps of a trace as a list.

use super::cut;
use perfdb_tracediff::{OneTrace, StepRow};

/// Columns of the list.
const SCREEN: usize = 100;
/// Steps that the list shows at most.
const STEPS: usize = 36;

/// The steps on one screen.
pub fn steps(one: &OneTrace) -> String {
    let count = one.steps.len();
    let mut out = vec![match one.step_count {
        0 => format!("no steps; {:.3} ms of the whole trace", one.per_step_ms),
        1 => format!("1 step on {} of {:.3} ms", devices_of(one), one.per_step_ms),
        steps => format!("{steps} steps on {} of {:.3} ms each (mean)", devices_of(one), one.per_step_ms),
    }];
    if one.step_count > 0 {
        out.push(format!("{:>6}  {:>11}{:>10}  {:<8}{:<8}name", "number", "ms", "kernels", "device", "phase"));
        let row = |(number, step): (usize, &StepRow)| {
            let (phase, name) = (step.phase.unwrap_or(""), step.name.as_deref().unwrap_or(""));
            let (ms, kernels, device) = (step.elapsed_ms, step.kernels, &step.device);
            cut(&format!("{number:>6}  {ms:>11.3}{kernels:>10}  {device:<8}{phase:<8}{name}"), SCREEN)
        };
        out.extend(one.steps.iter().enumerate().take(STEPS).map(row));
        if count > STEPS {
            out.push(format!("{} more steps: explain-trace --format csv", count - STEPS));
        }
    }
    out.iter().map(|line| line.clone() + "\n").collect()
}

fn devices_of(one: &OneTrace) -> String {
    if one.devices == 1 { "1 device".to_owned() } else { format!("{} devices", one.devices) }
}
