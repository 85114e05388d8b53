//! What an answer is based on.

use perfdb_query::{Answer, Class, Database, Layer, LookupError, Query, Reader, ReaderSemantics, RowRef, Source};
use std::fmt;

/// What the answer to a question is based on, from the best to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerSource {
    /// The operator costs nothing: no table is asked.
    Free,
    /// Rows of just this call.
    Exact,
    /// A row of a slightly other size: tokens that the kernel rounds up, or an average length close by.
    Padded,
    /// Rows around it.
    Interpolated,
    /// Rows on one side only, or of other weights, heads or ranks: the reader has no answer, and only a prediction is left.
    Beyond,
    /// Some of the kernels that it consists of.
    Partial,
    /// Nothing.
    Missing,
}

impl AnswerSource {
    /// All of them but [`AnswerSource::Free`], the best first.
    pub const ALL: [AnswerSource; 6] = [
        AnswerSource::Exact,
        AnswerSource::Padded,
        AnswerSource::Interpolated,
        AnswerSource::Beyond,
        AnswerSource::Partial,
        AnswerSource::Missing,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AnswerSource::Free => "free",
            AnswerSource::Exact => "exact",
            AnswerSource::Padded => "padded",
            AnswerSource::Interpolated => "interpolated",
            AnswerSource::Beyond => "beyond",
            AnswerSource::Partial => "partial",
            AnswerSource::Missing => "missing",
        }
    }
}

impl fmt::Display for AnswerSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What was found out about a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What its answer is based on.
    pub source: AnswerSource,
    /// The axes between whose rows an answer lies; empty for other answers.
    pub axes: Vec<&'static str>,
    /// The duration of one call; of a call without an answer the prediction. `None` where nothing is known.
    pub duration_us: Option<f64>,
    /// The 90 % interval, where there is a prediction.
    pub interval_us: Option<[f64; 2]>,
    /// The kernels that the answer consists of, with their shares of the duration and what each is based on.
    pub kernels: Vec<(String, f64, AnswerSource)>,
    /// Why there is no answer, or what is missing in a partial one: the code, and words.
    pub reason: Option<(String, &'static str)>,
    /// The rows that the answer is based on.
    pub rows: Vec<RowRef>,
    /// The rules by which rows matched: of the answer, or of its parts.
    pub rules: Vec<&'static str>,
    /// Of a table that cannot be used and so gives no answer: the file and the reason.
    pub unreadable: Option<String>,
}

/// Queries two readers: the one of the lookup rules, and the one that predicts.
#[derive(Debug)]
pub(crate) struct Judge<'d> {
    database: &'d Database,
    reader: Reader,
    predicting: Reader,
}

/// The axis of collectives between sizes.
const MESSAGE: &str = "message_bytes";
/// The rule of rows that are found by attention fields.
const ATTENTION: &str = "attention";
/// Where an attention call has its lengths.
const LENGTHS: usize = 6;

impl<'d> Judge<'d> {
    pub(crate) fn of(database: &'d Database, semantics: ReaderSemantics) -> Self {
        let layer = Layer::Interpolating;
        Judge {
            database,
            reader: database.reader(semantics, layer),
            predicting: database.reader(ReaderSemantics::Best, layer),
        }
    }

    /// What the answer to a question is based on. `table` is the kernel type that is asked where nothing was found.
    pub(crate) fn finding(&self, query: &Query, table: Option<&str>) -> Finding {
        match self.reader.lookup(query) {
            Ok(answer) => self.of_answer(query, &answer),
            Err(miss) => self.of_miss(query, &miss, table),
        }
    }

    fn of_answer(&self, query: &Query, answer: &Answer) -> Finding {
        let source = self.source(query, answer);
        let interval_us = answer.interval_or(|| self.predicting.lookup(query).ok());
        let missed: Vec<String> = answer.missed_kernels().iter().map(|kernel| kernel.to_string()).collect();
        let mut kernels: Vec<_> = match answer.parts() {
            [] => answer
                .kernel_type()
                .map(|kernel| (kernel.into_owned(), answer.duration_us, source))
                .into_iter()
                .collect(),
            parts => parts
                .iter()
                .map(|part| {
                    let own = of_part(part.source, part.rule);
                    (part.kernel_type.to_string(), part.duration_us, own)
                })
                .collect(),
        };
        kernels.extend(missed.iter().map(|kernel| (kernel.clone(), 0.0, AnswerSource::Missing)));
        Finding {
            source,
            axes: if source == AnswerSource::Interpolated { axes_of(answer) } else { Vec::new() },
            duration_us: Some(answer.duration_us),
            interval_us: interval_us.filter(|_| source != AnswerSource::Free),
            kernels: if source == AnswerSource::Free { Vec::new() } else { kernels },
            reason: (!missed.is_empty()).then(|| (missed.join(","), "kernels of it have no answer")),
            rows: answer.rows.to_vec(),
            rules: match answer.parts() {
                [] => answer.rule.into_iter().collect(),
                parts => parts.iter().map(|part| part.rule).collect(),
            },
            unreadable: None,
        }
    }

