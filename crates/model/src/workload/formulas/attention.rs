//! Attention over whole shapes: query, key and value are the first three arguments.

use crate::roofline::Work;

use super::products::matrix;
use crate::workload::call::{Call, CallWork};
use crate::workload::operator_kind::AttentionCall;

pub(super) fn work(how: AttentionCall, call: &Call) -> Option<CallWork> {
    let (query, key, value) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let [query, key, value] = [query, key, value].map(|shape| sides(shape, how.heads_first));
    let (query, key, value) = (query?, key?, value?);
    if key.tokens != value.tokens || key.heads != value.heads || query.size != key.size || query.batch != key.batch {
        return None;
    }
    let is_causal = call.flag(how.causal_at)?;
    let pairs = query.batch * query.heads * query.tokens * key.tokens;
    let operations = 2.0 * pairs * (key.size + value.size);
    let halved = is_causal && query.tokens == key.tokens;
    let result = query.batch * query.heads * query.tokens * value.size;
    let elements = query.elements() + key.elements() + value.elements() + result;
    let work =
        Work { operations: if halved { operations / 2.0 } else { operations }, bytes: elements * call.bytes(0)? };
    matrix(work, call.element(0)?)
}

/// Sizes of one tensor.
struct Sides {
    batch: f64,
    heads: f64,
    tokens: f64,
    size: f64,
}

impl Sides {
    fn elements(&self) -> f64 {
        self.batch * self.heads * self.tokens * self.size
    }
}

fn sides(shape: &[f64], heads_first: bool) -> Option<Sides> {
    let &[batch, second, third, size] = shape else { return None };
    let (heads, tokens) = if heads_first { (second, third) } else { (third, second) };
    Some(Sides { batch, heads, tokens, size })
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    const TYPES: &str = r#"["c10::Half", "c10::Half", "c10::Half"]"#;

    fn work(name: &str, dims: &str, values: &str) -> Option<(f64, f64)> {
        let found = Call::new(name, Arguments { dims, types: TYPES, values })?.work()?;
        Some((found.work.operations, found.work.bytes))
    }

    #[test]
    fn a_causal_mask_halves_the_square() {
        let dims = "[[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4]]";
        let name = "aten::_scaled_dot_product_flash_attention";
        let full = 2.0 * 2.0 * 64.0 * 8.0;
        let bytes = 2.0 * 4.0 * 64.0;
        assert_eq!(work(name, dims, r#"["", "", "", "0.", "False", "False", ""]"#), Some((full, bytes)));
        assert_eq!(work(name, dims, r#"["", "", "", "0.", "True", "False", ""]"#), Some((full / 2.0, bytes)));
        assert_eq!(work(name, dims, ""), None);
        assert_eq!(
            work("aten::_scaled_dot_product_efficient_attention", dims, r#"["", "", "", "", "False", "0.", "True"]"#),
            Some((full / 2.0, bytes))
        );
        assert_eq!(
            work("aten::scaled_dot_product_attention", dims, r#"["", "", "", "", "0.", "True"]"#),
            Some((full / 2.0, bytes))
        );
    }

    #[test]
    fn tokens_before_heads_and_fewer_heads_of_keys() {
        let dims = "[[1, 8, 4, 16], [1, 8, 2, 16], [1, 8, 2, 16]]";
        let values = r#"["", "", "", "0.", "0.25", "False"]"#;
        let expected = (2.0 * 4.0 * 64.0 * 32.0, 2.0 * (512.0 + 256.0 + 256.0 + 512.0));
        assert_eq!(work("flash_attn::_flash_attn_forward", dims, values), Some(expected));
    }

    #[test]
    fn one_new_token_sees_all_under_any_mask() {
        let dims = "[[1, 2, 1, 4], [1, 2, 8, 4], [1, 2, 8, 4]]";
        let values = r#"["", "", "", "0.", "True", "False", ""]"#;
        let found = work("aten::_scaled_dot_product_flash_attention", dims, values);
        assert_eq!(found.map(|(operations, _)| operations), Some(2.0 * 2.0 * 8.0 * 8.0));
    }
}
