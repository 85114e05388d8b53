//! Rows of tables as curves.

use super::{ExpertsKey, Heads, Key, Rows, Spread, TableKind};
use crate::Error;
use crate::serving::curve::Source;
use crate::serving::operators::Phase;
use crate::serving::precision::Scheme;
use perfdb_store::columns::{CALIBRATED, DURATION_SOURCE};
use perfdb_store::table::Scan;
use std::fs;
use std::path::{Path, PathBuf};

/// Kernels that frameworks use in other settings than these, or for other models.
const OTHER_KERNELS: [&str; 1] = ["nongated"];

/// The tables of a kind in a version's folder.
pub(super) fn rows(kind: TableKind, folder: &Path) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    let mut tables = tables(folder, kind.prefix())?;
    if kind == TableKind::AllReduce && tables.iter().any(|(name, _)| name.contains("graph")) {
        // Servers replay graphs; what a call costs without one is another table.
        tables.retain(|(name, _)| !name.contains("eager"));
    }
    for (name, path) in &tables {
        if !OTHER_KERNELS.iter().any(|other| name.contains(other)) {
            table(kind, path, &mut rows)?;
        }
    }
    finish(&mut rows);
    Ok(rows)
}

/// Sums over devices of the newest version of the library of collectives: the faster one of it and the framework's own is used.
pub(super) fn library(folder: &Path, rows: &mut Rows) -> Result<(), Error> {
    if !folder.is_dir() {
        return Ok(());
    }
    if let Some((_, newest)) = super::versions::ordered(folder, None)?.first() {
        for (_, path) in tables(newest, TableKind::AllReduce.prefix())? {
            table(TableKind::AllReduce, &path, rows)?;
        }
    }
    finish(rows);
    Ok(())
}

fn tables(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, Error> {
    let malformed = |error: std::io::Error| Error::Malformed { path: folder.to_owned(), reason: error.to_string() };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(malformed)? {
        let path = entry.map_err(malformed)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem.starts_with(prefix) && path.extension().is_some_and(|extension| extension == "csv") {
            found.push((stem, path));
        }
    }
    found.sort();
    Ok(found)
}

const DURATION: &str = "Average Duration(us)";

/// Columns of a kind's tables behind the duration; sizes first, then texts.
fn columns(kind: TableKind) -> &'static [&'static str] {
    match kind {
        TableKind::Products => {
            &["aiconfigurator m", "aiconfigurator n", "aiconfigurator k", "aiconfigurator gemm_dtype"]
        }
        TableKind::PrefillAttention | TableKind::DecodeAttention => &[
            "aiconfigurator batch_size",
            "aiconfigurator isl",
            "aiconfigurator step",
            "aiconfigurator num_heads",
            "aiconfigurator num_key_value_heads",
            "aiconfigurator head_dim",
            "aiconfigurator window_size",
            "aiconfigurator attn_dtype",
            "aiconfigurator kv_cache_dtype",
        ],
        TableKind::LatentPrefill | TableKind::LatentDecode => &[
            "aiconfigurator batch_size",
            "aiconfigurator isl",
            "aiconfigurator step",
            "aiconfigurator num_heads",
            "aiconfigurator kv_cache_dtype",
        ],
        TableKind::LatentProducts => {
            &["aiconfigurator num_tokens", "aiconfigurator num_heads", "aiconfigurator op_name"]
        }
        TableKind::LinearAttention => &[
            "aiconfigurator batch_size",
            "aiconfigurator num_tokens",
            "aiconfigurator head_k_dim",
            "aiconfigurator head_v_dim",
            "aiconfigurator num_v_heads",
            "aiconfigurator phase",
            "aiconfigurator kernel_source",
        ],
        TableKind::Experts => &[
            "aiconfigurator num_tokens",
            "aiconfigurator hidden_size",
            "aiconfigurator inter_size",
            "aiconfigurator topk",
            "aiconfigurator num_experts",
            "aiconfigurator moe_tp_size",
            "aiconfigurator moe_ep_size",
            "aiconfigurator moe_dtype",
            "aiconfigurator distribution",
        ],
        TableKind::AllReduce => &["message_bytes", "num_devices", "dtype"],
    }
}

