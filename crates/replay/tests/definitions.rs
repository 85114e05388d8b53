//! Reference implementations against their definitions, written out as plain loops over all scores, for the forms that the
//! golden vectors do not show.

use perfdb_replay::bindings::Bindings;
use perfdb_replay::case::Case;
use perfdb_replay::fill::build_inputs;
use perfdb_replay::kernels::tensor::{Data, Tensor};
use perfdb_replay::operators;
use serde_json::{Value, json};

/// Numbers between −1 and 1 that differ from place to place, exact in float32.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|at| ((at * 37 + seed * 101) % 127) as f64 / 64.0 - 1.0).collect()
}

fn input(name: &str, shape: &[usize], dtype: &str, values: &[f64]) -> Value {
    json!({"name": name, "shape": shape, "dtype": dtype, "format": "ND", "init": {"kind": "values", "values": values}})
}

fn tensor(name: &str) -> Value {
    json!({"tensor": name})
}

/// Shapes and values of the outputs of a call.
fn run(op: &str, inputs: &[Value], args: Value, kwargs: Value, attempts: Value) -> Vec<(Vec<usize>, Vec<f64>)> {
    let case: Case = serde_json::from_value(json!({
        "op": op, "csv": "", "row": 2, "status": "ok", "api": "", "inputs": inputs, "args": args, "kwargs": kwargs,
        "attempts": attempts, "check": "warn", "repeat": 1,
    }))
    .expect("a case");
    let operator = operators::find(op).expect("a known operator");
    let inputs = build_inputs(&case, 0).expect("inputs");
    let outputs = (operator.run)(&mut Bindings::new(&case.call, inputs)).expect("outputs");
    outputs.iter().map(|output| (output.tensor().shape().to_vec(), flat(output.tensor()))).collect()
}

fn flat(tensor: &Tensor) -> Vec<f64> {
    match tensor.data() {
        Data::Float32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::BFloat16(values) => values.iter().map(|value| value.to_f64()).collect(),
        Data::Int8(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::Int32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        other => panic!("{:?}", other.dtype()),
    }
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "value {at}: {got}, expected {want}");
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// softmax(scores) · values and ln Σ e^score over the pairs that are seen.
fn attention(seen: &[(f64, &[f64])], width: usize) -> (Vec<f64>, f64) {
    let sum: f64 = seen.iter().map(|(score, _)| score.exp()).sum();
    let mut out = vec![0.0; width];
    for (score, value) in seen {
        out.iter_mut().zip(*value).for_each(|(out, value)| *out += score.exp() / sum * value);
    }
    (out, sum.ln())
}

/// One layout of FusedInferAttentionScore: where queries, keys and outputs lie, and what is hidden.
struct Layout<'a> {
    query: [usize; 4],
    key: &'a [usize],
    value_width: usize,
    kwargs: Value,
    more: Vec<Value>,
    sequences: usize,
    key_heads: usize,
    group: usize,
    /// (sequence, head, query) → row of the query tensor; `None` where there is no such query.
    query_row: &'a dyn Fn(usize, usize, usize) -> Option<usize>,
    /// (sequence, head, query) → row of the output.
    output_row: &'a dyn Fn(usize, usize, usize) -> usize,
    /// (sequence, key head, position) → first element of the key, and of the value; `None` beyond the sequence.
    key_at: &'a dyn Fn(usize, usize, usize) -> Option<(usize, usize)>,
    hidden: &'a dyn Fn(usize, usize, usize) -> bool,
}

