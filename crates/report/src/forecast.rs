//! Forecasts of served models, as text, JSON and CSV.

use crate::page::number::grouped;
use crate::pages::counted;
use perfdb_forecast::Error;
use perfdb_forecast::serving::points::Point;
use perfdb_forecast::serving::{
    Against, Architecture, Estimate, Forecast, Part, Phase, Planned, Priced, PricedStep, Reference, Request, Scheme,
    Source, Tables, Work,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What no forecast contains.
pub(crate) const NOT_MODELLED: &str =
    "speculative decoding, cached prefixes, requests that wait for a place, graphs that are not captured";

/// Why a sweep has no result.
pub const NONE_FITS: &str = "no deployment of the sweep can be forecast";

/// A forecast, and what it is of.
#[derive(Debug, Clone)]
pub struct Served<'s> {
    pub(crate) model: &'s Architecture,
    pub(crate) request: &'s Request,
    pub(crate) forecast: &'s Forecast,
    pub(crate) tables: &'s Tables,
    /// Times from elsewhere, and the name of their file.
    pub(crate) against: Option<(&'s str, Reference)>,
}

impl<'s> Served<'s> {
    /// The deployments of a plan that can be forecast.
    pub fn all(planned: &'s Planned) -> Vec<Served<'s>> {
        let Planned { model, tables, against, found } = planned;
        let served = |request: &'s Request, forecast| {
            let of = |against: &'s Against| Some((against.name.as_str(), against.of(request)?));
            Served { model, request, forecast, tables, against: against.as_ref().and_then(of) }
        };
        found.iter().filter_map(|(request, forecast)| Some(served(request, forecast.as_ref().ok()?))).collect()
    }
}

/// Digits that follow the interval: two of a number that may be half of it or twice it.
pub(crate) fn rounded(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{:.0}", value),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

pub(crate) fn with_interval(estimate: &Estimate) -> String {
    format!("{} ms ({} to {})", rounded(estimate.value_ms), rounded(estimate.low_ms), rounded(estimate.high_ms))
}

/// One forecast in at most 25 lines.
pub fn text(served: &Served<'_>) -> String {
    let Served { model, request, forecast, tables, .. } = served;
    let mut out = format!("TPOT {}, TTFT {}\n", with_interval(&forecast.tpot), with_interval(&forecast.ttft));
    if let Some((name, reference)) = &served.against {
        let _ = writeln!(out, "{}", compared(forecast, name, reference));
    }
    let plural = if forecast.devices == 1 { "" } else { "s" };
    let _ = writeln!(
        out,
        "{} on {} {}{plural}, {} {}; {} requests in flight, {} tokens in, {} out",
        model.family,
        forecast.devices,
        tables.device.name,
        tables.framework,
        tables.version(),
        forecast.in_flight,
        request.input,
        request.output
    );
    let _ = writeln!(
        out,
        "{} tokens/s a device, {:.0} tokens/s a user",
        grouped(forecast.tokens_per_device(), 0),
        1e3 / forecast.tpot.value_ms
    );
    let memory = &forecast.memory;
    let of = memory.device_bytes.map_or(String::new(), |bytes| format!(" of {:.0} GB", bytes / 1e9));
    let _ = writeln!(
        out,
        "{:.1} billion parameters in {}; a device holds {:.1} GB of weights and {:.1} GB of cache{of}",
        model.parameters() as f64 / 1e9,
        schemes(model),
        memory.weight_bytes / 1e9,
        memory.cache_bytes / 1e9
    );
    let _ = writeln!(out, "\n{:<26}{:>9}{:>8}   from", "time per output token", "ms", "share %");
    let total = forecast.tpot.value_ms;
    for part in Part::ALL {
        let ms = forecast.decode.part_ms(part) * forecast.constants.factor;
        if ms > 0.0 {
            line(&mut out, part.name(), ms, total, &sources(&forecast.decode, part));
        }
    }
    let waiting = forecast.beyond_operators_ms();
    if waiting > 0.0 {
        line(&mut out, "host, waiting for devices", waiting, total, "calibration");
    }
    if forecast.interference_ms > 0.0 {
        line(&mut out, "prefills of others", forecast.interference_ms, total, "prefills, as this framework runs them");
    }
    let _ = writeln!(out, "{:<26}{:>9}\n", "prefill of a prompt", rounded(forecast.prefill.total_ms()));
    if let Some(widest) = widest(&forecast.decode) {
        let _ = writeln!(out, "least certain: {widest}");
    }
    let used: Vec<String> = tables.used().map(|(family, version)| format!("{family} {version}")).collect();
    let _ = writeln!(out, "tables: {}", used.join(", "));
    for refused in tables.refused() {
        let _ = writeln!(out, "refused: {refused}");
    }
    let [points, models] = forecast.constants.points;
    let _ = writeln!(
        out,
        "intervals: 90 %, from {points} measured points of {models} models on {}, each model left out in turn",
        tables.framework
    );
    let _ = writeln!(out, "not in it: {NOT_MODELLED}");
    out
}

/// How a forecast differs from times from elsewhere: `points.csv, 2 rows: TPOT 13.2 ms, forecast +4.5 %, within its interval`.
fn compared(forecast: &Forecast, name: &str, reference: &Reference) -> String {
    let times = [("TPOT", &forecast.tpot, reference.tpot), ("TTFT", &forecast.ttft, reference.ttft)];
    let parts = times.into_iter().filter_map(|(what, own, other)| {
        let other = other?;
        let shown =
            if reference.is_measured() { format!("{} ms", rounded(other.value_ms)) } else { with_interval(&other) };
        Some(format!("{what} {shown}, forecast {}, {}", difference(own, &other), agreement(own, &other)))
    });
    let parts: Vec<String> = parts.collect();
    let kind = if reference.is_measured() { "measured" } else { "forecast" };
    format!("{kind} in {name}, {}: {}", counted(reference.rows, "row", "rows"), parts.join("; "))
}

/// What a forecast is more than another time: `+4.5 %`.
pub(crate) fn difference(own: &Estimate, other: &Estimate) -> String {
    format!("{:+.1} %", (own.value_ms / other.value_ms - 1.0) * 100.0)
}

/// Whether a measured time lies in the interval, or another forecast's interval overlaps.
pub(crate) fn agreement(own: &Estimate, other: &Estimate) -> &'static str {
    let meet = own.low_ms <= other.high_ms && other.low_ms <= own.high_ms;
    match (other.low_ms == other.high_ms, meet) {
        (true, true) => "within its interval",
        (true, false) => "outside of its interval",
        (false, true) => "intervals overlap",
        (false, false) => "intervals do not overlap",
    }
}

fn line(out: &mut String, name: &str, ms: f64, total: f64, from: &str) {
    let _ = writeln!(out, "{name:<26}{:>9}{:>8.0}   {from}", rounded(ms), ms / total * 100.0);
}

fn schemes(model: &Architecture) -> String {
    let storage = model.storage;
    let mut names: Vec<&str> = Vec::new();
    for scheme in [storage.attention, storage.dense, storage.experts] {
        if !names.contains(&scheme.name()) {
            names.push(scheme.name());
        }
    }
    names.join(" and ")
}

/// Where the time of a part comes from: `82 % measured, 18 % interpolated`.
fn sources(step: &PricedStep, part: Part) -> String {
    let of_part = || step.operators.iter().filter(|priced| priced.operator.part == part);
    let total: f64 = of_part().map(Priced::total_ms).sum();
    let shares = Source::ALL.iter().filter_map(|source| {
        let own: f64 = of_part().filter(|priced| priced.answer.source == *source).map(Priced::total_ms).sum();
        let percent = own / total * 100.0;
        (percent >= 0.5).then(|| format!("{percent:.0} % {}", source.name()))
    });
    shares.collect::<Vec<_>>().join(", ")
}

/// The operator whose measurement would narrow the forecast most.
fn widest(step: &PricedStep) -> Option<String> {
    let uncertain = |priced: &&Priced| priced.answer.source >= Source::Extrapolated && priced.total_ms() > 0.0;
    let found = step.operators.iter().filter(uncertain).max_by(|a, b| a.total_ms().total_cmp(&b.total_ms()))?;
    let share = found.total_ms() / step.total_ms() * 100.0;
    Some(format!(
        "{} ({}), {share:.0} % of a step, {}",
        found.operator.name,
        shape(&found.operator.work),
        found.answer.source.name()
    ))
}

/// The sizes of a call in words.
pub(crate) fn shape(work: &Work) -> String {
    match *work {
        Work::Product { rows, columns, inner, scheme } => format!("{rows} x {columns} x {inner} {}", scheme.name()),
        Work::Attention { sequences, length, heads, kv_heads, head_dim, window, cache, .. } => {
            let window = if window > 0 { format!(", window {window}") } else { String::new() };
            format!(
                "{sequences} x {length} keys, {heads}/{kv_heads} heads of {head_dim}, cache {}{window}",
                cache.name()
            )
        }
        Work::LatentAttention { sequences, length, heads, .. } => format!("{sequences} x {length} keys, {heads} heads"),
        Work::LatentProducts { tokens, heads, .. } => format!("{tokens} tokens, {heads} heads"),
        Work::Experts { tokens, hidden, inner, per_token, count, tensor, expert, scheme } => format!(
            "{tokens} tokens, {per_token} of {count} experts {hidden} x {inner}, {tensor} x {expert} devices, {}",
            scheme.name()
        ),
        Work::LinearAttention { sequences, tokens, heads: [keys, values], widths: [key_dim, value_dim], .. } => {
            format!("{tokens} tokens of {sequences} sequences, {keys} heads of {key_dim}, {values} of {value_dim}")
        }
        Work::AllReduce { elements, ranks } => format!("{elements} values, {ranks} devices"),
        Work::Bytes { bytes, .. } => format!("{} KB", grouped(bytes / 1e3, 0)),
    }
}

/// Deployments that cannot be forecast, with the reason.
pub fn refused(found: &[(Request, Result<Forecast, Error>)]) -> Vec<(String, String)> {
    let reason = |(request, forecast): &(Request, Result<Forecast, Error>)| {
        let name = format!("tp {}, batch {}", request.parallel.tensor, request.batch);
        Some((name, forecast.as_ref().err()?.to_string()))
    };
    found.iter().filter_map(reason).collect()
}

/// A table of deployments: those that cannot be, with the reason.
pub fn sweep(planned: &Planned) -> String {
    let Planned { model, tables, against, found } = planned;
    let against = against.as_ref();
    let possible: Vec<(&Request, &Forecast)> =
        found.iter().filter_map(|(request, forecast)| Some((request, forecast.as_ref().ok()?))).collect();
    let best = possible
        .iter()
        .map(|(_, forecast)| forecast)
        .max_by(|a, b| a.tokens_per_device().total_cmp(&b.tokens_per_device()));
    let mut out = match best {
        Some(best) => format!(
            "{} of {} deployments of {} fit; at most {} tokens/s a device, at {} a token\n",
            possible.len(),
            found.len(),
            model.family,
            grouped(best.tokens_per_device(), 0),
            with_interval(&best.tpot)
        ),
        None => format!("none of {} deployments of {} can be forecast\n", found.len(), model.family),
    };
    if let Some(against) = against {
        let _ = writeln!(out, "{}", compared_all(&possible, against));
    }
    let _ = writeln!(out, "{}, {} {}\n", tables.device.name, tables.framework, tables.version());
    let beside = against.map_or(String::new(), |against| format!("  TPOT in {}", against.name));
    let _ =
        writeln!(out, "{:>4}{:>7}  {:<26}{:<28}{:>16}  best{beside}", "tp", "batch", "TPOT", "TTFT", "tokens/s/device");
    for (request, forecast) in found {
        let place = format!("{:>4}{:>7}  ", request.parallel.tensor, request.batch);
        match forecast {
            Ok(forecast) => {
                // Nothing else has both more tokens and a shorter time.
                let is_best = possible.iter().all(|(_, other)| {
                    other.tokens_per_device() <= forecast.tokens_per_device()
                        || other.tpot.value_ms >= forecast.tpot.value_ms
                });
                let reference = against.and_then(|against| against.of(request)?.tpot);
                let beside = reference.map_or(String::new(), |other| {
                    let (difference, agreement) =
                        (difference(&forecast.tpot, &other), agreement(&forecast.tpot, &other));
                    format!("{} ms, forecast {difference}, {agreement}", rounded(other.value_ms))
                });
                let line = format!(
                    "{place}{:<26}{:<28}{:>16}  {:<6}{beside}",
                    with_interval(&forecast.tpot),
                    with_interval(&forecast.ttft),
                    grouped(forecast.tokens_per_device(), 0),
                    if is_best { "*" } else { "" }
                );
                let _ = writeln!(out, "{}", line.trim_end());
            }
            Err(error) => {
                let _ = writeln!(out, "{place}{error}");
            }
        }
    }
    out.push_str("\n* = no other has more tokens a device in less time; deployments whose intervals overlap cannot be told apart\n");
    out
}

/// How all forecasts differ from times from elsewhere, in one line.
fn compared_all(possible: &[(&Request, &Forecast)], against: &Against) -> String {
    let pairs: Vec<(Estimate, Estimate)> =
        possible.iter().filter_map(|(request, forecast)| Some((forecast.tpot, against.of(request)?.tpot?))).collect();
    let off = pairs.iter().map(|(own, other)| (own.value_ms / other.value_ms - 1.0).abs() * 100.0).sum::<f64>();
    let meet = pairs.iter().filter(|(own, other)| own.low_ms <= other.high_ms && other.low_ms <= own.high_ms).count();
    match pairs.len() {
        0 => format!("{} has no TPOT of these deployments", against.name),
        known => format!(
            "{} has {}: TPOT differs by {:.1} % in the mean, {meet} of {known} agree within the intervals",
            against.name,
            counted(known, "deployment", "deployments"),
            off / known as f64
        ),
    }
}

fn estimate(estimate: &Estimate) -> Value {
    json!({"value_ms": estimate.value_ms, "low_ms": estimate.low_ms, "high_ms": estimate.high_ms})
}

fn step(step: &PricedStep) -> Value {
    let operators: Vec<Value> = step
        .operators
        .iter()
        .map(|priced| {
            json!({
                "name": priced.operator.name,
                "part": priced.operator.part.name(),
                "shape": shape(&priced.operator.work),
                "calls": priced.operator.calls,
                "duration_us": priced.answer.duration_us,
                "total_ms": priced.total_ms(),
                "source": priced.answer.source.name(),
            })
        })
        .collect();
    json!({"total_ms": step.total_ms(), "operators": operators})
}

/// All of the forecasts for programs, and the deployments that cannot be forecast with the reason.
pub fn document(served: &[Served<'_>], refused: &[(String, String)]) -> Value {
    let of_one = |served: &Served<'_>| {
        let Served { model, request, forecast, tables, against } = served;
        let parallel = request.parallel;
        let used: BTreeMap<&str, &str> = tables.used().collect();
        let mut value = json!({
            "model": model.family,
            "parameters": model.parameters(),
            "operations_per_token": model.operations_per_token(),
            "storage": {
                "attention": model.storage.attention.name(),
                "dense": model.storage.dense.name(),
                "experts": model.storage.experts.name(),
                "cache": forecast_cache(forecast).map(Scheme::name),
            },
            "system": tables.system,
            "device": tables.device.name,
            "framework": tables.framework,
            "table_versions": used,
            "refused": tables.refused().collect::<Vec<_>>(),
            "parallel": {
                "tensor": parallel.tensor,
                "data": parallel.data,
                "pipeline": parallel.pipeline,
                "expert_tensor": parallel.expert_tensor,
                "expert": parallel.expert,
            },
            "batch": request.batch,
            "input_tokens": request.input,
            "output_tokens": request.output,
            "tpot": estimate(&forecast.tpot),
            "ttft": estimate(&forecast.ttft),
            "tokens_per_second_per_device": forecast.tokens_per_device(),
            "tokens_per_second_per_user": 1e3 / forecast.tpot.value_ms,
            "joined_ms": forecast.joined_ms,
            "interference_ms": forecast.interference_ms,
            "memory": {
                "weight_bytes": forecast.memory.weight_bytes,
                "cache_bytes": forecast.memory.cache_bytes,
                "device_bytes": forecast.memory.device_bytes,
            },
            "decode": step(&forecast.decode),
            "prefill": step(&forecast.prefill),
            "calibration": forecast.constants,
            "not_modelled": NOT_MODELLED,
        });
        if let Some((name, reference)) = against {
            let times = |other: Option<Estimate>| other.as_ref().map(estimate);
            value["against"] = json!({
                "file": name,
                "is_measured": reference.is_measured(),
                "rows": reference.rows,
                "tpot": times(reference.tpot),
                "ttft": times(reference.ttft),
            });
        }
        value
    };
    let refused = refused.iter().map(|(deployment, reason)| json!({"deployment": deployment, "reason": reason}));
    json!({
        "forecasts": served.iter().map(of_one).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    })
}

/// How the cache of a forecast's attention is stored.
fn forecast_cache(forecast: &Forecast) -> Option<Scheme> {
    forecast.decode.operators.iter().find_map(|priced| match priced.operator.work {
        Work::Attention { phase: Phase::Decode, cache, .. }
        | Work::LatentAttention { phase: Phase::Decode, cache, .. } => Some(cache),
        _ => None,
    })
}

/// One line for each forecast.
pub fn csv(served: &[Served<'_>]) -> String {
    let mut out = "tp,ep,dp,pp,batch,input_tokens,output_tokens,tpot_ms,tpot_low_ms,tpot_high_ms,ttft_ms,ttft_low_ms,ttft_high_ms,tokens_per_second_per_device\n".to_owned();
    for Served { request, forecast, .. } in served {
        let (parallel, tpot, ttft) = (request.parallel, forecast.tpot, forecast.ttft);
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            parallel.tensor,
            parallel.expert,
            parallel.data,
            parallel.pipeline,
            request.batch,
            request.input,
            request.output,
            tpot.value_ms,
            tpot.low_ms,
            tpot.high_ms,
            ttft.value_ms,
            ttft.low_ms,
            ttft.high_ms,
            forecast.tokens_per_device()
        );
    }
    out
}

/// The line of a point in a list of results.
pub fn point_line(point: &Point, forecast: &Result<Forecast, Error>) -> String {
    let value = match forecast {
        Ok(Forecast { tpot, ttft, decode, prefill, joined_ms, layers, expert_layers, .. }) => json!({
            "id": point.id,
            "tpot_ms": tpot.value_ms,
            "tpot_low_ms": tpot.low_ms,
            "tpot_high_ms": tpot.high_ms,
            "ttft_ms": ttft.value_ms,
            "ttft_low_ms": ttft.low_ms,
            "ttft_high_ms": ttft.high_ms,
            "decode_ms": decode.total_ms(),
            "prefill_ms": prefill.total_ms(),
            "joined_ms": joined_ms,
            "collectives": decode.sums(),
            "layers": layers,
            "expert_layers": expert_layers,
        }),
        Err(error) => json!({"id": point.id, "error": error.to_string()}),
    };
    format!("{value}\n")
}

/// Errors and coverage of points whose times were measured, by model.
pub fn score(points: &[Point], found: &[Result<Forecast, Error>]) -> String {
    let mut groups: BTreeMap<&str, Vec<(f64, bool)>> = BTreeMap::new();
    for (point, forecast) in points.iter().zip(found) {
        if let (Some(measured), Ok(forecast)) = (point.measured_ms[0], forecast) {
            let tpot = forecast.tpot;
            let row = ((tpot.value_ms / measured - 1.0).abs(), (tpot.low_ms..=tpot.high_ms).contains(&measured));
            groups.entry(&point.model).or_default().push(row);
            groups.entry("all").or_default().push(row);
        }
    }
    let answered = found.iter().filter(|forecast| forecast.is_ok()).count();
    let mut out = format!("{answered} of {} points forecast", points.len());
    let Some(all) = groups.remove("all") else { return out + "\n" };
    let row = |name: &str, rows: &[(f64, bool)]| {
        let mut errors: Vec<f64> = rows.iter().map(|(error, _)| error * 100.0).collect();
        errors.sort_by(f64::total_cmp);
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let held = rows.iter().filter(|(_, is_inside)| *is_inside).count() as f64 / rows.len() as f64 * 100.0;
        (
            mean,
            errors[errors.len() / 2],
            held,
            format!("{name:<36}{:>7}{mean:>8.1}{:>8.1}{held:>8.0}\n", rows.len(), errors[errors.len() / 2]),
        )
    };
    let (mean, median, held, line) = row("all", &all);
    let _ = write!(
        out,
        "; TPOT misses by {mean:.1} % in the mean and {median:.1} % in the median, {held:.0} % lie within their intervals\n\n"
    );
    let _ = writeln!(out, "{:<36}{:>7}{:>8}{:>8}{:>8}", "model", "points", "mean %", "median", "held %");
    for (model, rows) in &groups {
        out.push_str(&row(model, rows).3);
    }
    out + &line
}
