//! Measured durations of operators: the tables of a system, under the versions of a framework.
//!
//! Tables are those of `import-database --from aiconfigurator`: a folder `SYSTEM/FRAMEWORK/VERSION` for each version, with one CSV per
//! kernel type. A version that lacks a case is helped out by the nearest newer ones, then by older ones.

mod read;
mod versions;

use super::curve::{Curve, Source};
use super::operators::Phase;
use super::precision::Scheme;
use crate::Error;
use perfdb_model::roofline::Device;
use perfdb_store::registry::parts::ALL_REDUCE;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
pub use versions::Version;

/// Share of the memory bandwidth that decode attention on large caches reaches in a measurement that is none.
const BROKEN_EFFICIENCY: f64 = 0.2;

/// Frameworks that choose kernels of experts by the device and the sizes. Others run the one of their version: vLLM has the faster ones of
/// Blackwell behind options that servers seldom set.
const CHOOSING: [&str; 2] = ["sglang", "trtllm"];

/// Tables that are looked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TableKind {
    Products,
    PrefillAttention,
    DecodeAttention,
    LatentPrefill,
    LatentDecode,
    LatentProducts,
    LinearAttention,
    Experts,
    AllReduce,
}

impl TableKind {
    const ALL: [(TableKind, &'static str, &'static str); 9] = [
        (TableKind::Products, "gemm", "gemm_"),
        (TableKind::PrefillAttention, "prefill attention", "context_attention_"),
        (TableKind::DecodeAttention, "decode attention", "generation_attention_"),
        (TableKind::LatentPrefill, "prefill attention (MLA)", "context_mla_"),
        (TableKind::LatentDecode, "decode attention (MLA)", "generation_mla_"),
        (TableKind::LatentProducts, "latent products", "mla_gen_"),
        (TableKind::LinearAttention, "linear attention", "gdn_"),
        (TableKind::Experts, "experts", "moe_"),
        (TableKind::AllReduce, "all_reduce", ALL_REDUCE),
    ];

    pub(super) fn name(self) -> &'static str {
        TableKind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    fn prefix(self) -> &'static str {
        TableKind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., prefix)| prefix)
    }
}

/// What the rows of a curve have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Product { scheme: Scheme, columns: u64, inner: u64 },
    Attention { heads: Heads, batch: u64 },
    Latent { cache: Scheme, heads: u64, batch: u64 },
    LatentProducts { is_before: bool, heads: u64 },
    Linear { phase: Phase, is_convolution: bool, widths: [u64; 2], heads: u64 },
    Experts(ExpertsKey),
    AllReduce { ranks: u64 },
}

/// Which attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Heads {
    pub(super) computes: Scheme,
    pub(super) cache: Scheme,
    pub(super) head_dim: u64,
    pub(super) window: u64,
    pub(super) kv_heads: u64,
    pub(super) heads: u64,
}

/// Which experts, and how tokens are spread over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ExpertsKey {
    pub(super) scheme: Scheme,
    pub(super) hidden: u64,
    pub(super) inner: u64,
    pub(super) per_token: u64,
    pub(super) count: u64,
    pub(super) tensor: u64,
    pub(super) expert: u64,
    pub(super) spread: Spread,
}

/// How tokens are spread over experts; real ones are spread as `PowerLaw12` has it, the others stand in where it was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Spread {
    PowerLaw12,
    PowerLaw101,
    Balanced,
}

/// The tables of a kind in one version.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) curves: BTreeMap<Key, Curve>,
    /// Columns and inner sizes of products, by scheme.
    pub(super) products: BTreeMap<Scheme, [Vec<u64>; 2]>,
    /// Batches of each attention.
    pub(super) batches: BTreeMap<Heads, Vec<u64>>,
    /// Heads and batches of latent attention, by the cache's scheme.
    pub(super) latent: BTreeMap<Scheme, BTreeMap<u64, Vec<u64>>>,
    /// What experts there are.
    pub(super) experts: BTreeSet<ExpertsKey>,
    /// Devices of collectives.
    pub(super) ranks: BTreeSet<u64>,
}

/// The tables of a system and a framework, for one version that is wanted.
#[derive(Debug)]
pub struct Tables {
    /// The system's folder name: `h100_sxm`.
    pub system: String,
    /// The framework's folder name: `vllm`.
    pub framework: String,
    /// The device, with its peaks.
    pub device: &'static Device,
    /// Folders of versions, in the order in which they are asked.
    versions: Vec<(String, PathBuf)>,
    loaded: HashMap<(TableKind, usize), Rows>,
    /// The version that answered last, by kind.
    used: BTreeMap<TableKind, String>,
    refused: BTreeSet<String>,
}

/// What is wrong with a folder that is not `SYSTEM/FRAMEWORK/VERSION`; `name` has its name, that of the folder above, and so on.
fn not_of_a_version(name: impl Fn(usize) -> String) -> String {
    let form = "a forecast needs SYSTEM/FRAMEWORK/VERSION, such as h100_sxm/vllm/0.19.0";
    match [0, 1].map(|at| Device::recognise(&name(at)).is_some()) {
        [true, _] => format!("{form}; this is a system: name a framework and a version below it"),
        [_, true] => format!("{form}; this is a framework: name a version below it"),
        _ => format!("{form}, and {:?} is not a device that is known", name(2)),
    }
}

