//! The bars of the waterfall: contributions in words.

use super::whole::Uniform;
use super::{calls, us};
use perfdb_compare::attribution::{Cause, Contribution, Detail, Explanation, Part, PoolDetail, Position, TimeDetail};
use perfdb_files::escape::one_line;

/// A bar: one contribution, or all that a difference of layers makes.
pub(super) struct Bar {
    pub(super) difference_ps: i128,
    pub(super) cause: Cause,
    pub(super) what: String,
}

/// All bars, largest first.
pub(super) fn bars(explanation: &Explanation) -> Vec<Bar> {
    let attribution = &explanation.attribution;
    let of_contribution = |contribution: &Contribution| Bar {
        difference_ps: contribution.difference_ps,
        cause: contribution.cause,
        what: described(contribution),
    };
    let uniform = Uniform::of(explanation);
    let is_own = |contribution: &&Contribution| {
        contribution.cause != Cause::Layers && (uniform.is_none() || !Uniform::covers(contribution))
    };
    let mut bars: Vec<Bar> = attribution.contributions.iter().filter(is_own).map(of_contribution).collect();
    if let Some(uniform) = uniform {
        bars.push(Bar { difference_ps: uniform.difference_ps, cause: Cause::Time, what: uniform.text() });
    }
    if let Some(note) = &attribution.layers_note {
        let kernels =
            attribution.contributions.iter().filter(|contribution| contribution.cause == Cause::Layers).count();
        let ratios = note.ratios.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
        let side = if note.layers > 0 { "predicted" } else { "measured" };
        let what = format!("{} more {side}: {kernels} kernels ({ratios})", layers(note.layers.abs()));
        bars.push(Bar { difference_ps: note.difference_ps, cause: Cause::Layers, what });
    }
    bars.sort_by_key(|bar| -bar.difference_ps.abs());
    bars
}

/// `1 layer`, `2 layers`.
pub(super) fn layers(count: i64) -> String {
    format!("{count} layer{}", if count == 1 { "" } else { "s" })
}

/// A cause in words.
pub(super) fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Analytic => "composite, analytic",
        Cause::CollectiveWait => "collective wait (estimate)",
        Cause::Count => "calls",
        Cause::Layers => "layers",
        Cause::Mapping => "operator without kernel",
        Cause::NotModelled => "not modelled",
        Cause::OtherKernel => "another kernel, same work",
        Cause::Partial => "composite, partial",
        Cause::PredictedOnly => "predicted only",
        Cause::Shape => "shapes do not meet",
        Cause::Time => "time per call",
    }
}

/// What a contribution is, on one line, for any text in its names.
fn described(contribution: &Contribution) -> String {
    let text = describe(contribution);
    let calls = match &contribution.detail {
        Detail::Time(time) => time.calls.predicted_calls,
        _ => 1.0,
    };
    one_line(&match &contribution.interval {
        Some(interval) => format!("{text}; the database says {}", super::interval(interval, calls)),
        None => text,
    })
}

fn describe(contribution: &Contribution) -> String {
    let kernel = named(&contribution.kernel_type, &contribution.shape);
    match &contribution.detail {
        Detail::Calls(count) => {
            format!("{kernel}: {} calls for {}", calls(count.predicted_calls), calls(count.measured_calls))
        }
        Detail::Time(time) => format!("{kernel}: {}", describe_time(time)),
        Detail::Wait(wait) => format!("{kernel} x {}", calls(wait.calls.measured_calls)),
        Detail::Predicted(predicted) => {
            let place = match predicted.place {
                Position::Head => " (before the first measured kernel)",
                Position::Tail => " (after the last measured kernel)",
                Position::Body => "",
            };
            format!("{kernel} x {}{place}", calls(predicted.predicted_calls))
        }
        Detail::Measured(measured) => format!("{kernel} x {}", calls(measured.measured_calls)),
        Detail::Pool(pool) => describe_pool(contribution, pool),
    }
}

fn describe_time(time: &TimeDetail) -> String {
    let mut text = format!("{} for {} us", us(time.predicted_mean_ps), us(time.measured_mean_ps));
    if let Some(spread) = time.spread {
        text += &format!(" (P10-P90 {}..{})", us(spread.p10_ps.into()), us(spread.p90_ps.into()));
    }
    text += &format!(" x {} ({})", calls(time.calls.measured_calls), time.source.text());
    match (time.noise, time.inside_spread) {
        (true, _) => text + ", noise",
        (false, true) => text + ", inside P10-P90",
        (false, false) => text,
    }
}

fn describe_pool(contribution: &Contribution, pool: &PoolDetail) -> String {
    match contribution.cause {
        Cause::Shape => {
            let closest = pool.closest.as_deref().unwrap_or("none");
            format!("{} (closest predicted {closest})", named(&contribution.kernel_type, &contribution.shape))
        }
        Cause::Partial | Cause::Analytic => format!("{} against {}", contribution.kernel_type, kernels_against(pool)),
        _ => format!("{}: predicted {}, measured {}", contribution.family, more_predicted(pool), more_measured(pool)),
    }
}

/// Type and shape, which may be empty.
pub(super) fn named(kernel_type: &str, shape: &str) -> String {
    if shape.is_empty() { kernel_type.to_owned() } else { format!("{kernel_type} {shape}") }
}

fn types<'p>(parts: impl Iterator<Item = &'p Part>) -> String {
    let mut types: Vec<&str> = Vec::new();
    for part in parts {
        if !types.contains(&part.kernel_type.as_str()) {
            types.push(&part.kernel_type);
        }
    }
    types.join("+")
}

/// The kernel types with more predicted calls.
pub(super) fn more_predicted(pool: &PoolDetail) -> String {
    types(pool.parts.iter().filter(|part| part.predicted_calls > 0.0))
}

/// The kernel types with more measured calls.
pub(super) fn more_measured(pool: &PoolDetail) -> String {
    types(pool.parts.iter().filter(|part| part.measured_calls > 0.0))
}

/// The measured kernels that a composite operator stands for.
pub(super) fn kernels_against(pool: &PoolDetail) -> String {
    more_measured(pool)
}
