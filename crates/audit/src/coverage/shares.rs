//! Shares of calls and of time.

use crate::coverage::AnswerSource;

/// Calls and their time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// How many calls.
    pub calls: u64,
    /// How long they take together, where known.
    pub time_us: f64,
}

impl Share {
    pub(crate) fn add(&mut self, calls: u64, time_us: f64) {
        self.calls = self.calls.saturating_add(calls);
        self.time_us += time_us;
    }
}

/// Calls that cost something, by what their answers are based on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shares {
    own: [Share; 6],
    /// Calls without an answer of which nothing shows how long they take: they count among the calls only.
    pub without_time: u64,
}

impl Shares {
    /// Those of one source; nothing for calls that are free.
    pub fn of(&self, source: AnswerSource) -> Share {
        AnswerSource::ALL.iter().position(|one| *one == source).map(|at| self.own[at]).unwrap_or_default()
    }

    /// All of them.
    pub fn total(&self) -> Share {
        let mut total = Share::default();
        self.own.iter().for_each(|share| total.add(share.calls, share.time_us));
        total
    }

    /// Whether the time of any call is known.
    pub fn has_time(&self) -> bool {
        self.total().time_us > 0.0
    }

    /// Which part of the calls stands so, from 0 to 1; of no calls everything is exact.
    pub fn of_calls(&self, source: AnswerSource) -> f64 {
        part(self.of(source).calls as f64, self.total().calls as f64, source)
    }

    /// Which part of the known time stands so, from 0 to 1.
    pub fn of_time(&self, source: AnswerSource) -> f64 {
        part(self.of(source).time_us, self.total().time_us, source)
    }

    pub(crate) fn add(&mut self, source: AnswerSource, calls: u64, duration_us: Option<f64>) {
        let Some(at) = AnswerSource::ALL.iter().position(|one| *one == source) else { return };
        self.own[at].add(calls, calls as f64 * duration_us.unwrap_or(0.0));
        self.without_time += if duration_us.is_none() { calls } else { 0 };
    }
}

fn part(own: f64, total: f64, source: AnswerSource) -> f64 {
    if total > 0.0 {
        own / total
    } else if source == AnswerSource::Exact {
        1.0
    } else {
        0.0
    }
}
