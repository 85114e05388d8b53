//! The engine behind the class tables: rows of conditions on a kernel name, first match wins.

use std::borrow::Cow;

use super::operation::Operation;
use crate::device::Platform;

/// A kernel name as the conditions see it.
pub(crate) struct Subject<'a> {
    /// The name as it stands in the trace.
    pub(crate) name: &'a str,
    /// The name in lower case.
    pub(crate) lower: String,
    /// Vendor of the trace (legacy rules only ask it).
    pub(crate) platform: Platform,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(name: &'a str, platform: Platform) -> Self {
        Subject { name, lower: name.to_lowercase(), platform }
    }

    /// The first 40 characters of the name.
    pub(crate) fn start(&self) -> String {
        self.name.chars().take(40).collect()
    }
}

/// A condition on a kernel name.
pub(crate) enum Test {
    /// True for every name.
    Always,
    /// The lower-cased name contains one of these.
    Any(&'static [&'static str]),
    /// The lower-cased name contains all of these.
    All(&'static [&'static str]),
    /// The name as it stands contains one of these.
    ExactAny(&'static [&'static str]),
    /// The name as it stands starts with one of these.
    ExactStarts(&'static [&'static str]),
    /// The trace is of this vendor.
    Vendor(Platform),
    /// Every one of these holds.
    Both(&'static [Test]),
    /// One of these holds.
    Either(&'static [Test]),
}

impl Test {
    pub(crate) fn holds(&self, subject: &Subject<'_>) -> bool {
        let lower = subject.lower.as_str();
        match self {
            Test::Always => true,
            Test::Any(words) => words.iter().any(|word| lower.contains(word)),
            Test::All(words) => words.iter().all(|word| lower.contains(word)),
            Test::ExactAny(words) => words.iter().any(|word| subject.name.contains(word)),
            Test::ExactStarts(words) => words.iter().any(|word| subject.name.starts_with(word)),
            Test::Vendor(platform) => subject.platform == *platform,
            Test::Both(tests) => tests.iter().all(|test| test.holds(subject)),
            Test::Either(tests) => tests.iter().any(|test| test.holds(subject)),
        }
    }
}

/// Label of a legacy row.
pub(crate) enum Label {
    /// No label: the default rules show the kernel with most time.
    None,
    /// A fixed text.
    Text(&'static str),
    /// One text per vendor.
    Vendor(&'static str, &'static str),
    /// The first 40 characters of the name.
    Start,
}

impl Label {
    fn of(&self, subject: &Subject<'_>) -> Cow<'static, str> {
        match self {
            Label::None => Cow::Borrowed(""),
            Label::Text(text) => Cow::Borrowed(text),
            Label::Vendor(amd, nvidia) => Cow::Borrowed(if subject.platform == Platform::Amd { amd } else { nvidia }),
            Label::Start => Cow::Owned(subject.start()),
        }
    }
}

/// What a matching row stands for.
pub(crate) enum Then {
    /// The class is known.
    Class(&'static str, Label),
    /// These rows decide; without a match the search goes on behind the group.
    Rows(&'static [Row]),
}

/// One row of a class table.
pub(crate) struct Row {
    /// Condition.
    pub(crate) when: Test,
    /// Result.
    pub(crate) then: Then,
}

/// A row without a label.
pub(crate) const fn class(operation: &'static str, when: Test) -> Row {
    Row { when, then: Then::Class(operation, Label::None) }
}

/// A row with a label.
pub(crate) const fn labelled(operation: &'static str, label: Label, when: Test) -> Row {
    Row { when, then: Then::Class(operation, label) }
}

/// A row that opens a group.
pub(crate) const fn group(when: Test, rows: &'static [Row]) -> Row {
    Row { when, then: Then::Rows(rows) }
}

/// The first row that holds.
pub(crate) fn first_match(rows: &'static [Row], subject: &Subject<'_>) -> Option<Operation> {
    rows.iter().filter(|row| row.when.holds(subject)).find_map(|row| match &row.then {
        Then::Class(operation, label) => Some(Operation { name: Cow::Borrowed(operation), label: label.of(subject) }),
        Then::Rows(rows) => first_match(rows, subject),
    })
}
