//! What deployments of a model cost.

use super::counted;
use crate::forecast::{Served, agreement, difference, rounded, shape, with_interval};
use crate::page::number::grouped;
use crate::page::{
    Block, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, TradeOff, TradeOffPoint, Trust,
};
use perfdb_forecast::serving::{Estimate, Priced, PricedStep};

/// The page of a sweep, or of one deployment: those that fit, and the reasons of those that do not.
pub fn forecast_page(served: &[Served<'_>], refused: &[(String, String)], provenance: Provenance) -> Page {
    let mut blocks = Vec::new();
    if let [one] = served {
        blocks.extend(compared(served).map(Block::Table));
        blocks.push(Block::Chart(parts(served, "Parts of the time per output token")));
        blocks.push(Block::Table(operators("decode", "Operators of a decode step", &one.forecast.decode)));
        blocks.push(Block::Table(operators("prefill", "Operators of the prefill of a prompt", &one.forecast.prefill)));
    } else if !served.is_empty() {
        let points = series(served);
        let series = points.iter().map(|(name, points)| (name.as_str(), points.clone())).collect();
        let chart = TradeOff { series, across: "TPOT in ms", upwards: "tokens/s a device" }
            .chart("Throughput of a device over the time per output token")
            .note("The line joins deployments that no other one beats in both. Bars are 90 % intervals: where they overlap, the order is not known.")
            .leads_to("deployments");
        blocks.push(Block::Chart(chart));
        blocks.push(Block::Chart(parts(served, "Parts of the time per output token")));
        blocks.push(Block::Table(deployments(served)));
        blocks.extend(compared(served).map(Block::Table));
    }
    if !refused.is_empty() {
        blocks.push(Block::Table(Table::new(
            "refused",
            "Deployments that cannot be forecast",
            vec![
                Column::text("Deployment", refused.iter().map(|(name, _)| name.as_str())),
                Column::text("Why", refused.iter().map(|(_, why)| why.as_str())).whole_text(),
            ],
        )));
    }
    let part = Part {
        verdict: verdict(served, refused.len()),
        trust: served.first().map(trust),
        figures: figures(served),
        notes: vec![format!("Not in it: {}.", crate::forecast::NOT_MODELLED)],
        blocks,
        ..Part::default()
    };
    Page { title: "Forecast of a served model".to_owned(), parts: vec![part], provenance }
}

fn best<'a, 's>(served: &'a [Served<'s>]) -> Option<&'a Served<'s>> {
    served.iter().max_by(|a, b| a.forecast.tokens_per_device().total_cmp(&b.forecast.tokens_per_device()))
}

