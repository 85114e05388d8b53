//! Simulator traces of a small model, and their defects.

use super::random::Random;

/// An operator; times in microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    name: &'static str,
    start: i64,
    duration: i64,
    source: Option<&'static str>,
    kernel_type: Option<&'static str>,
    parts: Option<String>,
}

pub(crate) type Operators = Vec<Operator>;

/// Layers of the model.
const LAYERS: usize = 24;

/// Name, usual time, kernel type, and the parts of composites in hundredths of a microsecond.
type Kind = (&'static str, i64, &'static str, Option<(i64, i64)>);

/// Operators of a layer.
const LAYER: [Kind; 6] = [
    ("aten.mm.default", 23, "MatMulV2", None),
    ("tensor_cast.attention.default", 40, "FusedInferAttentionScore", None),
    ("tensor_cast.matmul_all_reduce.default", 31, "MatMulV2", Some((2280, 800))),
    ("tensor_cast.add_rms_norm2.default", 6, "AddRmsNorm", None),
    ("tensor_cast.swiglu.default", 9, "SwiGlu", None),
    ("aten.mm.default", 52, "MatMulV2", None),
];

pub(crate) fn clean(random: &mut Random) -> Operators {
    let mut operators = Vec::new();
    let mut start = 0;
    for _ in 0..LAYERS {
        for (name, usual, kernel_type, parts) in LAYER {
            let duration = if parts.is_some() { usual } else { usual + random.below(3) as i64 };
            let parts = parts.map(|(one, other)| {
                format!("[('MatMulV2', {:.2}), ('hcom_allReduce_', {:.2})]", one as f64 / 100.0, other as f64 / 100.0)
            });
            let source = Some("MEASURED");
            operators.push(Operator { name, start, duration, source, kernel_type: Some(kernel_type), parts });
            start += duration;
        }
    }
    operators
}

pub(crate) fn text(operators: &Operators) -> String {
    let events: Vec<String> = operators
        .iter()
        .map(|operator| {
            let mut args = String::from("\"simulation_shapes\": \"[[16, 512]]\"");
            for (key, value) in [
                ("source", operator.source),
                ("kernel_type", operator.kernel_type),
                ("sub_kernel_durations", operator.parts.as_deref()),
            ] {
                if let Some(value) = value {
                    args.push_str(&format!(", \"{key}\": \"{value}\""));
                }
            }
            format!(
                "{{\"name\": \"{}\", \"cat\": \"empirical\", \"ph\": \"X\", \"ts\": {}, \"dur\": {}, \"pid\": 0, \"tid\": 0, \"args\": {{{args}}}}}",
                operator.name, operator.start, operator.duration
            )
        })
        .collect();
    format!("{{\"traceEvents\": [{}]}}", events.join(", "))
}

type Defect = (&'static str, &'static [&'static str], fn(&mut Operators, &mut Random));

pub(crate) const DEFECTS: &[Defect] = &[
    ("no source", &["NO_SOURCE"], |operators, random| {
        let time: i64 = operators.iter().map(|operator| operator.duration).sum();
        let mut left = time / 50 + 1;
        while left > 0 {
            let operator = &mut operators[random.below(LAYERS * LAYER.len())];
            left -= operator.duration;
            operator.source = None;
            operator.kernel_type = None;
        }
    }),
    ("no kernel type", &["NO_KERNEL_TYPE"], |operators, random| {
        operators[random.below(LAYERS * LAYER.len())].kernel_type = *random.pick(&[None, Some("")]);
    }),
    ("composite off", &["COMPOSITE_SUM"], |operators, random| {
        let at = random.below(LAYERS) * LAYER.len() + 2;
        operators[at].duration += 2;
        for operator in &mut operators[at + 1..] {
            operator.start += 2;
        }
    }),
    ("doubled in a layer", &["LAYER_COUNTS"], |operators, random| {
        let at = random.within(1, LAYERS - 2) * LAYER.len() + random.within(2, LAYER.len());
        let copy = operators[at].clone();
        for operator in &mut operators[at + 1..] {
            operator.start += copy.duration;
        }
        operators.insert(at + 1, Operator { start: copy.start + copy.duration, ..copy });
    }),
    ("lost in a layer", &["LAYER_COUNTS"], |operators, random| {
        operators.remove(random.within(1, LAYERS - 2) * LAYER.len() + random.within(2, LAYER.len()));
    }),
    ("time back", &["TIME_BACKWARDS"], |operators, random| {
        let at = random.within(1, LAYERS * LAYER.len());
        for operator in &mut operators[at..] {
            operator.start -= 200;
        }
    }),
    ("operator twice", &["DUPLICATE_EVENTS"], |operators, random| {
        let at = random.below(LAYERS * LAYER.len());
        let copy = operators[at].clone();
        operators.insert(at, copy);
    }),
];
