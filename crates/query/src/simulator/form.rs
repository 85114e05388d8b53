//! What the rows of each form of kernel agree in, and what else the simulator's reader notes of them.

use super::lying::{Corner, Found};
use super::{integers, numbers, optional, text, texts};
use crate::answer::Interpolation;
use crate::context::Context;
use crate::decompose::{Kind, PartQuery};
use crate::facts::{Fact, Facts};
use crate::interpolate::{Product, RowPoint, asked_quant_mode, lengths_of_row, scale_modes};
use crate::lookup::inputs::input_count;
use crate::table::columns::Column;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::KernelClass;

/// How a kernel is looked up between rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Over the first dimension, or over the elements of the result.
    Generic,
    Product,
    QuantisedProduct,
    Scale,
    Experts,
    Attention,
    /// Attention whose rows tell the length of every request.
    Lengths,
    Scatter,
    Elementwise,
}

/// A form, and whether the kernel is one part of an operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) form: Form,
    pub(super) is_part: bool,
    /// How many inputs count.
    pub(super) count: Option<usize>,
    /// Whether a generic kernel goes by the elements of its result.
    over_output: bool,
    /// Whether attention is asked for without saying how many requests there are.
    lacks_batch: bool,
}

impl Asked {
    /// Of an operator of one kernel.
    pub(super) fn of(context: &Context<'_>, entry: &Entry, between: &Interpolation) -> Asked {
        let is_product = || entry.kernel_type.as_deref().is_some_and(|name| context.class(name).is_product());
        let form = match (entry.query_mode.as_deref(), entry.compute_subcategory.as_deref()) {
            (Some("moe_fused"), _) => Form::Experts,
            (Some("attention_special"), _) => Form::Attention,
            (Some("scatter_nd_update_mla"), _) => Form::Scatter,
            (Some("elementwise"), _) => Form::Elementwise,
            (_, Some("compute_scale")) => Form::Scale,
            (_, Some("quantized_matmul")) => Form::QuantisedProduct,
            _ if is_product() => Form::Product,
            _ => Form::Generic,
        };
        let count = input_count(entry);
        Asked { form, is_part: false, count, over_output: is_over_output(between), lacks_batch: false }
    }

    /// Of a part of a decomposition.
    pub(super) fn of_part(context: &Context<'_>, query: &PartQuery<'_>, between: &Interpolation) -> Asked {
        let class = context.class(query.kernel_type());
        let (form, count) = match &query.kind {
            Kind::Attention(_) if class.has_request_lengths() => (Form::Lengths, None),
            Kind::Attention(_) => (Form::Attention, None),
            Kind::Scatter(_) => (Form::Scatter, None),
            Kind::Compute(part) if class.is_product() => (Form::Product, Some(part.count)),
            Kind::Compute(part) => (Form::Generic, Some(part.count)),
            Kind::Opaque(_) | Kind::Cache(_) => (Form::Generic, None),
        };
        let lacks_batch = matches!(&query.kind, Kind::Attention(fields) if fields.batch_size.is_none());
        Asked { form, is_part: true, count, over_output: is_over_output(between), lacks_batch }
    }

