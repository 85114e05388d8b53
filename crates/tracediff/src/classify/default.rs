//! Classes under the default rules: the head of the name first, then all of it.

use super::table::{FUNCTORS, GENERATED, HEAD, NATIVE, OPERATORS, RARE, Row, WHOLE};
use super::terms::{Subject, head};

/// The class that a name stands for.
pub(super) fn classify(name: &str) -> Option<&'static str> {
    let head = head(name);
    let subject = Subject::new(&head);
    match first(HEAD, &subject) {
        Some(GENERATED) => Some(first(OPERATORS, &subject).unwrap_or("Triton Fused")),
        Some(NATIVE) => Some(first(FUNCTORS, &Subject::new(name)).unwrap_or("Elementwise")),
        Some(class) => Some(class),
        None => first(WHOLE, &Subject::new(name)),
    }
}

/// The class of a name that neither the tables nor the host operator know, if anyone does.
pub(super) fn classify_rare(name: &str) -> Option<&'static str> {
    first(RARE, &Subject::new(name))
}

fn first(rows: &[Row], subject: &Subject<'_>) -> Option<&'static str> {
    rows.iter().find(|(_, alternatives)| subject.matches(alternatives)).map(|(class, _)| *class)
}

#[cfg(test)]
mod tests;