fn check(layout: &Layout<'_>) {
    let [_, _, _, width] = layout.query;
    let query_shape: Vec<usize> = layout.query.iter().copied().filter(|size| *size != usize::MAX).collect();
    let value_shape = [&layout.key[..layout.key.len() - 1], &[layout.value_width]].concat();
    let counts = [&query_shape[..], layout.key, &value_shape].map(|shape| shape.iter().product::<usize>());
    let (query, key, value) = (numbers(counts[0], 1), numbers(counts[1], 2), numbers(counts[2], 3));
    let mut inputs = vec![
        input("query", &query_shape, "float32", &query),
        input("key", layout.key, "float32", &key),
        input("value", &value_shape, "float32", &value),
    ];
    inputs.extend(layout.more.iter().cloned());
    let mut kwargs = layout.kwargs.clone();
    kwargs["softmax_lse_flag"] = json!(true);
    kwargs["scale"] = json!(0.5);
    kwargs["num_key_value_heads"] = json!(layout.key_heads);
    let outputs = run(
        "FusedInferAttentionScore",
        &inputs,
        json!([tensor("query"), tensor("key"), tensor("value")]),
        kwargs,
        json!([]),
    );
    let value_of_head = if layout.key.len() == 3 && layout.kwargs.get("block_table").is_some() {
        layout.value_width / layout.key_heads
    } else {
        layout.value_width
    };
    let (mut want, mut sums) = (vec![0.0; outputs[0].1.len()], vec![0.0; outputs[1].1.len()]);
    for sequence in 0..layout.sequences {
        for head in 0..layout.key_heads * layout.group {
            for at in 0..100 {
                let Some(row) = (layout.query_row)(sequence, head, at) else { break };
                let mut seen = Vec::new();
                for position in 0..100 {
                    let Some((key_at, value_at)) = (layout.key_at)(sequence, head / layout.group, position) else {
                        break;
                    };
                    if !(layout.hidden)(sequence, at, position) {
                        let score = 0.5 * dot(&query[row * width..(row + 1) * width], &key[key_at..key_at + width]);
                        seen.push((score, &value[value_at..value_at + value_of_head]));
                    }
                }
                let (out, sum) = attention(&seen, value_of_head);
                let output_row = (layout.output_row)(sequence, head, at);
                want[output_row * value_of_head..(output_row + 1) * value_of_head].copy_from_slice(&out);
                sums[row] = sum;
            }
        }
    }
    assert_close(&outputs[0].1, &want, 2e-6);
    assert_close(&outputs[1].1, &sums, 2e-6);
}

#[test]
fn token_major_queries_over_flat_pages() {
    // Two sequences of 2 and 1 queries with 5 and 4 keys; pages of 2 positions that hold both heads side by side.
    let table = [3, 0, 1, 2, 4, 0];
    let place = |sequence: usize, position: usize| table[sequence * 3 + position / 2] * 2 + position % 2;
    let (starts, lengths) = ([0, 2], [5, 4]);
    check(&Layout {
        query: [3, 4, usize::MAX, 2],
        key: &[5, 2, 4],
        value_width: 6,
        kwargs: json!({"actual_seq_lengths": [2, 3], "actual_seq_lengths_kv": lengths, "block_table": tensor("block_table"), "sparse_mode": 3, "block_size": 2, "input_layout": "TND", "num_heads": 4}),
        more: vec![input("block_table", &[2, 3], "int32", &table.map(|entry| entry as f64))],
        sequences: 2,
        key_heads: 2,
        group: 2,
        query_row: &|sequence, head, at| (at < 2 - sequence).then(|| (starts[sequence] + at) * 4 + head),
        output_row: &|sequence, head, at| (starts[sequence] + at) * 4 + head,
        key_at: &|sequence, head, position| {
            (position < lengths[sequence])
                .then(|| (place(sequence, position) * 4 + head * 2, place(sequence, position) * 6 + head * 3))
        },
        hidden: &|sequence, at, position| position > at + lengths[sequence] - (2 - sequence),
    });
}

#[test]
fn batches_with_a_mask_each() {
    // Output (heads, batch, queries, size); a mask per sequence, no causal rule.
    let mask: Vec<f64> = (0..2 * 3 * 5).map(|at| f64::from(u8::from(at % 4 == 1 || at % 7 == 3))).collect();
    let hidden = mask.clone();
    check(&Layout {
        query: [2, 4, 3, 2],
        key: &[2, 2, 5, 2],
        value_width: 3,
        kwargs: json!({"atten_mask": tensor("mask"), "sparse_mode": 0, "input_layout": "BNSD_NBSD", "num_heads": 4}),
        more: vec![
            json!({"name": "mask", "shape": [2, 1, 3, 5], "dtype": "bool", "format": "ND", "init": {"kind": "values", "values": mask.iter().map(|value| *value == 1.0).collect::<Vec<_>>()}}),
        ],
        sequences: 2,
        key_heads: 2,
        group: 2,
        query_row: &|sequence, head, at| (at < 3).then(|| (sequence * 4 + head) * 3 + at),
        output_row: &|sequence, head, at| (head * 2 + sequence) * 3 + at,
        key_at: &|sequence, head, position| {
            let line = (sequence * 2 + head) * 5 + position;
            (position < 5).then(|| (line * 2, line * 3))
        },
        hidden: &|sequence, at, position| hidden[(sequence * 3 + at) * 5 + position] == 1.0,
    });
}

