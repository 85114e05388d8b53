//! The standard collection: which sessions of the bench run, on one node or on many.

use crate::collective::Collective;
use crate::dtype::CollectiveDType;
use crate::engine::{Nodes, parse_count};
use crate::error::Error;
use crate::plan::{BenchMode, PlanRequest, powers_of_two};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The schema of [`SessionPlan`] as a document.
pub const SESSIONS_SCHEMA: &str = "perfdb.comm-sessions/1";

/// The port of the first session, or the base of the rounds' ports.
const FIRST_PORT: u64 = 29_700;

/// Ranks of a node, and of the inner dimensions of the standard grid.
const RANKS_PER_NODE: u64 = 16;

/// The smallest group between pods.
const SMALLEST_WORLD: u64 = 32;

/// The variables that a collection depends on, as they are in the environment; empty ones count as unset.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `NNODES`
    pub nnodes: Option<String>,
    /// `NODE_RANK`
    pub node_rank: Option<String>,
    /// `MASTER_ADDR`
    pub master_addr: Option<String>,
    /// `MASTER_PORT`
    pub master_port: Option<String>,
    /// `NPROC`
    pub nproc: Option<String>,
    /// `QUICK`
    pub quick: Option<String>,
}

impl Environment {
    /// The variables as `variable` knows them by their names.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            nnodes: variable("NNODES"),
            node_rank: variable("NODE_RANK"),
            master_addr: variable("MASTER_ADDR"),
            master_port: variable("MASTER_PORT"),
            nproc: variable("NPROC"),
            quick: variable("QUICK"),
        }
    }
}

/// Values that replace the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Where the tables go; `None` = the mode's own default.
    pub output_dir: Option<PathBuf>,
    /// Group sizes (single node only).
    pub num_devices: Option<Vec<u64>>,
    /// Message sizes in bytes.
    pub bytes_grid: Option<Vec<u64>>,
    /// Hardware grid.
    pub grid_shape: Option<Vec<u64>>,
    /// How times are taken.
    pub bench_mode: Option<BenchMode>,
    /// Element type.
    pub dtype: Option<CollectiveDType>,
}

/// One node or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    SingleNode,
    /// Two nodes or more.
    MultiNode,
}

/// The sessions of a collection, also as the document `perfdb.comm-sessions/1`.
#[derive(Clone, Debug, Serialize)]
pub struct SessionPlan {
    /// [`SESSIONS_SCHEMA`].
    pub schema: &'static str,
    /// One node or many.
    pub mode: Mode,
    /// Where the tables go, as given.
    #[serde(serialize_with = "as_text")]
    pub output_dir: PathBuf,
    /// The sessions, in run order.
    pub sessions: Vec<Session>,
    /// Things that the caller should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// One run of the bench.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    /// What it measures.
    pub description: String,
    /// Operators.
    pub ops: Vec<Collective>,
    /// Group sizes.
    pub num_devices: Vec<u64>,
    /// Tiers, `None` = that of the group's ranks.
    pub topology_tier: Option<Vec<u64>>,
    /// Hardware grid.
    pub grid_shape: Vec<u64>,
    /// Message sizes in bytes.
    pub bytes_grid: Vec<u64>,
    /// How times are taken.
    pub bench_mode: BenchMode,
    /// Nodes.
    pub nnodes: u64,
    pub node_rank: u64,
    /// Address of node 0.
    pub master_addr: String,
    /// Port on node 0.
    pub master_port: u16,
    /// Ranks on every node.
    pub nproc_per_node: u64,
}

impl Session {
    /// What the session asks of the bench.
    pub fn request(&self, dtype: CollectiveDType) -> PlanRequest {
        PlanRequest {
            ops: self.ops.clone(),
            num_devices: self.num_devices.clone(),
            topology_tier: self.topology_tier.clone(),
            grid_shape: self.grid_shape.clone(),
            dtype,
            bytes_grid: self.bytes_grid.clone(),
            bench_mode: self.bench_mode,
        }
    }

    /// The nodes that take part.
    pub fn nodes(&self) -> Nodes {
        Nodes {
            count: self.nnodes,
            rank: self.node_rank,
            master_addr: self.master_addr.clone(),
            master_port: Some(self.master_port),
            nproc: Some(self.nproc_per_node),
        }
    }
}

/// A path in a document; what is not text in it is replaced.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

const ROUNDS: [(&str, &[Collective]); 3] = [
    ("allReduce", &[Collective::AllReduce]),
    ("allGather+reduceScatter", &[Collective::AllGather, Collective::ReduceScatter]),
    ("alltoallv", &[Collective::AllToAll]),
];

impl SessionPlan {
    /// The document.
    pub fn to_json(&self) -> String {
        crate::document::render(self)
    }

