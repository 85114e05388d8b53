//! Classes under the default rules: the head of the name first, then all of it.

use std::sync::LazyLock;

use super::table::{FUNCTORS, GENERATED, HEAD, NATIVE, OPERATORS, RARE, Row, WHOLE};
use super::terms::{Subject, Terms, head};

/// A table with its rows taken apart, once for all names.
struct Table(LazyLock<Vec<(&'static str, Terms)>>);

static OF_HEAD: Table = Table(LazyLock::new(|| apart(HEAD)));
static OF_FUNCTORS: Table = Table(LazyLock::new(|| apart(FUNCTORS)));
static OF_WHOLE: Table = Table(LazyLock::new(|| apart(WHOLE)));
static OF_OPERATORS: Table = Table(LazyLock::new(|| apart(OPERATORS)));
static OF_RARE: Table = Table(LazyLock::new(|| apart(RARE)));

/// The class that a name stands for.
pub(super) fn classify(name: &str) -> Option<&'static str> {
    let head = head(name);
    let subject = Subject::new(&head);
    match OF_HEAD.first(&subject) {
        Some(GENERATED) => Some(OF_OPERATORS.first(&subject).unwrap_or("Triton Fused")),
        Some(NATIVE) => Some(OF_FUNCTORS.first(&Subject::new(name)).unwrap_or("Elementwise")),
        Some(class) => Some(class),
        None => OF_WHOLE.first(&Subject::new(name)),
    }
}

/// The class of a name that neither the tables nor the host operator know, if anyone does.
pub(super) fn classify_rare(name: &str) -> Option<&'static str> {
    OF_RARE.first(&Subject::new(name))
}

fn apart(rows: &'static [Row]) -> Vec<(&'static str, Terms)> {
    rows.iter().map(|(class, alternatives)| (*class, Terms::of(alternatives))).collect()
}

impl Table {
    fn first(&self, subject: &Subject<'_>) -> Option<&'static str> {
        self.0.iter().find(|(_, terms)| subject.matches(terms)).map(|(class, _)| *class)
    }
}

#[cfg(test)]
mod tests;
