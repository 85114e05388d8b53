//! The operator a stack stands for when no host operator is known.

/// Marks of frames that belong to a model or a server.
pub(crate) const KEYS: [&str; 4] = ["vllm/", "sglang/", "model", "<eval_with_key>"];

/// Mark of kernels that a captured graph launched.
pub(crate) const GRAPH: &str = " [CUDA graph]";

/// Longest frame name that is shown whole.
const LONGEST: usize = 53;

/// The innermost name with one of [`KEYS`] in any case, else the innermost; long paths cut. `names` from the innermost
/// outwards; empty for no names.
pub(crate) fn summary<'a>(names: impl Iterator<Item = &'a str>) -> Option<(String, bool)> {
    let mut innermost = None;
    let mut with_key = None;
    let mut graph = false;
    for name in names {
        // Frames of C functions are of no use while a caller is known.
        if innermost.is_none_or(is_built_in) && !(innermost.is_some() && is_built_in(name)) {
            innermost = Some(name);
        }
        graph |= name.contains("torch/cuda/graphs");
        if with_key.is_none() {
            let lower = name.to_lowercase();
            let lower = if is_built_in(&lower) { String::new() } else { lower };
            with_key = KEYS.iter().any(|key| lower.contains(key)).then_some(name);
        }
    }
    let name = with_key.or(innermost)?;
    let text = built_in_method(name).map_or_else(|| shortened(name), |method| format!("{method} (built-in)"));
    Some((text, graph))
}

fn is_built_in(name: &str) -> bool {
    name.starts_with("<built-in")
}

/// `replay` of `<built-in method replay of pybind11_builtins… object at 0x7f…>`.
fn built_in_method(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("<built-in method ").or_else(|| name.strip_prefix("<built-in function "))?;
    rest.split([' ', '>']).next().filter(|method| !method.is_empty())
}

/// `.../` and the last part of a path longer than 53 characters.
pub(crate) fn shortened(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((_, last)) if name.chars().count() > LONGEST => format!(".../{last}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frame_of_the_model_speaks() {
        let of = |names: &[&'static str]| summary(names.iter().copied());
        assert_eq!(
            of(&["torch/x.py(1): f", "VLLM/a.py(2): g", "run.py(1): main"]),
            Some(("VLLM/a.py(2): g".into(), false))
        );
        assert_eq!(of(&["a.py(1): f", "torch/cuda/graphs.py(9): replay"]), Some(("a.py(1): f".into(), true)));
        assert_eq!(of(&[]), None);
        let replay = "<built-in method replay of pybind11_builtins.pybind11_detail object at 0x7f00>";
        assert_eq!(
            of(&[replay, "torch/cuda/graphs.py(9): replay"]),
            Some(("torch/cuda/graphs.py(9): replay".into(), true))
        );
        assert_eq!(of(&[replay]), Some(("replay (built-in)".into(), false)));
        let long = "vllm/model_executor/layers/quantization/fp8.py(123): apply_weights";
        assert_eq!(shortened(long), ".../fp8.py(123): apply_weights");
        assert_eq!(shortened(&long[..53]), &long[..53]);
    }
}
