//! The steps of a run over its tables: look, choose, judge, write.

use num_bigint::BigInt;
use perfdb_files::replace::Staged;

use super::draw::Draw;
use super::plan::most_telling;
use super::{Choice, Options};
use crate::discovery::TableFile;
use crate::enumeration::{Enumeration, ModelChoice, enumeration_error};
use crate::error::Error;
use crate::memory::Budget;
use crate::routing::{NoRule, Routing};
use crate::rules::{Pattern, RuleFile};
use crate::summary::{FileOutcome, Reason, Summary};
use crate::table::growth::{Growth, Judged, NewRows, RowFilter};
use crate::table::head;
use crate::table::row_text::{RowText, check_columns};
use crate::table::template_row::TemplateRow;

/// A table after a look at its head.
pub(super) enum Opening<'a> {
    LeftAlone { rule: Option<&'a str>, reason: Reason },
    Grows(Box<Growing<'a>>),
}

pub(super) struct Growing<'a> {
    rule: &'a str,
    growth: Growth<'a>,
}

/// The candidates of a table that are taken.
pub(super) enum Chosen {
    Nothing,
    /// All candidates, in order.
    All,
    /// Those at these positions, in this order.
    Drawn(Vec<u64>),
    /// Those that were found to be new before the draw.
    New {
        positions: Vec<u64>,
        over_budget: u64,
        refused: u64,
        duplicates: u64,
    },
}

/// How many new files may stay open; systems allow a process some hundred.
pub(super) const MOST_OPEN_FILES: usize = 256;

/// What all steps of a run need.
pub(super) struct Run<'a> {
    pub(super) options: &'a Options,
    pub(super) rules: &'a RuleFile,
    pub(super) models: &'a ModelChoice,
    pub(super) filter: Option<RowFilter<'a>>,
    pub(super) writes: bool,
    /// All files together are synced in less time, but stay open until then.
    pub(super) syncs_at_the_end: bool,
}