    fn of_miss(&self, query: &Query, miss: &LookupError, table: Option<&str>) -> Finding {
        let predicted = self.predicting.lookup(query).ok().filter(|answer| answer.source != Source::Partial);
        let source = if predicted.is_some() { AnswerSource::Beyond } else { AnswerSource::Missing };
        let duration_us = predicted.as_ref().map(|answer| answer.duration_us);
        let kernel = predicted.as_ref().and_then(|answer| answer.kernel_type().map(|kernel| kernel.into_owned()));
        let kernel = kernel.or_else(|| table.map(str::to_owned));
        let interval_us = predicted.as_ref().and_then(Answer::prediction).map(|found| [found.low_us, found.high_us]);
        Finding {
            source,
            axes: Vec::new(),
            duration_us,
            interval_us,
            kernels: kernel.map(|kernel| (kernel, duration_us.unwrap_or(0.0), source)).into_iter().collect(),
            reason: Some((miss.reason.to_string(), self.meaning(miss, table))),
            rows: predicted.map(|answer| answer.rows.to_vec()).unwrap_or_default(),
            rules: Vec::new(),
            unreadable: miss.detail.clone().filter(|_| miss.is_unreadable()),
        }
    }

    /// Why there is no answer. The reason is that of the kernel type that was asked last: where it has no table, another one of the mapping may.
    fn meaning(&self, miss: &LookupError, table: Option<&str>) -> &'static str {
        let has_table = |table: &str| self.database.kernel_types().iter().any(|known| **known == *table);
        if miss.reason.code().ends_with("csv_not_found") && table.is_some_and(has_table) {
            "no row of its table fits, and its other kernel types have no table"
        } else {
            miss.reason.meaning()
        }
    }

    fn source(&self, query: &Query, answer: &Answer) -> AnswerSource {
        let is_free = answer.duration_us == 0.0 && answer.rows.is_empty() && answer.source == Source::Measured;
        if is_free {
            return AnswerSource::Free;
        }
        match answer.source {
            Source::Partial => AnswerSource::Partial,
            Source::Interpolated => match answer.prediction().map(|prediction| prediction.class) {
                Some(Class::Beyond | Class::NewConfiguration) => AnswerSource::Beyond,
                _ => AnswerSource::Interpolated,
            },
            Source::Padded => AnswerSource::Padded,
            Source::Measured if self.is_of_other_length(query, answer) => AnswerSource::Padded,
            Source::Measured => {
                let rules = answer.rule.into_iter().chain(answer.parts().iter().map(|part| part.rule));
                rules.map(|rule| of_part(Source::Measured, rule)).max().unwrap_or(AnswerSource::Exact)
            }
        }
    }

    /// Whether an attention row answers whose average length is not that of the call.
    fn is_of_other_length(&self, query: &Query, answer: &Answer) -> bool {
        let (Some(ATTENTION), [row]) = (answer.rule, answer.rows.as_slice()) else { return false };
        let lengths = query.positional().get(LENGTHS).and_then(|lengths| lengths.as_tensor()?.values.clone());
        let Some(lengths) = lengths.filter(|lengths| !lengths.is_empty()) else { return false };
        let mean = lengths.iter().sum::<i64>() / lengths.len() as i64;
        let kernel = answer.kernel_type().unwrap_or_default();
        let Ok(Some(rows)) = self.database.rows(&kernel) else { return false };
        let own = rows.iter().find(|own| own.line() == u64::from(row.line));
        own.and_then(|own| own.average_length()).is_some_and(|length| length != mean)
    }
}

fn of_part(source: Source, rule: &str) -> AnswerSource {
    match source {
        Source::Partial => AnswerSource::Partial,
        Source::Interpolated => AnswerSource::Interpolated,
        Source::Padded => AnswerSource::Padded,
        Source::Measured if rule.contains("padding") => AnswerSource::Padded,
        Source::Measured => AnswerSource::Exact,
    }
}

/// The axes of an answer between rows; of a sum those of its parts where they are reported.
fn axes_of(answer: &Answer) -> Vec<&'static str> {
    if let Some(between) = answer.interpolation() {
        return between.axes.to_vec();
    }
    let is_message = |rule: &str| rule == "comm";
    let parts = answer.parts().iter().filter(|part| part.source == Source::Interpolated);
    let mut axes: Vec<&'static str> = parts.filter(|part| is_message(part.rule)).map(|_| MESSAGE).collect();
    axes.extend(answer.rule.filter(|rule| is_message(rule)).map(|_| MESSAGE));
    axes.dedup();
    axes
}
