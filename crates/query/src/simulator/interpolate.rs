//! What the simulator's reader says of an answer between rows.

use super::deviation::pstdev;
use super::form::{Asked, Form, field};
use super::lying::{Corner, Found, Lying, Triangulate};
use super::rejected::rejected;
use super::{integers, numbers, text};
use crate::answer::{Answer, Part, Source};
use crate::context::Context;
use crate::decompose::{self, Decomposed, PartQuery};
use crate::facts::{Fact, Facts};
use crate::interpolate::part_between;
use perfdb_store::op_mapping::Entry;

/// The order of what a trace has of a part, which stands there as one text.
const ORDER: [&str; 32] = [
    "method",
    "interpolation_dim",
    "axes",
    "target",
    "axis_boundary",
    "candidate_points",
    "candidate_count",
    "confidence",
    "fallback_from",
    "exact_fields",
    "axis_transform",
    "kernel_type",
    "query_mode",
    "interpolation_path",
    "attention_axes",
    "target_regime_key",
    "axes_pre_transform",
    "batch_axis_status",
    "dropped_batched_candidates",
    "batch",
    "phase",
    "latency_column_group",
    "rejected_reasons",
    "grid_quality",
    "simplex",
    "effective_filters",
    "unfiltered_due_to_missing_axis",
    "matched_row_meta",
    "exact_axis_value",
    "exact_coordinate_match",
    "target_pre_transform",
    "axis_boundary_pre_transform",
];

/// The parts of a composite of which some lie between rows, as the reader looked them up; its duration, where corners were chosen for one
/// of them.
pub(super) fn decomposed(
    context: &Context<'_>,
    entry: &Entry,
    answer: &Answer,
    triangulate: &mut Triangulate<'_>,
    details: &mut Facts,
) -> Option<f64> {
    let Decomposed::Parts(queries) = decompose::decomposed(context, entry) else { return None };
    let (mut total_us, mut is_chosen) = (0.0, false);
    let mut facts_of = |query: &PartQuery<'_>, part: &Part| {
        let candidates = query.kernel_types.iter().map(|name| text(&**name)).collect();
        let mut facts: Facts = vec![
            ("kernel_type", text(query.kernel_type())),
            ("query_mode", text(query.kind.mode())),
            ("fallback_from", text("composite")),
            ("candidate_kernel_types", Fact::List(candidates)),
            ("source", text(part.source.name())),
        ];
        let mut part_us = part.duration_us;
        let between = (part.source == Source::Interpolated).then(|| part_between(context, query).ok().flatten());
        match between.flatten() {
            Some(between) => {
                let mut own = Facts::new();
                if let Some(lying) = Lying::of(context, &between, triangulate) {
                    let asked = Asked::of_part(context, query, lying.between);
                    if let Some(chosen_us) = lying.duration_us {
                        (part_us, is_chosen) = (chosen_us, true);
                    }
                    if let Some(found) = &lying.found {
                        let mode = asked.query_mode(found.table, context);
                        of_interpolation(&lying, mode, "composite", between.confidence, &mut own);
                        of_reader(context, asked, &lying, found, &mut own);
                    }
                }
                own.push(("kernel_type", text(&*part.kernel_type)));
                own.sort_by_key(|(name, _)| ORDER.iter().position(|own| own == name));
                let [axes, count] = ["axes", "candidate_count"].map(|name| field(&own, name));
                facts.extend([
                    ("method", text(part.rule)),
                    ("matched_kernel_type", text(&*part.kernel_type)),
                    ("axes", axes),
                    ("candidate_count", count),
                    ("details", Fact::Map(own)),
                ]);
            }
            None => facts.extend([
                ("method", text(query.kind.exact_method())),
                ("matched_kernel_type", text(&*part.kernel_type)),
            ]),
        }
        total_us += part_us;
        facts.push(("latency_us", Fact::Number(part_us)));
        Fact::Map(facts)
    };
    let parts = queries.iter().zip(answer.parts()).map(|(query, part)| facts_of(query, part)).collect();
    details.extend([
        ("kernel_type", text(answer.kernel_type().map(|name| name.into_owned()).unwrap_or_default())),
        ("composite", Fact::Flag(true)),
        ("method", text(answer.method().unwrap_or("decomposed_interpolation"))),
        ("sub_kernels", Fact::List(parts)),
    ]);
    is_chosen.then_some(total_us)
}

/// How an operator is looked up.
pub(super) fn mode_between(entry: Option<&Entry>) -> &str {
    match entry {
        Some(entry) if entry.query_mode.as_deref().is_some_and(|mode| mode != "mtp_projection") => {
            entry.query_mode.as_deref().unwrap_or_default()
        }
        Some(entry) if entry.compute_subcategory.as_deref() == Some("compute_scale") => "compute_scale",
        _ => "compute",
    }
}