    /// What the reader calls the way.
    pub(super) fn query_mode(self, table: &KernelRows, context: &Context<'_>) -> &'static str {
        match self.form {
            Form::Generic | Form::Product | Form::QuantisedProduct => "compute",
            Form::Scale => "compute_scale",
            Form::Experts => "moe_fused",
            Form::Attention => "attention_special",
            Form::Lengths if table.class(context.rules) == KernelClass::SparseAttention => "sparse_attention",
            Form::Lengths => "lightning_indexer",
            Form::Scatter if self.is_part => "scatter_cache_write",
            Form::Scatter => "scatter_nd_update_mla",
            Form::Elementwise => "elementwise",
        }
    }

    /// The name of the path to an answer over some axes.
    pub(super) fn path(self, table: &KernelRows, context: &Context<'_>, axes: usize) -> String {
        let name = match (self.form, self.is_part) {
            (Form::Generic, false) => "compute_1d",
            (Form::Generic, true) => "composite_compute_1d",
            (Form::Product | Form::Attention, false) => "multidim",
            (Form::Product, true) => "composite_compute",
            (Form::Attention, true) => "composite_attention",
            (Form::QuantisedProduct, _) => return format!("quantized_matmul_{axes}d"),
            (Form::Scale, _) => return format!("compute_scale_{axes}d"),
            (Form::Lengths, _) => self.query_mode(table, context),
            (Form::Experts | Form::Scatter | Form::Elementwise, _) => {
                return format!("{}_1d", self.query_mode(table, context));
            }
        };
        name.to_owned()
    }

    /// What all rows agree in that answer together with this one.
    pub(super) fn exact_fields(self, context: &Context<'_>, row: KernelRow<'_>) -> Facts {
        let mut fields: Facts = vec![("kernel_type", text(row.table().kernel_type()))];
        fields.extend(match self.form {
            Form::Generic => self.generic(context, row),
            Form::Product | Form::QuantisedProduct => self.product(context, row),
            Form::Scale => scale(context, row),
            Form::Experts => experts(context, row),
            Form::Attention => attention(row),
            Form::Lengths => lengths(context, row),
            Form::Scatter => scatter(row),
            Form::Elementwise => {
                let elementwise = Elementwise::of(context, row);
                vec![
                    ("query_mode", text("elementwise")),
                    ("output_rank", Fact::Integer(elementwise.output.len() as i64)),
                    ("input_count", Fact::Integer(elementwise.inputs.len() as i64)),
                    ("output_dtype", text(first(row.output_types()))),
                    ("broadcast_pattern", elementwise.pattern()),
                ]
            }
        });
        fields
    }

    fn generic(self, context: &Context<'_>, row: KernelRow<'_>) -> Facts {
        let limit = self.count.unwrap_or(usize::MAX);
        let count = row.matrices().len().min(limit);
        let others = if self.over_output {
            let output = row.outputs().get(0).map(|shape| shape.to_vec()).unwrap_or_default();
            let output = if output.len() >= 3 && output[0] == 1 { &output[1..] } else { &output[..] };
            ("output_tail_shape", integers(output.get(1..).unwrap_or_default()))
        } else {
            let strip = context.rules.stripping();
            let mut shapes = row.matrices().iter().take(limit).map(|shape| strip(&shape).to_vec());
            let first = shapes.next().unwrap_or_default();
            let others = shapes.map(|shape| integers(&shape)).collect();
            ("shape_signature", Fact::List(vec![integers(first.get(1..).unwrap_or_default()), Fact::List(others)]))
        };
        vec![("input_count", Fact::Integer(count as i64)), ("input_dtypes", type_keys(context, row, count)), others]
    }

    fn product(self, context: &Context<'_>, row: KernelRow<'_>) -> Facts {
        let count = self.count.unwrap_or(row.matrices().len());
        let mut fields = vec![
            ("input_count", Fact::Integer(count as i64)),
            ("input_dtypes", type_keys(context, row, count)),
            ("batch_dims", with_product(context, row, batch_dims).unwrap_or(Fact::None)),
            ("input_formats", texts(row.input_formats().iter().take(count))),
        ];
        if self.form == Form::QuantisedProduct {
            fields.extend(outputs(row));
        }
        fields
    }

    /// What the reader notes of a row.
    pub(super) fn row_meta(self, context: &Context<'_>, found: &Found<'_>, point: &RowPoint) -> Facts {
        let row = found.row(point);
        let selection = if row.point_duration().1 { "preferred_latency_column" } else { "alternate_latency_column" };
        let duration = [
            ("latency_column", text(row.duration_column())),
            ("latency_column_selection", text(selection)),
            ("raw_latency_us", Fact::Number(point.duration_us)),
        ];
        let number = |column: Column| optional(row.whole(column));
        let mut meta: Facts = match self.form {
            Form::Generic | Form::Scatter => Facts::new(),
            Form::Product | Form::QuantisedProduct => {
                let of = |product: &Product<'_>| {
                    let layout = if product.is_transposed { "rhs_n_k" } else { "rhs_k_n" };
                    vec![("batch_dims", batch_dims(product)), ("source_layout", text(layout))]
                };
                with_product(context, row, of).unwrap_or_default()
            }
            Form::Scale => {
                let modes = scale_modes(row).unwrap_or_default();
                let [mode, auxiliary, block] = scale_facts(&modes);
                vec![("compute_subcategory", text("compute_scale")), mode, block, auxiliary]
            }
            Form::Experts => {
                let x = row.matrices().get(0).map(|shape| shape.to_vec()).unwrap_or_default();
                let outer = x.split_last().map_or(&[][..], |(_, outer)| outer);
                let fields = self.exact_fields(context, row);
                let field = |name: &str| field(&fields, name);
                vec![
                    ("tokens", Fact::Number(point.at[0])),
                    ("hidden", field("hidden")),
                    ("leading_dims", integers(outer)),
                    ("ep_size", field("ep_size")),
                    ("input_dtype_signature", field("input_dtype_signature")),
                    ("input_format_signature", texts(row.input_formats())),
                    ("gmm1_weight_shape", field("gmm1_weight_shape")),
                    ("gmm2_weight_shape", field("gmm2_weight_shape")),
                    ("moe_axes", numbers([("tokens", point.at[0])])),
                ]
            }
            Form::Attention => {
                let [tokens, _, _, heads, size] = point.at;
                vec![
                    ("q_shape_3d", integers(&[tokens as i64, heads as i64, size as i64])),
                    ("sparse_mode", number(Column::SparseMode)),
                    ("kv_heads", number(Column::KvHeads)),
                ]
            }
            Form::Lengths => match lengths_of_row(context.rules, row) {
                Err(_) => Facts::new(),
                Ok(lengths) => vec![
                    ("phase", text(lengths.phase)),
                    ("batch_size", Fact::Integer(lengths.query.len() as i64)),
                    ("query_lengths", integers(&lengths.query)),
                    ("kv_lengths", integers(&lengths.kv)),
                ],
            },
            Form::Elementwise => {
                let elementwise = Elementwise::of(context, row);
                let dtype = first(row.output_types());
                return duration
                    .into_iter()
                    .chain([
                        ("csv_output_dtype", text(dtype)),
                        ("target_output_dtype", text(dtype)),
                        ("output_shape", integers(&elementwise.output)),
                        ("broadcast_pattern", elementwise.pattern()),
                        ("elementwise_axes", numbers([("io_numel", point.at[0])])),
                    ])
                    .collect();
            }
        };
        meta.extend(duration);
        if self.form == Form::Attention && found.table.policy.over_square_root {
            meta.push(("pre_transform_axes", attention_axes(point.at, true)));
        }
        meta
    }