#[test]
fn batches_may_use_the_first_key_head_alone() {
    check(&Layout {
        query: [1, 2, 2, 2],
        key: &[1, 3, 4, 2],
        value_width: 2,
        kwargs: json!({"sparse_mode": 3, "input_layout": "BNSD_NBSD", "num_heads": 2, "actual_seq_lengths": [2], "actual_seq_lengths_kv": [3]}),
        more: vec![],
        sequences: 1,
        key_heads: 1,
        group: 2,
        query_row: &|_, head, at| (at < 2).then(|| head * 2 + at),
        output_row: &|_, head, at| head * 2 + at,
        key_at: &|_, _, position| (position < 3).then(|| (position * 2, position * 2)),
        hidden: &|_, at, position| position > at + 1,
    });
}

#[test]
fn a_later_ring_step_is_merged_with_the_state() {
    let (tq, tk, heads, dn, dr) = (3, 4, 2, 3, 2);
    let parts = [(tq, dn), (tq, dr), (tk, dn), (tk, dr), (tk, dn)];
    let names = ["q_nope", "q_rope", "k_nope", "k_rope", "value"];
    let values: Vec<Vec<f64>> = parts.iter().enumerate().map(|(at, (t, d))| numbers(t * heads * d, at)).collect();
    let mut inputs: Vec<Value> = names
        .iter()
        .zip(&parts)
        .zip(&values)
        .map(|((name, (t, d)), values)| input(name, &[*t, heads, *d], "float32", values))
        .collect();
    let (pre_out, prev_lse) = (numbers(tq * heads * dn, 8), numbers(heads * tq, 9));
    inputs.push(input("pre_out", &[tq, heads, dn], "float32", &pre_out));
    inputs.push(input("prev_lse", &[heads, tq], "float32", &prev_lse));
    inputs.push(input("seqlen", &[2, 1], "int32", &[tq as f64, tk as f64]));
    let mut kwargs: Value =
        names.iter().map(|name| ((*name).to_owned(), tensor(name))).collect::<serde_json::Map<_, _>>().into();
    kwargs["pre_out"] = tensor("pre_out");
    kwargs["prev_lse"] = tensor("prev_lse");
    kwargs["qk_scale"] = json!(0.25);
    kwargs["calc_type"] = json!("calc_type_default");
    let attempts = json!([{"name": "default_nomask_alias_2d", "seqlen": tensor("seqlen"), "output": tensor("pre_out"), "softmax_lse": tensor("prev_lse")}]);
    let outputs = run("RINGMLAPrefillBF16Kernel", &inputs, json!([]), kwargs, attempts);
    let row = |part: usize, token: usize, head: usize| -> &[f64] {
        let width = parts[part].1;
        &values[part][(token * heads + head) * width..(token * heads + head + 1) * width]
    };
    let (mut want, mut sums) = (vec![0.0; tq * heads * dn], vec![0.0; heads * tq]);
    for head in 0..heads {
        for query in 0..tq {
            let scores = (0..tk).map(|key| {
                let score = dot(row(0, query, head), row(2, key, head)) + dot(row(1, query, head), row(3, key, head));
                (0.25 * score, row(4, key, head))
            });
            let (out, sum) = attention(&scores.collect::<Vec<_>>(), dn);
            let (w, v) = (prev_lse[head * tq + query].exp(), sum.exp());
            let at = (query * heads + head) * dn;
            for element in 0..dn {
                want[at + element] = (w * pre_out[at + element] + v * out[element]) / (w + v);
            }
            sums[head * tq + query] = (w + v).ln();
        }
    }
    assert_close(&outputs[0].1, &want, 2e-6);
    assert_close(&outputs[1].1, &sums, 2e-6);
}

#[test]
fn grouped_rows_without_a_list_are_spread_evenly() {
    let (x, weight) = (numbers(5 * 2, 1), numbers(3 * 2 * 2, 2));
    let inputs = [input("x", &[5, 2], "float32", &x), input("weight", &[3, 2, 2], "float32", &weight)];
    let outputs = run(
        "GroupedMatmul",
        &inputs,
        json!([]),
        json!({"x": [tensor("x")], "weight": [tensor("weight")], "group_list": null}),
        json!([]),
    );
    let want: Vec<f64> = (0..5)
        .flat_map(|row| (0..2).map(move |column| (row, column)))
        .map(|(row, column)| (0..2).map(|k| x[row * 2 + k] * weight[(row / 2) * 4 + k * 2 + column]).sum())
        .collect();
    assert_close(&outputs[0].1, &want, 1e-6);
}

