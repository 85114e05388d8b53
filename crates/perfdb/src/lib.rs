//! Operator performance databases for LLM inference: read them, ask them, compare predictions with measurements.
//!
//! A database is a folder with one CSV per kernel type, for one accelerator and one set of software versions: shapes, dtypes,
//! formats and measured durations. A simulator predicts a forward pass from it. The tools of perfdb make, measure and check such
//! databases; everything that they do is library code.
//!
//! ```
//! use perfdb::compare::{Semantics, m6};
//! # let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scenarios");
//!
//! // How much of a measured forward pass did the simulator predict?
//! let m6 = m6::compare_files(
//!     &data.join("qwen3_32b_decode/trace.json"),
//!     &data.join("qwen3_32b_decode/forward_pass.csv"),
//!     &m6::Options { semantics: Semantics::Corrected, ..Default::default() },
//! )?.result;
//! assert!(m6.is_within(0.8, 1.1));
//! # Ok::<(), perfdb::compare::Error>(())
//! ```
//!
//! # Which crate is for what
//!
//! For programs of your own. This crate has them under short names; what their interfaces promise is in
//! `docs/design/releases.md`.
//!
//! | crate | for |
//! |---|---|
//! | [`trace`] (`perfdb-trace`) | reading chrome traces and kernel CSVs of any size, as a stream |
//! | [`store`] (`perfdb-store`) | databases: folders, tables that keep every byte, signatures, operator mapping, lint |
//! | [`query`] (`perfdb-query`) | asking a database what an operator costs; simulators need this one alone |
//! | [`compare`] (`perfdb-compare`) | a simulated forward pass against a measured one: M6, per kernel type, per shape |
//! | [`tracediff`] (`perfdb-tracediff`) | two GPU traces of the same workload, operation by operation |
//!
//! Parts of the tools. Their interfaces may change with any minor release.
//!
//! | crate | for |
//! |---|---|
//! | `perfdb-tools` | the command lines; one module for each tool |
//! | `perfdb-python` | the Python module, and the wheel with all tools |
//! | `perfdb-report` | results as tables, JSON, CSV, Markdown and HTML |
//! | `perfdb-tables` | tables with typed columns, and what a form of files offers to take them |
//! | `perfdb-parquet` | tables and databases as Parquet, and databases of other projects' tables |
//! | `perfdb-forecast` | the operators of a forward pass, from a model's config.json |
//! | `perfdb-page` | HTML report pages of one design: charts, tables of any length |
//! | `perfdb-grid` | theory shapes: which rows a database should have |
//! | `perfdb-microbench` | measuring a whole database: msprof, resuming, all operators |
//! | `perfdb-replay` | one row of a database as a case, and who runs it: NPU and PyTorch workers, native |
//! | `perfdb-kernels` | the native operators: tensors, element types, reference kernels |
//! | `perfdb-comm` | measuring collectives |
//! | `perfdb-doctor` | what is wrong with a trace, and a repaired copy |
//! | `perfdb-sequence` | what repeats in a sequence of kernels: layers, passes |
//! | `perfdb-coverage` | whether a database is good enough for a workload, and what to measure next |
//! | `perfdb-versions` | what changed between two databases, and bringing several into one |
//! | `perfdb-provenance` | where the durations of a database come from: device, versions, `database.toml` |
//! | `perfdb-timeline` | two sides of a comparison as one chrome trace |
//! | `perfdb-predict` | durations between measured rows, with intervals |
//! | `perfdb-roofline` | operations and bytes of kernels, peaks of devices |
//! | `perfdb-ranks` | many ranks of a run: who is late, where, and what it costs |
//! | `perfdb-statistics` | whether two series of measured times differ, and how sure that is |
//! | `perfdb-workload` | operations and bytes of the operators of a PyTorch profile, by their shapes |
//! | `perfdb-severity` | how much a finding matters |
//! | `perfdb-dtype` | data types of tensors, under the names of PyTorch and of profilers |
//! | `perfdb-files` | replacing files whole, locks, child processes, interrupts |
//! | `perfdb-shards` | parts of a job for several machines, and sets of them that are whole |
//! | `perfdb-parallel` | work on several threads with results in order |
//! | `perfdb-reliability` | trying the tools from outside: mutated inputs, kills, failing system calls; published nowhere |
//! | `perfdb-pycompat` | text as CPython writes and reads it |
//! | `perfdb-properties` | what must hold for readers whatever bytes they are given, for tests and fuzz targets |
//!
//! Dependencies point one way, from the tools down to `perfdb-pycompat` and `perfdb-dtype`; `CONTRIBUTING.md` has the picture.
#![forbid(unsafe_code)]

#[doc(no_inline)]
pub use perfdb_compare as compare;
#[doc(no_inline)]
pub use perfdb_query as query;
#[doc(no_inline)]
pub use perfdb_store as store;
#[doc(no_inline)]
pub use perfdb_trace as trace;
#[doc(no_inline)]
pub use perfdb_tracediff as tracediff;