fn verdict(served: &[Served<'_>], refused: usize) -> String {
    match (served, best(served)) {
        ([one], _) if refused == 0 => {
            format!("{} takes {} a token on {}.", one.model.family, with_interval(&one.forecast.tpot), devices(one))
        }
        (_, Some(best)) => format!(
            "{} delivers at most {} tokens/s a device, with {} at {} a token.",
            best.model.family,
            grouped(best.forecast.tokens_per_device(), 0),
            name(best),
            with_interval(&best.forecast.tpot)
        ),
        (_, None) => "No deployment can be forecast.".to_owned(),
    }
}

fn devices(served: &Served<'_>) -> String {
    let name = &served.tables.device.name;
    let tables = format!("{} {}", served.tables.framework, served.tables.version());
    format!("{} {name} with {tables}", served.forecast.devices)
}

fn trust(served: &Served<'_>) -> Trust {
    let [points, models] = served.forecast.constants.points;
    Trust::limited(format!(
        "intervals of 90 % come from {points} measured points of {models} models on {}; one model's points err to the same side",
        served.tables.framework
    ))
}

fn figures(served: &[Served<'_>]) -> Vec<KeyFigure> {
    let Some(best) = best(served) else { return Vec::new() };
    let forecast = best.forecast;
    vec![
        KeyFigure::new("TPOT", format!("{} ms", rounded(forecast.tpot.value_ms))).note(format!(
            "{}; {}",
            ends(&forecast.tpot),
            name(best)
        )),
        KeyFigure::new("TTFT", format!("{} ms", rounded(forecast.ttft.value_ms))).note(ends(&forecast.ttft)),
        KeyFigure::new("Tokens/s a device", grouped(forecast.tokens_per_device(), 0)),
        KeyFigure::new("Tokens/s a user", grouped(1e3 / forecast.tpot.value_ms, 0)),
        KeyFigure::new("Weights of a device", format!("{} GB", grouped(forecast.memory.weight_bytes / 1e9, 1))),
        KeyFigure::new("Cache of a device", format!("{} GB", grouped(forecast.memory.cache_bytes / 1e9, 1))),
        KeyFigure::new("Deployments", counted(served.len(), "forecast", "forecasts")),
    ]
}

/// The ends of an interval.
fn ends(estimate: &Estimate) -> String {
    format!("{} to {} ms", rounded(estimate.low_ms), rounded(estimate.high_ms))
}

fn name(served: &Served<'_>) -> String {
    format!("tp {}, batch {}", served.request.parallel.tensor, served.request.batch)
}

/// Deployments by how many devices share each matrix.
fn series(served: &[Served<'_>]) -> Vec<(String, Vec<TradeOffPoint>)> {
    let mut series: Vec<(String, Vec<TradeOffPoint>)> = Vec::new();
    for (row, one) in served.iter().enumerate() {
        let Estimate { value_ms, low_ms, high_ms } = one.forecast.tpot;
        let point = TradeOffPoint {
            name: name(one),
            time: [value_ms, low_ms, high_ms],
            throughput: one.forecast.tokens_per_device(),
            row,
        };
        let of_tensor = format!("tp {}", one.request.parallel.tensor);
        match series.iter_mut().find(|(name, _)| *name == of_tensor) {
            Some((_, points)) => points.push(point),
            None => series.push((of_tensor, vec![point])),
        }
    }
    series
}

fn deployments(served: &[Served<'_>]) -> Table {
    let points: Vec<TradeOffPoint> = series(served).into_iter().flat_map(|(_, points)| points).collect();
    let point = |row: usize| points.iter().find(|point| point.row == row);
    let is_best = |row: usize| point(row).is_some_and(|own| !points.iter().any(|other| own.is_beaten_by(other)));
    let of = |value: fn(&Served<'_>) -> f64| served.iter().map(value).collect::<Vec<f64>>();
    Table::new(
        "deployments",
        "Deployments",
        vec![
            Column::whole("tp", of(|one| one.request.parallel.tensor as f64)),
            Column::whole("Batch", of(|one| one.request.batch as f64)),
            Column::decimal("TPOT", of(|one| one.forecast.tpot.value_ms), 2).unit("ms"),
            Column::decimal("from", of(|one| one.forecast.tpot.low_ms), 2).unit("ms"),
            Column::decimal("to", of(|one| one.forecast.tpot.high_ms), 2).unit("ms"),
            Column::decimal("TTFT", of(|one| one.forecast.ttft.value_ms), 1).unit("ms"),
            Column::decimal("from", of(|one| one.forecast.ttft.low_ms), 1).unit("ms"),
            Column::decimal("to", of(|one| one.forecast.ttft.high_ms), 1).unit("ms"),
            Column::whole("Throughput of a device", of(|one| one.forecast.tokens_per_device())).unit("tokens/s"),
            Column::decimal("of a user", of(|one| 1e3 / one.forecast.tpot.value_ms), 1).unit("tokens/s"),
            Column::decimal("Weights", of(|one| one.forecast.memory.weight_bytes / 1e9), 1).unit("GB"),
            Column::decimal("Cache", of(|one| one.forecast.memory.cache_bytes / 1e9), 1).unit("GB"),
            Column::text("Beaten by none", (0..served.len()).map(|row| if is_best(row) { "yes" } else { "" })),
        ],
    )
}

/// Forecasts beside times from elsewhere, where there are any.
fn compared(served: &[Served<'_>]) -> Option<Table> {
    let pairs: Vec<(&Served<'_>, &str, Estimate)> = served
        .iter()
        .filter_map(|one| {
            let (file, reference) = one.against.as_ref()?;
            Some((one, *file, reference.tpot?))
        })
        .collect();
    let (_, file, _) = pairs.first()?;
    let of = |value: fn(&(&Served<'_>, &str, Estimate)) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
    Some(Table::new(
        "against",
        format!("Compared with {file}"),
        vec![
            Column::text("Deployment", pairs.iter().map(|(one, ..)| name(one))),
            Column::decimal("TPOT", of(|(one, ..)| one.forecast.tpot.value_ms), 2).unit("ms"),
            Column::decimal("from", of(|(one, ..)| one.forecast.tpot.low_ms), 2).unit("ms"),
            Column::decimal("to", of(|(one, ..)| one.forecast.tpot.high_ms), 2).unit("ms"),
            Column::decimal("in the file", of(|(.., other)| other.value_ms), 2).unit("ms"),
            Column::text("Forecast", pairs.iter().map(|(one, _, other)| difference(&one.forecast.tpot, other))),
            Column::text("Agreement", pairs.iter().map(|(one, _, other)| agreement(&one.forecast.tpot, other))),
        ],
    ))
}

fn parts(served: &[Served<'_>], title: &str) -> crate::page::Chart {
    let parts = perfdb_forecast::serving::Part::ALL;
    let names: Vec<String> = served.iter().map(name).collect();
    let bars = served.iter().zip(&names).map(|(one, name)| {
        let mut values: Vec<f64> = parts.iter().map(|part| one.forecast.decode.part_ms(*part)).collect();
        let rest = one.forecast.tpot.value_ms - one.forecast.interference_ms - values.iter().sum::<f64>();
        values.extend([rest.max(0.0), one.forecast.interference_ms]);
        StackedBar { name, values }
    });
    let bars: Vec<StackedBar<'_>> = bars.collect();
    let names = parts.iter().map(|part| part.name()).chain(["host, waiting", "prefills of others"]).collect();
    StackedBars { parts: names, bars, unit: "ms" }.chart(title)
}

fn operators(key: &'static str, title: &str, step: &PricedStep) -> Table {
    let of = |value: fn(&Priced) -> f64| step.operators.iter().map(value).collect::<Vec<f64>>();
    let total = step.total_ms();
    Table::new(
        key,
        title,
        vec![
            Column::text("Operator", step.operators.iter().map(|priced| &*priced.operator.name)),
            Column::text("Part", step.operators.iter().map(|priced| priced.operator.part.name())),
            Column::text("Shape", step.operators.iter().map(|priced| shape(&priced.operator.work))),
            Column::whole("Calls", of(|priced| priced.operator.calls as f64)),
            Column::decimal("A call", of(|priced| priced.answer.duration_us / 1e3), 5).unit("ms"),
            Column::decimal("All calls", of(Priced::total_ms), 3).unit("ms"),
            Column::share_percent("Share", step.operators.iter().map(|priced| super::share(priced.total_ms(), total))),
            Column::text("From", step.operators.iter().map(|priced| priced.answer.source.name())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_forecast::serving::{Described, Plan, Sweep};
    use std::error::Error;
    use std::path::Path;

    fn page(tensor: &[u64], batches: &[u64]) -> Result<String, Box<dyn Error>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/forecast");
        let (tensor, batch) = (tensor.to_vec(), batches.to_vec());
        let sweep = Sweep { tensor, batch, data: 1, expert: 1, pipeline: 1, input: 1024, output: 512, cache: None };
        let planned = Plan {
            model: Described::Config(folder.join("model")),
            database: folder.join("tables/h100_sxm/vllm/1.0.0"),
            calibration: None,
            against: None,
            sweep,
        }
        .forecast()?;
        let served = Served::all(&planned);
        let refused = [("tp 4, batch 9".to_owned(), "does not fit".to_owned())];
        let refused = if served.len() > 1 { &refused[..] } else { &[] };
        Ok(forecast_page(&served, refused, Provenance::default()).to_html()?)
    }

    #[test]
    fn a_sweep_has_a_point_for_each_deployment_and_the_reason_where_there_is_none() -> Result<(), Box<dyn Error>> {
        let page = page(&[1, 2], &[1, 16, 64])?;
        assert_eq!(page.matches("<circle").count(), 6);
        assert_eq!(page.matches("curve front").count(), 1);
        for text in ["tp 1, batch 64", "tp 2, batch 16", "tp 4, batch 9", "does not fit"] {
            assert!(page.contains(text), "{text}");
        }
        Ok(())
    }

    #[test]
    fn one_deployment_has_its_operators_with_shape_and_source() -> Result<(), Box<dyn Error>> {
        let page = page(&[2], &[16])?;
        assert_eq!(page.matches("<circle").count(), 0);
        for text in ["gate_up", "Operators of the prefill", "16 x ", "all_reduce", "measured"] {
            assert!(page.contains(text), "{text}");
        }
        Ok(())
    }
}