#[test]
fn quantised_experts_follow_the_definition() {
    // Two experts of int8 weights; the third token's second choice does not fit into the experts' buffers.
    let (tokens, hidden, inner, choices) = (3, 4, 6, 2);
    let x = numbers(tokens * hidden, 1);
    let integers = |count: usize, seed: usize| -> Vec<f64> {
        (0..count).map(|at| ((at * 29 + seed * 13) % 21) as f64 - 10.0).collect()
    };
    let (weight1, weight2) = (integers(2 * hidden * inner, 1), integers(inner / 2 * hidden * 2, 2));
    let scale = |count: usize| -> Vec<f64> { (0..count).map(|at| f64::from(0.01_f32 + at as f32 * 0.001)).collect() };
    let (scale1, scale2) = (scale(2 * inner), scale(2 * hidden));
    let chosen = [0, 1, 1, 0, 0, 1];
    let probs = numbers(6, 5);
    let inputs = [
        input("x", &[tokens, hidden], "float32", &x),
        input("w1", &[2, hidden, inner], "int8", &weight1),
        input("w2", &[2, inner / 2, hidden], "int8", &weight2),
        input("expert_idx", &[tokens, choices], "int32", &chosen.map(|expert| expert as f64)),
        input("s1", &[2 * inner], "float32", &scale1),
        input("s2", &[2, hidden], "float32", &scale2),
        input("probs", &[tokens, choices], "float32", &probs),
        input("out", &[tokens, hidden], "float32", &[0.0; 12]),
        input("nums", &[1, 2], "int32", &[0.0; 2]),
    ];
    let kwargs = json!({"x": tensor("x"), "weight1": [tensor("w1")], "weight2": [tensor("w2")], "expert_idx": tensor("expert_idx"), "scale1": [tensor("s1")],
        "scale2": [tensor("s2")], "probs": tensor("probs"), "group": {"group": "ep"}, "max_output_size": 5, "out": tensor("out"), "expert_token_nums": tensor("nums")});
    let outputs = run("DispatchFFNCombine", &inputs, json!([]), kwargs, json!([]));
    let quantised = |row: &[f64]| -> (Vec<f64>, f64) {
        let scale = row.iter().fold(0.0, |largest: f64, value| largest.max(value.abs())) / 127.0;
        (row.iter().map(|value| (value / scale).round_ties_even()).collect(), scale)
    };
    let product = |row: &[f64], weight: &[f64], scales: &[f64], columns: usize| -> Vec<f64> {
        let (q, s) = quantised(row);
        (0..columns)
            .map(|column| {
                q.iter().enumerate().map(|(k, q)| q * weight[k * columns + column]).sum::<f64>() * scales[column] * s
            })
            .collect()
    };
    let mut want = vec![0.0; tokens * hidden];
    for (place, expert) in chosen.into_iter().enumerate().filter(|(place, _)| *place != 5) {
        let token = place / choices;
        let h = product(
            &x[token * hidden..][..hidden],
            &weight1[expert * hidden * inner..],
            &scale1[expert * inner..],
            inner,
        );
        let a: Vec<f64> = (0..inner / 2).map(|at| h[at] / (1.0 + (-h[at]).exp()) * h[inner / 2 + at]).collect();
        let o = product(&a, &weight2[expert * inner / 2 * hidden..], &scale2[expert * hidden..], hidden);
        (0..hidden).for_each(|at| want[token * hidden + at] += probs[place] * o[at]);
    }
    assert_close(&outputs[0].1, &want, 1e-4);
    assert_eq!(outputs[1], (vec![1, 2], vec![3.0, 3.0]));
}

#[test]
fn negative_indices_count_from_the_end() {
    let source = input("source", &[3, 2], "float32", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let index = input("index", &[3], "int64", &[-1.0, 0.0, -3.0]);
    let outputs = run("Index", &[source, index], json!([tensor("source"), tensor("index")]), json!({}), json!([]));
    assert_eq!(outputs, [(vec![3, 2], vec![4.0, 5.0, 0.0, 1.0, 0.0, 1.0])]);
}
