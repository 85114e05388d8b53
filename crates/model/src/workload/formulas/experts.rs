//! The experts of a layer in one call: tokens, weights up (and gate), weights down, and the experts of each token.

use super::products::{Size, matrix};
use crate::workload::call::{Call, CallWork};

pub(super) fn work(call: &Call) -> Option<CallWork> {
    let &[tokens, hidden] = call.shape(0)? else { return None };
    let &[experts, up, same_hidden] = call.shape(1)? else { return None };
    let &[same_experts, also_hidden, inner] = call.shape(2)? else { return None };
    let &[same_tokens, per_token] = call.shape(3)? else { return None };
    let fits = same_hidden == hidden
        && also_hidden == hidden
        && same_experts == experts
        && same_tokens == tokens
        && (up == inner || up == 2.0 * inner);
    if !fits {
        return None;
    }
    let rows = tokens * per_token;
    let touched = experts.min(rows);
    let (activation, weight) = (call.bytes(0)?, call.bytes(1)?);
    let product =
        |n: f64, k: f64| Size { batch: 1.0, weights: touched, m: rows, n, k }.work(activation, weight, activation);
    matrix(product(up, hidden) + product(hidden, inner), call.element(1)?)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    #[test]
    fn experts_that_no_token_can_reach_are_not_read() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float"]"#;
        let work = |dims| Call::new("vllm::fused_experts", Arguments { dims, types, values: "" })?.work();
        let found = work("[[3, 16], [64, 40, 16], [64, 16, 20], [3, 2]]").expect("shapes that fit").work;
        assert_eq!(found.operations, 2.0 * 6.0 * (40.0 * 16.0 + 16.0 * 20.0));
        assert_eq!(found.bytes, 2.0 * (6.0 * (16.0 + 40.0 + 20.0 + 16.0) + 6.0 * (640.0 + 320.0)));
        assert_eq!(work("[[3, 16], [64, 44, 16], [64, 16, 20], [3, 2]]"), None);
    }
}