    /// Works out the sessions. A bad environment is an error that names the variable.
    pub fn new(environment: &Environment, options: &SessionOptions) -> Result<Self, Error> {
        let nnodes = match set(&environment.nnodes) {
            Some(text) => parse_count("NNODES", text)?,
            None => 1,
        };
        let plan = if nnodes < 2 { single_node(options) } else { multi_node(nnodes, environment, options) }?;
        for session in &plan.sessions {
            session.request(options.dtype.unwrap_or_default()).check()?;
        }
        Ok(plan)
    }
}

fn single_node(options: &SessionOptions) -> Result<SessionPlan, Error> {
    let sizes = options.num_devices.clone().unwrap_or_else(|| vec![16, 8, 4, 2]);
    if sizes.is_empty() {
        return Err(Error::usage("num_devices", "needs at least one value"));
    }
    let last_port = FIRST_PORT + (ROUNDS.len() * sizes.len()) as u64 - 1;
    if last_port > u64::from(u16::MAX) {
        return Err(Error::usage("num_devices", format!("{} values need ports up to {last_port}", sizes.len())));
    }
    let mut sessions = Vec::new();
    for (round, ops) in ROUNDS {
        for &devices in &sizes {
            sessions.push(Session {
                description: format!("{round} nd={devices}"),
                ops: ops.to_vec(),
                num_devices: vec![devices],
                topology_tier: None,
                grid_shape: grid_shape(options),
                bytes_grid: options.bytes_grid.clone().unwrap_or_else(|| powers_of_two(7, 29)),
                bench_mode: options.bench_mode.unwrap_or(BenchMode::Kernel),
                nnodes: 1,
                node_rank: 0,
                master_addr: "127.0.0.1".into(),
                master_port: (FIRST_PORT + sessions.len() as u64) as u16,
                nproc_per_node: devices,
            });
        }
    }
    Ok(SessionPlan {
        schema: SESSIONS_SCHEMA,
        mode: Mode::SingleNode,
        output_dir: options.output_dir.clone().unwrap_or_else(|| "./hccl_bench_data".into()),
        sessions,
        warnings: Vec::new(),
    })
}

fn multi_node(nnodes: u64, environment: &Environment, options: &SessionOptions) -> Result<SessionPlan, Error> {
    if options.num_devices.is_some() {
        return Err(Error::usage(
            "num_devices",
            "only on a single node: with NNODES of 2 or more the world gives the group sizes",
        ));
    }
    let needed = |name: &str, value: &Option<String>| match set(value) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::Input { place: name.into(), reason: "needed with NNODES of 2 or more".into() }),
    };
    let node_rank = parse_count("NODE_RANK", &needed("NODE_RANK", &environment.node_rank)?)?;
    let master_addr = needed("MASTER_ADDR", &environment.master_addr)?;
    if node_rank >= nnodes {
        return Err(Error::usage("NODE_RANK", format!("{node_rank}: must be below NNODES, which is {nnodes}")));
    }
    let base_port = match set(&environment.master_port) {
        Some(text) => parse_count("MASTER_PORT", text)?,
        None => FIRST_PORT,
    };
    let rounds = ROUNDS.len() as u64;
    if base_port.saturating_add(rounds) > u64::from(u16::MAX) {
        let last = u64::from(u16::MAX);
        return Err(Error::usage(
            "MASTER_PORT",
            format!("{base_port}: rounds use the ports up to {rounds} above it, beyond {last}"),
        ));
    }
    let nproc = match set(&environment.nproc) {
        Some(text) => parse_count("NPROC", text)?,
        None => RANKS_PER_NODE,
    };
    if nproc == 0 {
        return Err(Error::usage("NPROC", "0: a node has at least one rank"));
    }
    let world = nnodes.saturating_mul(nproc);
    let num_devices = group_sizes(world);
    if num_devices.is_empty() {
        let reason = format!(
            "{nnodes} nodes of {nproc} ranks make {world}; a group between pods needs at least {SMALLEST_WORLD}"
        );
        return Err(Error::Input { place: "NNODES".into(), reason });
    }
    let grid_shape = grid_shape(options);
    let inner = grid_shape.iter().skip(1).fold(1, |product: u64, d| product.saturating_mul(*d));
    let mut warnings = Vec::new();
    if nproc != inner {
        warnings.push(format!(
            "NPROC {nproc}: the grid's inner dimensions hold {inner} ranks, so a pod of the grid is not a node"
        ));
    }
    let quick = environment.quick.as_deref() == Some("1");
    let built_in = if quick { vec![1024, 65_536, 1 << 20, 1 << 24, 1 << 28] } else { powers_of_two(7, 29) };
    let sessions = (1..).zip(ROUNDS).map(|(number, (round, ops))| Session {
        description: format!("Round {number}: {round}"),
        ops: ops.to_vec(),
        num_devices: num_devices.clone(),
        topology_tier: Some(vec![0]),
        grid_shape: grid_shape.clone(),
        bytes_grid: options.bytes_grid.clone().unwrap_or_else(|| built_in.clone()),
        bench_mode: options.bench_mode.unwrap_or(BenchMode::Kernel),
        nnodes,
        node_rank,
        master_addr: master_addr.clone(),
        master_port: (base_port + number) as u16,
        nproc_per_node: nproc,
    });
    Ok(SessionPlan {
        schema: SESSIONS_SCHEMA,
        mode: Mode::MultiNode,
        output_dir: options.output_dir.clone().unwrap_or_else(|| "./hccl_bench_inter_pod_v8.5".into()),
        sessions: sessions.collect(),
        warnings,
    })
}