    /// What else the reader says, by form.
    pub(super) fn more(self, context: &Context<'_>, found: &Found<'_>, corner: &Corner) -> Facts {
        let target = found.among.target();
        let Some(point) = corner.points.first() else { return Facts::new() };
        let row = found.row(point);
        let fields = self.exact_fields(context, row);
        let field = |name: &str| field(&fields, name);
        match self.form {
            Form::Generic | Form::Product => Facts::new(),
            Form::QuantisedProduct => vec![("compute_subcategory", text("quantized_matmul"))],
            Form::Scale => {
                let [mode, auxiliary, block] = scale_facts(&scale_modes(row).unwrap_or_default());
                vec![("compute_subcategory", text("compute_scale")), mode, block, auxiliary]
            }
            Form::Experts => vec![
                ("ep_size", optional(context.query.ep_size)),
                ("input_dtype_signature", field("input_dtype_signature")),
                ("target_moe_axes", numbers([("tokens", target[0])])),
            ],
            Form::Attention => {
                let is_square_root = found.table.policy.over_square_root;
                let axes = attention_axes(target, is_square_root);
                let mut more = vec![("attention_axes", axes.clone())];
                if is_square_root {
                    more.push(("axes_pre_transform", axes));
                }
                let mut regime = fields.clone();
                let quant_mode = context.entry.filter(|_| !self.is_part).and_then(|entry| {
                    let own = found.table.policy.quant_mode.clone();
                    own.or_else(|| asked_quant_mode(context, entry))
                });
                if let Some(quant_mode) = quant_mode {
                    if !regime.iter().any(|(name, _)| *name == "quant_mode") {
                        regime.push(("quant_mode", text(&*quant_mode)));
                    }
                    if !found.table.has(Column::QuantMode) {
                        more.push(("quant_mode_unknown_in_csv", Fact::Flag(true)));
                        more.push(("target_quant_mode", text(quant_mode)));
                    }
                }
                more.push(("target_regime_key", Fact::Map(regime)));
                // Rows have a number of requests, the part has none: rows without one are taken, or the number is that of all rows.
                if self.lacks_batch && found.batched > 0 {
                    more.extend(if target[2].is_nan() {
                        let dropped = Fact::Integer(found.batched as i64);
                        [("batch_axis_status", text("batch_axis_filtered")), ("dropped_batched_candidates", dropped)]
                    } else {
                        [("batch_axis_status", text("batch_axis_constant")), ("batch", Fact::Number(target[2]))]
                    });
                }
                more
            }
            Form::Lengths => vec![("phase", field("phase"))],
            Form::Scatter => Facts::new(),
            Form::Elementwise => vec![
                ("csv_output_dtype", text(first(row.output_types()))),
                ("target_elementwise_axes", numbers([("io_numel", target[0])])),
                ("dtype_scaled", Fact::Flag(false)),
            ],
        }
    }