/// What rows alone had.
pub(super) fn fallback_from(context: &Context<'_>, entry: Option<&Entry>) -> &'static str {
    // Experts whose own row is there, while a row of what is embedded in them is not.
    let is_fused = entry.is_some_and(|entry| entry.query_mode.as_deref() == Some("moe_fused"));
    let is_partial = || matches!(crate::lookup::lookup(context), Ok(answer) if answer.source == Source::Partial);
    if is_fused && is_partial() { "partial" } else { "exact_miss" }
}

/// Between which places an answer lies.
pub(super) fn of_interpolation(lying: &Lying<'_>, mode: &str, fallback: &str, confidence: f64, details: &mut Facts) {
    let between = lying.between;
    let bounds = |(axis, bounds): (_, [f64; 2])| (axis, Fact::List(bounds.map(Fact::Number).to_vec()));
    let is_exact = lying.corners.iter().any(|corner| corner.at == between.target);
    details.extend([
        ("method", text(between.method)),
        ("interpolation_dim", Fact::Integer(between.axes.len() as i64)),
        ("axes", Fact::List(between.axes.iter().map(|axis| text(*axis)).collect())),
        ("target", lying.named(&between.target)),
        ("axis_boundary", Fact::Map(lying.bounds().map(bounds).collect())),
        ("candidate_points", Fact::List(lying.corners.iter().map(|corner| lying.named(&corner.at)).collect())),
        ("candidate_count", Fact::Integer(between.candidate_count as i64)),
        ("confidence", Fact::Number(confidence)),
        ("fallback_from", text(fallback)),
        ("exact_coordinate_match", Fact::Flag(is_exact)),
        ("query_mode", text(mode)),
    ]);
}

/// What the simulator's reader says beside it: what the rows agree in, and what it notes of each.
pub(super) fn of_reader(
    context: &Context<'_>,
    asked: Asked,
    lying: &Lying<'_>,
    found: &Found<'_>,
    details: &mut Facts,
) {
    let between = lying.between;
    let Some(corner) = lying.corners.first() else { return };
    let Some(point) = corner.points.first() else { return };
    details.push(("exact_fields", Fact::Map(asked.exact_fields(context, found.row(point)))));
    details.push(("interpolation_path", text(asked.path(found.table, context, between.axes.len()))));
    if asked.form != Form::Attention {
        let is_preferred = found.among.is_preferred();
        let name = if is_preferred { "preferred_column_only" } else { "alternate_column_only" };
        details.push(("latency_column_group", text(name)));
    }
    details.extend(asked.more(context, found, corner));
    details.extend(rejected(context, asked.form, found.table).map(|rejected| ("rejected_reasons", rejected)));
    if between.axes.len() > 1 {
        let counts = between.axes.iter().zip(&found.on_axes);
        let quality: Facts = vec![
            ("unique_point_count", Fact::Integer(found.places as i64)),
            ("min_unique_point_count", Fact::Integer(between.axes.len() as i64 + 1)),
            (
                "axis_unique_counts",
                Fact::Map(counts.map(|(axis, count)| (*axis, Fact::Integer(*count as i64))).collect()),
            ),
            ("degenerate_axes", Fact::List(Vec::new())),
            ("rejected", Fact::Flag(false)),
            ("rejected_reason", Fact::None),
        ];
        details.push(("grid_quality", Fact::Map(quality)));
        let numbers: Vec<i64> = lying.corners.iter().map(|corner| corner.number as i64).collect();
        let weights = lying.corners.iter().map(|corner| Fact::Number(corner.weight)).collect();
        let simplex =
            vec![("simplex_vertex_indices", integers(&numbers)), ("barycentric_weights", Fact::List(weights))];
        details.push(("simplex", Fact::Map(simplex)));
    }
    // All points that were looked at have the axes that are not varied.
    let target = found.among.target();
    let others = asked.axes(found.names).into_iter();
    let others = others.filter(|(at, axis)| !target[*at].is_nan() && !between.axes.contains(axis));
    details.push(("effective_filters", Fact::List(others.map(|(_, axis)| text(axis)).collect())));
    details.push(("unfiltered_due_to_missing_axis", Fact::List(Vec::new())));
    let meta = lying.corners.iter().map(|corner| of_corner(context, asked, found, corner)).collect();
    details.push(("matched_row_meta", Fact::List(meta)));
    let exact = (between.axes.len() == 1).then(|| lying.bounds().find(|(_, [low, high])| low == high)).flatten();
    details.extend(exact.map(|(axis, [value, _])| ("exact_axis_value", numbers([(axis, value)]))));
    if between.method.ends_with("_sqrt") {
        let length = |axis: &str, value: f64| if axis == "seq" { (value * value).round() } else { value };
        let target = between.axes.iter().zip(&between.target);
        let bounds = lying
            .bounds()
            .map(|(axis, bounds)| (axis, Fact::List(bounds.map(|value| Fact::Number(length(axis, value))).to_vec())));
        details.push(("axis_transform", text("sqrt(seq)")));
        details.push(("target_pre_transform", numbers(target.map(|(axis, value)| (*axis, length(axis, *value))))));
        details.push(("axis_boundary_pre_transform", Fact::Map(bounds.collect())));
    }
}

/// What the reader notes of the rows of a place: of the first one, and of all where there are several.
fn of_corner(context: &Context<'_>, asked: Asked, found: &Found<'_>, corner: &Corner) -> Fact {
    let all: Vec<Facts> = corner.points.iter().map(|point| asked.row_meta(context, found, point)).collect();
    let mut facts = all.first().cloned().unwrap_or_default();
    if all.len() > 1 {
        let durations: Vec<f64> = corner.points.iter().map(|point| point.duration_us).collect();
        // Rows are counted from the line below the header.
        let rows: Vec<i64> = corner.points.iter().map(|point| found.row(point).line() as i64 - 2).collect();
        facts.extend([
            ("duplicate_count", Fact::Integer(all.len() as i64)),
            ("duplicate_row_indices", integers(&rows)),
            ("duplicate_row_meta", Fact::List(all.into_iter().map(Fact::Map).collect())),
            ("duplicate_latency_min_us", Fact::Number(durations.iter().copied().fold(f64::INFINITY, f64::min))),
            ("duplicate_latency_max_us", Fact::Number(durations.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
            ("duplicate_latency_std_us", Fact::Number(pstdev(&durations))),
            ("aggregation", text("median")),
        ]);
    }
    Fact::Map(facts)
}