impl<'a> Run<'a> {
    pub(super) fn open(
        &self,
        file: &'a TableFile,
        route: Result<(&'a str, &'a Pattern), NoRule>,
    ) -> Result<Opening<'a>, Error> {
        let (rule, pattern) = match route {
            Ok(route) => route,
            Err(why) => return Ok(Opening::LeftAlone { rule: None, reason: Reason::NoRule(why) }),
        };
        let head = match head::read(&file.path, &file.kernel)? {
            Ok(head) => head,
            Err(reason) => return Ok(Opening::LeftAlone { rule: Some(rule), reason }),
        };
        let enumeration = Enumeration::new(self.rules, rule, pattern, self.models)
            .map_err(|reason| enumeration_error(self.rules.path(), rule, reason, &file.path))?;
        if enumeration.count() > 0 {
            check_columns(&file.path, &head, enumeration.columns())?;
        }
        let semantics = self.options.semantics;
        let budget = Budget::from_gib(self.options.max_hbm_gib);
        let template = TemplateRow::new(&file.path, &head, enumeration.columns(), budget, semantics)?;
        let text = RowText::new(&head, enumeration.columns(), semantics);
        let growth =
            Growth { path: &file.path, kernel: &file.kernel, head, enumeration, template, text, filter: self.filter };
        Ok(Opening::Grows(Box::new(Growing { rule, growth })))
    }

    /// The cap per table, if there is one.
    fn cap(&self) -> Option<u64> {
        let rows = &self.options.rows;
        (*rows > BigInt::ZERO).then(|| u64::try_from(rows).unwrap_or(u64::MAX))
    }

    /// Draws for all tables, in order, from one generator.
    pub(super) fn choose(&self, openings: &[Opening<'_>]) -> Result<Vec<Chosen>, Error> {
        let mut draw = Draw::new(self.cap(), &self.options.seed);
        let choose = |opening: &Opening<'_>| match opening {
            Opening::LeftAlone { .. } => Ok(Chosen::Nothing),
            Opening::Grows(growing) => {
                let count = growing.growth.enumeration.count();
                growing.growth.check_count(count.min(self.cap().unwrap_or(count)))?;
                Ok(draw.positions(count).map_or(Chosen::All, Chosen::Drawn))
            }
        };
        openings.iter().map(choose).collect()
    }

    /// Looks at all candidates of a table.
    pub(super) fn judge_all(&self, opening: &Opening<'_>) -> Result<Judged, Error> {
        let Opening::Grows(growing) = opening else {
            return Ok(Judged::default());
        };
        let growth = &growing.growth;
        let signatures = growth.existing_signatures(&growth.read()?)?;
        let count = growth.enumeration.count();
        growth.check_count(count)?;
        // The rows are made again for those that are drawn; all of them would be much to keep.
        Ok(Judged { rows: NewRows::default(), ..growth.judge(0..count, signatures)? })
    }

    /// Draws for all tables, in order, from the candidates that are new.
    pub(super) fn choose_new(&self, openings: &[Opening<'_>], judged: Vec<Judged>) -> Vec<Chosen> {
        let mut draw = Draw::new(self.cap(), &self.options.seed);
        let choose = |(opening, judged): (&Opening<'_>, Judged)| match opening {
            Opening::LeftAlone { .. } => Chosen::Nothing,
            Opening::Grows(_) => {
                let Judged { positions, over_budget, refused, duplicates, .. } = judged;
                let positions = match draw.positions(positions.len() as u64) {
                    None => positions,
                    Some(drawn) => drawn.into_iter().map(|index| positions[index as usize]).collect(),
                };
                Chosen::New { positions, over_budget, refused, duplicates }
            }
        };
        openings.iter().zip(judged).map(choose).collect()
    }

    /// Takes those candidates of a table that are new and tell most about the others.
    pub(super) fn choose_most_telling(&self, opening: &Opening<'_>, judged: Judged) -> Result<Chosen, Error> {
        let Opening::Grows(growing) = opening else {
            return Ok(Chosen::Nothing);
        };
        let Judged { mut positions, over_budget, refused, duplicates, .. } = judged;
        if let Some(cap) = self.cap().and_then(|cap| usize::try_from(cap).ok()).filter(|cap| *cap < positions.len()) {
            positions = most_telling(&growing.growth, &positions, cap)?;
        }
        Ok(Chosen::New { positions, over_budget, refused, duplicates })
    }

    /// Makes the rows of a table and stages the new file.
    pub(super) fn finish(
        &self,
        opening: Opening<'_>,
        chosen: Chosen,
        file: &TableFile,
    ) -> Result<(FileOutcome, Option<Staged>), Error> {
        let mut outcome = FileOutcome {
            path: file.path.clone(),
            kernel: file.kernel.clone(),
            rule: None,
            candidates: 0,
            drawn: 0,
            looked_at: 0,
            over_budget: 0,
            refused: 0,
            duplicates: 0,
            appended: 0,
            reason: None,
        };
        let growing = match opening {
            Opening::LeftAlone { rule, reason } => {
                outcome.rule = rule.map(str::to_owned);
                outcome.reason = Some(reason);
                return Ok((outcome, None));
            }
            Opening::Grows(growing) => growing,
        };
        let growth = &growing.growth;
        let bytes = growth.read()?;
        tracing::info!(table = %file.path.display(), bytes = bytes.len(), rule = growing.rule, "read");
        outcome.rule = Some(growing.rule.to_owned());
        outcome.candidates = growth.enumeration.count();
        let judge =
            |positions: &mut dyn Iterator<Item = u64>| growth.judge(positions, growth.existing_signatures(&bytes)?);
        let judged = match chosen {
            Chosen::Nothing => Judged::default(),
            Chosen::All => {
                outcome.drawn = outcome.candidates;
                judge(&mut (0..outcome.candidates))?
            }
            Chosen::Drawn(positions) => {
                outcome.drawn = positions.len() as u64;
                judge(&mut positions.into_iter())?
            }
            Chosen::New { positions, over_budget, refused, duplicates } => {
                outcome.drawn = positions.len() as u64;
                outcome.looked_at = outcome.candidates;
                let rows = growth.make(positions.into_iter())?;
                Judged { rows, over_budget, refused, duplicates, positions: Vec::new() }
            }
        };
        outcome.looked_at = outcome.looked_at.max(outcome.drawn);
        outcome.over_budget = judged.over_budget;
        outcome.refused = judged.refused;
        outcome.duplicates = judged.duplicates;
        outcome.appended = judged.rows.len() as u64;
        outcome.reason = match (outcome.appended, outcome.candidates) {
            (0, 0) => Some(Reason::NoCandidates),
            (0, _) if judged.refused > 0 && judged.duplicates == 0 => Some(Reason::Refused),
            (0, _) => Some(Reason::NothingNew),
            _ => None,
        };
        let keeps_bytes = self.options.semantics.is_corrected() && outcome.appended == 0;
        let mut staged = if self.writes && !keeps_bytes { Some(growth.stage(&bytes, &judged.rows)?) } else { None };
        if let Some(staged) = staged.as_mut().filter(|_| !self.syncs_at_the_end) {
            staged.sync()?;
        }
        tracing::info!(table = %file.path.display(), candidates = outcome.candidates, rows = outcome.appended, "grown");
        Ok((outcome, staged))
    }

    pub(super) fn summary(&self, mapping: &Routing, files: Vec<FileOutcome>) -> Summary {
        let Options { directory, models, rows, seed, max_hbm_gib, config, choice, .. } = self.options;
        let file_name = config.as_ref().and_then(|path| path.file_name());
        let config = file_name.map(|name| name.to_string_lossy().into_owned());
        Summary {
            directory: directory.clone(),
            dry_run: !self.writes,
            models: models
                .as_deref()
                .map(|names| names.iter().map(|name| name.to_string_lossy().into_owned()).collect()),
            config: config.unwrap_or_else(|| crate::rules::BUILT_IN_NAME.to_owned()),
            op_mapping: !mapping.is_empty(),
            rows: rows.clone(),
            seed: self.cap().filter(|_| *choice == Choice::Random).map(|_| seed.clone()),
            max_hbm_gib: *max_hbm_gib,
            budget: Budget::from_gib(*max_hbm_gib),
            files,
        }
    }
}
