//! Where the durations of a database come from: its device and versions, and who measured what.
//!
//! The name of a database's folder tells the first, `database.toml` beside its tables both. Nothing needs that file: tables are read without
//! it, and a database that has none is as good.
//!
//! ```
//! use perfdb_store::provenance::{Identity, Record, Run};
//!
//! let identity = Identity::of_path("data/ATLAS_800_A3_752T_128G_DIE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5".as_ref());
//! assert_eq!(identity.versions.cann.as_deref(), Some("8.5"));
//!
//! let mut record = Record::default();
//! let mut run = Run::new("2026-01-01T00:00:00Z", "start-microbench");
//! run.types.push("Add".to_owned());
//! record.add(run);
//! assert_eq!(record.date_of("Add"), Some("2026-01-01T00:00:00Z"));
//! assert_eq!(Record::parse("database.toml".as_ref(), &record.to_text()?)?, record);
//! # Ok::<(), perfdb_store::provenance::Error>(())
//! ```

mod error;
mod identity;
mod record;
mod statement;

pub use error::Error;
pub use identity::{Difference, Identity, Versions};
pub use record::{FILE_NAME, Record, Run};
pub use statement::Statement;