    /// The names of the axes in the order in which the reader has them, with their numbers.
    pub(super) fn axes(self, names: &'static [&'static str]) -> Vec<(usize, &'static str)> {
        let mut axes: Vec<(usize, &'static str)> = names.iter().copied().enumerate().collect();
        // Attention has its batch last.
        axes.sort_by_key(|(_, name)| *name == "batch");
        axes
    }
}

/// The axes of attention by name, lengths as they are.
fn attention_axes(at: [f64; 5], is_square_root: bool) -> Fact {
    let [tokens, seq, batch, heads, size] = at;
    let seq = if is_square_root { (seq * seq).round() } else { seq };
    let all = [("q_tokens", tokens), ("seq", seq), ("heads", heads), ("head_dim", size), ("batch", batch)];
    numbers(all.into_iter().filter(|(_, value)| !value.is_nan()))
}

fn scale(context: &Context<'_>, row: KernelRow<'_>) -> Facts {
    let mut fields =
        vec![("input_dtype", type_key(context, row, 0)), ("input_format", text(first(row.input_formats())))];
    fields.extend(outputs(row));
    let modes = scale_facts(&scale_modes(row).unwrap_or_default());
    fields.extend(modes.into_iter().filter(|(_, fact)| *fact != Fact::None));
    fields
}

fn experts(context: &Context<'_>, row: KernelRow<'_>) -> Facts {
    let shapes: Vec<Dimensions> = row.inputs().iter().collect();
    let shape = |at: usize| shapes.get(at).map_or(Fact::None, |shape| integers(shape));
    let matrix = row.matrices().get(0);
    vec![
        ("activation_dtype", type_key(context, row, 0)),
        ("activation_format", text(first(row.input_formats()))),
        ("input_dtype_signature", texts(row.input_types())),
        ("gmm1_weight_shape", shape(1)),
        ("gmm2_weight_shape", shape(2)),
        ("hidden", optional(matrix.and_then(|shape| shape.last().copied()))),
        ("topk", optional(shapes.get(3).and_then(|shape| shape.last().copied()))),
        ("ep_size", optional(row.whole(Column::EpSize))),
    ]
}

fn attention(row: KernelRow<'_>) -> Facts {
    let known = |column: Column| row.table().has(column).then(|| Fact::Integer(row.whole(column).unwrap_or(-1)));
    let word = |column: Column| row.cell(column).map(|cell| text(trim(cell)));
    let all = [
        ("dtype", Some(text(first(row.input_types())))),
        ("sparse_mode", known(Column::SparseMode)),
        ("kv_heads", known(Column::KvHeads)),
        ("input_layout", word(Column::InputLayout)),
        ("quant_mode", word(Column::QuantMode)),
    ];
    all.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
}

fn lengths(context: &Context<'_>, row: KernelRow<'_>) -> Facts {
    let query: Vec<i64> = row.inputs().get(0).map(|shape| shape.to_vec()).unwrap_or_default();
    let number = |column: Column| optional(row.whole(column));
    let word = |column: Column| row.cell(column).map_or(Fact::None, |cell| text(trim(cell)));
    let phase = lengths_of_row(context.rules, row).map_or(Fact::None, |lengths| text(lengths.phase));
    let mut fields = vec![
        ("dtype", text(first(row.input_types()))),
        ("phase", phase),
        ("query_rank", Fact::Integer(query.len() as i64)),
        ("head_dim", optional(query.last().copied())),
        ("sparse_mode", number(Column::SparseMode)),
        ("kv_heads", number(Column::KvHeads)),
        ("input_layout", word(Column::InputLayout)),
        ("topk", number(Column::TopK)),
        ("block_size", number(Column::BlockSize)),
        ("num_heads", number(Column::NumHeads)),
        ("cache_layout", word(Column::CacheLayout)),
        ("kv_cache_mode", word(Column::KvCacheMode)),
    ];
    if row.table().class(context.rules) == KernelClass::SparseAttention {
        fields.extend([
            ("sparse_block_size", number(Column::SparseBlockSize)),
            ("sparse_indices_pattern", word(Column::SparsePattern)),
            ("sparse_indices_valid_count", number(Column::SparseValidCount)),
        ]);
    }
    fields
}