fn grid_shape(options: &SessionOptions) -> Vec<u64> {
    options.grid_shape.clone().unwrap_or_else(|| vec![48, 8, 2])
}

/// 32, 64, 128, … up to the world, with 384 and 768 where they fit, ascending.
fn group_sizes(world: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = std::iter::successors(Some(SMALLEST_WORLD), |size| size.checked_mul(2))
        .take_while(|size| *size <= world)
        .collect();
    sizes.extend([384, 768].into_iter().filter(|size| *size <= world));
    sizes.sort_unstable();
    sizes
}

fn set(variable: &Option<String>) -> Option<&str> {
    variable.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let get = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Environment {
            nnodes: get("NNODES"),
            node_rank: get("NODE_RANK"),
            master_addr: get("MASTER_ADDR"),
            master_port: get("MASTER_PORT"),
            nproc: get("NPROC"),
            quick: get("QUICK"),
        }
    }

    fn plan(pairs: &[(&str, &str)]) -> Result<SessionPlan, Error> {
        SessionPlan::new(&environment(pairs), &SessionOptions::default())
    }

    const TWO: [(&str, &str); 3] = [("NNODES", "2"), ("NODE_RANK", "0"), ("MASTER_ADDR", "10.0.0.1")];

    #[test]
    fn one_node_has_twelve_sessions_whatever_else_is_set() {
        let plan = plan(&[("NNODES", ""), ("MASTER_PORT", "x"), ("NPROC", "0"), ("QUICK", "1")]).unwrap();
        let ports: Vec<u16> = plan.sessions.iter().map(|session| session.master_port).collect();
        assert_eq!(ports, (29_700..29_712).collect::<Vec<u16>>());
        assert_eq!(
            (plan.sessions[7].description.as_str(), plan.sessions[7].nproc_per_node),
            ("allGather+reduceScatter nd=2", 2)
        );
        assert_eq!(plan.sessions[0].bytes_grid.len(), 23);
    }

    #[test]
    fn group_sizes_between_pods() {
        assert_eq!(group_sizes(1024), [32, 64, 128, 256, 384, 512, 768, 1024]);
        assert_eq!(group_sizes(400), [32, 64, 128, 256, 384]);
        assert_eq!(group_sizes(31), Vec::<u64>::new());
    }

    #[test]
    fn bad_environments_name_the_variable() {
        let with = |name: &'static str, value: &'static str| {
            let mut pairs: Vec<_> = TWO.into_iter().filter(|(key, _)| *key != name).collect();
            pairs.push((name, value));
            plan(&pairs).map(drop).map_err(|error| (error.is_usage(), error.to_string()))
        };
        for (name, value, usage) in [
            ("NNODES", "abc", true),
            ("NNODES", "-2", true),
            ("NODE_RANK", "2", true),
            ("NODE_RANK", "+1", true),
            ("NODE_RANK", "", false),
            ("MASTER_ADDR", "", false),
            ("MASTER_PORT", "65533", true),
            ("MASTER_PORT", "1e4", true),
            ("NPROC", "0", true),
            ("NPROC", "15", false),
        ] {
            let (is_usage, text) = with(name, value).unwrap_err();
            let named = if value == "15" { "needs at least 32" } else { name };
            assert!(is_usage == usage && text.contains(named), "{name}={value}: {text}");
        }
        assert_eq!(with("MASTER_PORT", "65532"), Ok(()));
        assert_eq!(with("MASTER_PORT", ""), Ok(()));
    }

    #[test]
    fn a_pod_that_is_not_a_node_is_a_warning() {
        let mut pairs = TWO.to_vec();
        pairs.push(("NPROC", "32"));
        assert_eq!(plan(&pairs).unwrap().warnings.len(), 1);
        assert!(plan(&TWO).unwrap().warnings.is_empty());
    }
}
