//! The candidates of a rule for the models of a run, addressed by position.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use crate::Semantics;
use crate::candidate::Candidate;
use crate::error::Error;
use crate::models::Models;
use crate::rules::{Pattern, RuleFile};
use crate::template::{EnumerationError, PointError, Points, Scratch};

/// The models of a run, and what templates and generators take from them.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    models: Models,
    /// The (N, K) weight sizes; `None` when no models were named.
    weight_pairs: Option<Vec<(i128, i128)>>,
    semantics: Semantics,
}

impl ModelChoice {
    /// The named models, or the default list for the special generators and full grids for everything else.
    ///
    /// # Errors
    ///
    /// A name that is no model.
    pub fn new(names: Option<&[impl AsRef<OsStr>]>, semantics: Semantics) -> Result<Self, Error> {
        let models =
            names.map_or_else(|| Ok(Models::default_list(semantics)), |names| Models::named(names, semantics))?;
        let weight_pairs = names.map(|_| models.weight_pairs(semantics));
        Ok(Self { models, weight_pairs, semantics })
    }
}

/// The candidates of a rule, in order. None is made before it is asked for.
#[derive(Clone, Debug)]
pub struct Enumeration<'a> {
    rules: &'a Path,
    pattern: &'a str,
    columns: Vec<&'static str>,
    source: Source<'a>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Points {
        points: Points<'a>,
        /// The positions that meet the constraints; `None` without constraints.
        kept: Option<Vec<u32>>,
        cells: Arc<[String]>,
    },
    /// The special generators drop repeated candidates, so they have to make all of them. They are few.
    Listed(Vec<Candidate>),
}

impl<'a> Enumeration<'a> {
    /// The candidates of a pattern for these models.
    ///
    /// # Errors
    ///
    /// A constraint that has no value at some point, and grids that are too large to be looked at.
    pub fn new(
        rules: &'a RuleFile,
        pattern: &'a str,
        rule: &'a Pattern,
        models: &'a ModelChoice,
    ) -> Result<Self, EnumerationError> {
        let (columns, source) = match rule {
            Pattern::Template(template) => {
                let points = template.points(models.weight_pairs.as_deref())?;
                let kept = points.constrained()?;
                let (columns, cells): (Vec<_>, Vec<_>) = template.cells.iter().cloned().unzip();
                (columns, Source::Points { points, kept, cells: cells.into() })
            }
            Pattern::Generator(generator) => {
                let candidates = generator.candidates(&models.models, models.semantics);
                (generator.columns().to_vec(), Source::Listed(candidates))
            }
        };
        Ok(Self { rules: rules.path(), pattern, columns, source })
    }

    /// Number of candidates.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.source {
            Source::Points { kept: Some(kept), .. } => kept.len() as u64,
            Source::Points { points, kept: None, .. } => points.count(),
            Source::Listed(candidates) => candidates.len() as u64,
        }
    }

    /// The columns that candidates set, in the order of their cells.
    #[must_use]
    pub fn columns(&self) -> &[&'static str] {
        &self.columns
    }

    /// Makes candidates one after the other.
    #[must_use]
    pub fn maker(&self) -> Maker<'_> {
        Maker { source: &self.source, scratch: Scratch::default() }
    }

    /// An error of this rule, found while the rows of `table` were made.
    pub(crate) fn error(&self, reason: impl Into<EnumerationError>, table: &Path) -> Error {
        enumeration_error(self.rules, self.pattern, reason.into(), table)
    }
}

pub(crate) fn enumeration_error(rules: &Path, pattern: &str, reason: EnumerationError, table: &Path) -> Error {
    Error::Enumeration {
        rules: rules.to_owned(),
        pattern: pattern.to_owned(),
        reason: Box::new(reason),
        table: table.to_owned(),
    }
}

/// Makes the candidates of an [`Enumeration`], reusing its memory.
#[derive(Clone, Debug)]
pub struct Maker<'a> {
    source: &'a Source<'a>,
    scratch: Scratch,
}

impl Maker<'_> {
    /// Turns `candidate` into the one at a position.
    ///
    /// # Errors
    ///
    /// A dimension that has no value there.
    ///
    /// # Panics
    ///
    /// When there are fewer candidates, as for a slice.
    pub fn make(&mut self, position: u64, candidate: &mut Candidate) -> Result<(), PointError> {
        match self.source {
            Source::Points { points, kept, cells } => {
                let point = kept.as_ref().map_or(position, |kept| u64::from(kept[position as usize]));
                points.build(point, &mut self.scratch, candidate)?;
                if !Arc::ptr_eq(&candidate.cells, cells) {
                    candidate.cells = Arc::clone(cells);
                }
            }
            Source::Listed(candidates) => {
                let made = &candidates[position as usize];
                candidate.inputs.copy_from(&made.inputs);
                candidate.outputs.copy_from(&made.outputs);
                candidate.cells = Arc::clone(&made.cells);
            }
        }
        Ok(())
    }
}