fn scatter(row: KernelRow<'_>) -> Facts {
    let shape = |at: usize| row.inputs().get(at).map(|shape| shape.to_vec()).unwrap_or_default();
    let update = shape(2);
    let tail = if update.len() > 2 { &update[update.len() - 1..] } else { update.get(1..).unwrap_or_default() };
    let name = |at: usize| row.input_types().get(at).map_or(Fact::None, |name| text(&**name));
    vec![
        ("cache_dtype", name(0)),
        ("index_dtype", name(1)),
        ("update_dtype", name(2)),
        ("full_cache_shape", integers(&shape(0))),
        ("update_tail", integers(tail)),
        ("input_formats", texts(row.input_formats().iter().take(3))),
    ]
}

fn is_over_output(between: &Interpolation) -> bool {
    between.axes.first() == Some(&"output_numel")
}

pub(super) fn field(fields: &Facts, name: &str) -> Fact {
    fields.iter().find(|(own, _)| *own == name).map_or(Fact::None, |(_, fact)| fact.clone())
}

/// The result of an elementwise kernel and its inputs, without batches of one.
struct Elementwise {
    output: Vec<i64>,
    inputs: Vec<Vec<i64>>,
}

impl Elementwise {
    fn of(context: &Context<'_>, row: KernelRow<'_>) -> Elementwise {
        let strip = context.rules.stripping();
        Elementwise {
            output: row.outputs().get(0).map(|shape| strip(&shape).to_vec()).unwrap_or_default(),
            inputs: row.inputs().iter().map(|shape| strip(&shape).to_vec()).collect(),
        }
    }

    /// How each dimension of each input goes with that of the result.
    fn pattern(&self) -> Fact {
        let relation = |own: Option<i64>, of_result: i64| match own {
            None => "missing",
            Some(own) if own == of_result => "same",
            Some(1) => "broadcast",
            Some(_) => "other",
        };
        let of_input = |input: &Vec<i64>| {
            let relations = self.output.iter().enumerate().map(|(at, of_result)| {
                let own = (at + input.len()).checked_sub(self.output.len()).map(|own| input[own]);
                text(relation(own, *of_result))
            });
            Fact::List(vec![Fact::Integer(input.len() as i64), Fact::List(relations.collect())])
        };
        Fact::List(self.inputs.iter().map(of_input).collect())
    }
}

/// The types by which rows differ: kernels that take two types for one have one name for both.
fn type_keys(context: &Context<'_>, row: KernelRow<'_>, count: usize) -> Fact {
    Fact::List((0..row.input_types().len().min(count)).map(|at| type_key(context, row, at)).collect())
}

fn type_key(context: &Context<'_>, row: KernelRow<'_>, at: usize) -> Fact {
    let relaxed = row.table().tolerance(context.rules).relaxed_types;
    row.input_types().get(at).map_or(Fact::None, |name| {
        text(if relaxed && matches!(&**name, "DT_BF16" | "FLOAT") { "FLOAT_GROUP" } else { name })
    })
}

fn first(list: &[Box<str>]) -> &str {
    list.first().map_or("", |one| one)
}

fn outputs(row: KernelRow<'_>) -> Facts {
    vec![
        ("output_count", Fact::Integer(row.outputs().len() as i64)),
        ("output_dtypes", texts(row.output_types())),
        ("output_formats", texts(row.output_formats())),
    ]
}

fn with_product<R>(context: &Context<'_>, row: KernelRow<'_>, of: impl FnOnce(&Product<'_>) -> R) -> Option<R> {
    let (a, weight) = (row.matrices().get(0)?, row.matrices().get(1)?);
    Some(of(&Product::of(row.table().class(context.rules), &a, &weight)?))
}

fn batch_dims(product: &Product<'_>) -> Fact {
    Fact::List(product.batch.iter().map(|shape| integers(shape)).collect())
}

/// Mode, all modes with their block sizes, and the first block size.
fn scale_facts(modes: &[(&'static str, i64)]) -> [(&'static str, Fact); 3] {
    let block = |size: i64| if size == 0 { Fact::None } else { Fact::Integer(size) };
    let (mode, size) = modes.first().copied().unwrap_or_default();
    let all = modes.iter().map(|(mode, size)| Fact::List(vec![text(*mode), block(*size)])).collect();
    [("scale_mode", text(mode)), ("auxiliary_modes", Fact::List(all)), ("block_size", block(size))]
}