impl Tables {
    /// Opens a database `SYSTEM/FRAMEWORK/VERSION`; its neighbours are other versions.
    ///
    /// # Errors
    /// When the folder is not there, or its system is not a known device.
    pub fn open(database: &Path) -> Result<Tables, Error> {
        let database = perfdb_files::paths::absolute(database);
        if !database.is_dir() {
            return Err(Error::Malformed { path: database, reason: "is not a folder with tables".to_owned() });
        }
        let name = |at: usize| {
            let folder = database.ancestors().nth(at).and_then(Path::file_name);
            folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        if Device::recognise(&name(2)).is_none() {
            return Err(Error::Malformed { reason: not_of_a_version(name), path: database.clone() });
        }
        let root = database.ancestors().nth(3).unwrap_or(Path::new("/"));
        Tables::of(root, &name(2), &name(1), Some(&name(0)))
    }

    /// The tables below a folder of systems for a framework's version; without one the framework's newest.
    ///
    /// # Errors
    /// When there are none, or the system is not a known device.
    pub fn of(root: &Path, system: &str, framework: &str, version: Option<&str>) -> Result<Tables, Error> {
        let folder = root.join(system).join(framework);
        let refuse = |reason: String| Error::Malformed { path: folder.clone(), reason };
        let Some(device) = Device::recognise(system) else {
            let reason =
                format!("{system:?} is not a device that is known; the system's folder is named after one: h100_sxm");
            return Err(refuse(reason));
        };
        let versions = versions::ordered(&folder, version)?;
        if versions.is_empty() {
            return Err(refuse("has no folders of versions, as import-database makes them".to_owned()));
        }
        Ok(Tables {
            system: system.to_owned(),
            framework: framework.to_owned(),
            device,
            versions,
            loaded: HashMap::new(),
            used: BTreeMap::new(),
            refused: BTreeSet::new(),
        })
    }

    /// The first answer that the versions give, in their order.
    pub(super) fn find<T>(&mut self, kind: TableKind, ask: impl Fn(&Rows) -> Option<T>) -> Result<Option<T>, Error> {
        for at in 0..self.versions.len() {
            if let Some(found) = self.rows(kind, at)?.and_then(&ask) {
                self.used.insert(kind, self.versions[at].0.clone());
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The shortest answer of all versions, where the framework chooses a kernel by the device and the sizes: the tables of a version
    /// measured one of them. Of a calibrated copy its own rows count.
    pub(super) fn shortest(
        &mut self,
        kind: TableKind,
        ask: impl Fn(&Rows) -> Option<(f64, Source)>,
    ) -> Result<Option<(f64, Source)>, Error> {
        let first = self.find(kind, &ask)?;
        let chooses = CHOOSING.contains(&self.framework.as_str());
        if !chooses || first.is_none() || Version::parse(self.version()).is_none() {
            return Ok(first);
        }
        let mut shortest: Option<(f64, Source, String)> = None;
        for at in 0..self.versions.len() {
            let answer = self.rows(kind, at)?.and_then(&ask);
            if let Some((duration_us, source)) = answer.filter(|(_, source)| *source < Source::Extrapolated)
                && shortest.as_ref().is_none_or(|(known_us, ..)| duration_us < *known_us)
            {
                shortest = Some((duration_us, source, self.versions[at].0.clone()));
            }
        }
        let Some((duration_us, source, version)) = shortest else { return Ok(first) };
        self.used.insert(kind, version);
        Ok(Some((duration_us, source)))
    }

    /// The tables of a kind in the version at this place.
    fn rows(&mut self, kind: TableKind, at: usize) -> Result<Option<&Rows>, Error> {
        if !self.loaded.contains_key(&(kind, at)) {
            let rows = self.load(kind, at)?;
            self.loaded.insert((kind, at), rows);
        }
        Ok(self.loaded.get(&(kind, at)))
    }

    fn load(&mut self, kind: TableKind, at: usize) -> Result<Rows, Error> {
        let (version, folder) = &self.versions[at];
        let mut rows = read::rows(kind, folder)?;
        if kind == TableKind::AllReduce && at == 0 {
            read::library(&folder.join("../../nccl"), &mut rows)?;
        }
        if kind == TableKind::DecodeAttention
            && let Some(efficiency) = efficiency(&rows, self.device.memory_tb_s)
            && efficiency < BROKEN_EFFICIENCY
        {
            let share = efficiency * 100.0;
            self.refused
                .insert(format!("decode attention of {version}: {share:.0} % of the memory bandwidth on large caches"));
            return Ok(Rows::default());
        }
        Ok(rows)
    }

    /// Which version answered, by what was asked.
    pub fn used(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.used.iter().map(|(kind, version)| (kind.name(), version.as_str()))
    }

    /// Tables that were refused, with the reason.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(String::as_str)
    }

    /// The version that is asked first.
    pub fn version(&self) -> &str {
        self.versions.first().map_or("", |(version, _)| version)
    }
}

/// The median share of the memory bandwidth that decode attention reaches on caches from 64 MB to 4 GB.
fn efficiency(rows: &Rows, memory_tb_s: f64) -> Option<f64> {
    let mut shares = Vec::new();
    for (key, curve) in &rows.curves {
        let Key::Attention { heads, batch } = key else { continue };
        if heads.head_dim != 128 || heads.window != 0 || heads.kv_heads >= heads.heads {
            continue;
        }
        for (length, duration_us) in curve.rows() {
            let bytes = *batch as f64 * length * (heads.kv_heads * heads.head_dim * 2) as f64 * heads.cache.bytes();
            if (64e6..4e9).contains(&bytes) {
                shares.push(bytes / (memory_tb_s * 1e12) * 1e6 / duration_us);
            }
        }
    }
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// The phase's tables of attention.
pub(super) fn attention_tables(phase: Phase) -> TableKind {
    match phase {
        Phase::Prefill => TableKind::PrefillAttention,
        Phase::Decode => TableKind::DecodeAttention,
    }
}