/// Adds the rows of a table.
fn table(kind: TableKind, path: &Path, rows: &mut Rows) -> Result<(), Error> {
    let duration = if kind == TableKind::AllReduce { "Duration(us)" } else { DURATION };
    let mut wanted: Vec<&str> = [duration].iter().chain(columns(kind)).copied().collect();
    let origin = wanted.len();
    wanted.push(DURATION_SOURCE);
    let mut scan = Scan::open(path, &wanted)?;
    // Tables of other sources have no such columns, and say nothing here.
    if !(1..origin).all(|at| scan.has(at) || wanted[at].ends_with("window_size")) {
        return Ok(());
    }
    while let Some(row) = scan.next_row()? {
        let duration_us = row.number(0);
        if !(duration_us.is_finite() && duration_us > 0.0) {
            continue;
        }
        let size = |at: usize| {
            let number = row.number(at);
            if number.is_finite() && number > 0.0 { number as u64 } else { 0 }
        };
        let scheme = |at: usize| Scheme::of(&row.cell(at));
        let found = match kind {
            TableKind::Products => {
                scheme(4).map(|scheme| (Key::Product { scheme, columns: size(2), inner: size(3) }, size(1)))
            }
            TableKind::PrefillAttention | TableKind::DecodeAttention => {
                scheme(8).zip(scheme(9)).map(|(computes, cache)| {
                    let heads = size(4);
                    let kv_heads = if size(5) == 0 { heads } else { size(5) };
                    let heads = Heads { computes, cache, head_dim: size(6), window: size(7), kv_heads, heads };
                    (
                        Key::Attention { heads, batch: size(1) },
                        size(2) + if kind == TableKind::DecodeAttention { size(3) } else { 0 },
                    )
                })
            }
            TableKind::LatentPrefill | TableKind::LatentDecode => scheme(5).map(|cache| {
                let length = size(2) + if kind == TableKind::LatentDecode { size(3) } else { 0 };
                (Key::Latent { cache, heads: size(4), batch: size(1) }, length)
            }),
            TableKind::LatentProducts => {
                Some((Key::LatentProducts { is_before: row.cell(3).ends_with("pre"), heads: size(2) }, size(1)))
            }
            TableKind::LinearAttention => {
                let phase = if row.cell(6).starts_with("context") { Phase::Prefill } else { Phase::Decode };
                let is_convolution = row.cell(7).contains("conv1d");
                // Prompts are prefilled one by one.
                let is_wanted = phase == Phase::Decode || size(1) == 1;
                let key = Key::Linear { phase, is_convolution, widths: [size(3), size(4)], heads: size(5) };
                is_wanted.then_some((key, size(2)))
            }
            TableKind::Experts => scheme(8).zip(spread(&row.cell(9))).map(|(scheme, spread)| {
                let key = ExpertsKey {
                    scheme,
                    hidden: size(2),
                    inner: size(3),
                    per_token: size(4),
                    count: size(5),
                    tensor: size(6),
                    expert: size(7),
                    spread,
                };
                (Key::Experts(key), size(1))
            }),
            TableKind::AllReduce => {
                let is_sixteen = matches!(&*row.cell(3), "DT_BF16" | "DT_FP16" | "FLOAT16");
                is_sixteen.then(|| (Key::AllReduce { ranks: size(2) }, size(1)))
            }
        };
        if let Some((key, size)) = found.filter(|(_, size)| *size > 0) {
            let source = if &*row.cell(origin) == CALIBRATED { Source::Interpolated } else { Source::Measured };
            rows.curves.entry(key).or_default().push(size as f64, duration_us, source);
        }
    }
    Ok(())
}

fn spread(name: &str) -> Option<Spread> {
    match name {
        "power_law_1.2" => Some(Spread::PowerLaw12),
        "power_law_1.01" => Some(Spread::PowerLaw101),
        "balanced" | "uniform" => Some(Spread::Balanced),
        _ => None,
    }
}

/// Sorts curves, and notes which cases there are.
fn finish(rows: &mut Rows) {
    rows.curves.values_mut().for_each(super::Curve::sort);
    for key in rows.curves.keys() {
        match key {
            Key::Product { scheme, columns, inner } => {
                let [all_columns, all_inner] = rows.products.entry(*scheme).or_default();
                all_columns.push(*columns);
                all_inner.push(*inner);
            }
            Key::Attention { heads, batch } => rows.batches.entry(*heads).or_default().push(*batch),
            Key::Latent { cache, heads, batch } => {
                rows.latent.entry(*cache).or_default().entry(*heads).or_default().push(*batch);
            }
            Key::LatentProducts { .. } | Key::Linear { .. } => {}
            Key::Experts(key) => {
                rows.experts.insert(*key);
            }
            Key::AllReduce { ranks } => {
                rows.ranks.insert(*ranks);
            }
        }
    }
    let lists = rows.products.values_mut().flatten().chain(rows.batches.values_mut());
    for list in lists.chain(rows.latent.values_mut().flat_map(|heads| heads.values_mut())) {
        list.sort_unstable();
        list.dedup();
    }
}
