//! Report pages of one design.
//!
//! A [`Page`] is one HTML file that needs no other file and no network. It opens with a sentence and how far that can be
//! trusted, goes on with charts and tables, and ends with where it comes from. The same input makes the same bytes.
//!
//! ```
//! use perfdb_report::page::{Block, Column, Page, Part, Provenance, Table, Trust};
//!
//! let table = Table::new("kernels", "Kernels", vec![
//!     Column::text("Kernel type", ["MatMulV2", "RmsNorm"]),
//!     Column::decimal("Measured", [812.4, 33.1], 1).unit("µs"),
//! ]);
//! let part = Part {
//!     verdict: "Two kernels take 845.5 µs.".to_owned(),
//!     trust: Some(Trust::high("both were measured")),
//!     blocks: vec![Block::Table(table)],
//!     ..Part::default()
//! };
//! let page = Page { title: "Kernels of a pass".to_owned(), parts: vec![part], provenance: Provenance::default() };
//! assert!(page.to_html()?.contains("<p class=\"verdict\">Two kernels take 845.5"));
//! # Ok::<(), perfdb_report::page::Error>(())
//! ```
//!
//! Charts are drawn here, as SVG; the script of a page sorts, filters and scrolls its tables and leads from the points of a
//! chart to their rows. Tables carry their rows as JSON, and only those in view are in the document.

mod accuracy;
mod bandwidth;
mod bundle;
mod chart;
mod error;
mod heat_map;
mod markup;
pub mod number;
mod one_page;
mod render;
mod roofline;
mod scale;
mod sparkline;
mod stacked;
mod strips;
mod table;
mod terms;
mod trade_off;
mod waterfall;

pub use accuracy::{Accuracy, AccuracyPoint};
pub(crate) use bandwidth::{Bandwidth, BandwidthCurve};
pub use bundle::{BundledPage, bundle};
pub use chart::{Chart, ChartWidth};
pub use error::Error;
pub(crate) use heat_map::{HeatCell, HeatMap};
pub use one_page::{Block, Input, KeyFigure, Page, Part, Provenance, Trust, TrustLevel};
pub(crate) use roofline::RooflineScatter;
pub use roofline::{Roof, RoofPoint};
pub(crate) use sparkline::Sparkline;
pub(crate) use stacked::{StackedBar, StackedBars};
pub(crate) use strips::{StripKernel, Strips};
pub use table::{Column, Table};
pub(crate) use trade_off::{TradeOff, TradeOffPoint};
pub use waterfall::Step;
pub(crate) use waterfall::Waterfall;
