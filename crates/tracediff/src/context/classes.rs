//! The class of every kernel, found once per distinct name (and per host operator where the name is generic).

use rustc_hash::FxHashMap;

use super::calls::Calls;
use super::operators::KernelOperator;
use crate::classify::{COMMUNICATION, Operation, Registry, classify_by_host, classify_name, collective_by_host};
use crate::columns::{Columns, Kernel};
use crate::device::Platform;
use crate::names::{NameId, Names};
use crate::rows::KernelRows;
use crate::rules::Rules;
use perfdb_trace::profile::Mark;

/// The classes of a trace.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Per kernel, its number in `groups`.
    pub(crate) of_kernels: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// Names of the classes.
    pub(crate) operations: Vec<String>,
    /// Labels of groups; only the legacy rules have some.
    pub(crate) labels: Vec<String>,
}

/// Kernels of one name and one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: NameId,
    /// Number in `operations`.
    pub(crate) operation: u32,
    /// Number in `labels`.
    pub(crate) label: u32,
}

/// What follows from a kernel name alone.
#[derive(Clone, Copy)]
enum ByName {
    NotAsked,
    Group(u32),
    AskHost,
}

/// What decides about classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classifier<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) rules: Rules,
    pub(crate) platform: Platform,
    /// Where the profile may give classes.
    pub(crate) given: &'a Columns,
}

/// Finds the class of every kernel. A name has one class: where it is generic, the operator decides that launches it most
/// often, the smallest text on ties.
pub(crate) fn find(
    kernels: &KernelRows,
    operators: &[KernelOperator],
    names: &Names,
    classifier: Classifier<'_>,
) -> Classes {
    let mut found = find_by_name(kernels, operators, names, classifier);
    if classifier.given.written_by.is_some() {
        found.take_given(kernels, names, classifier);
    }
    found
}

fn find_by_name(
    kernels: &KernelRows,
    operators: &[KernelOperator],
    names: &Names,
    classifier: Classifier<'_>,
) -> Classes {
    let Classifier { registry, rules, platform, .. } = classifier;
    let mut tables = Tables::default();
    let mut by_name = vec![ByName::NotAsked; names.len()];
    let mut unknown: FxHashMap<NameId, FxHashMap<NameId, u64>> = FxHashMap::default();
    for (at, kernel) in kernels.iter().enumerate() {
        let known = &mut by_name[kernel.name as usize];
        if matches!(known, ByName::NotAsked) {
            let text = names.get(kernel.name);
            let class = registry.classify(text, platform).or_else(|| classify_name(text, platform, rules));
            *known = class.map_or(ByName::AskHost, |class| ByName::Group(tables.group(kernel.name, &class)));
        }
        if matches!(known, ByName::AskHost) {
            let hosts = unknown.entry(kernel.name).or_default();
            let operator = KernelOperator::of(operators, at);
            if operator.has_host_operator {
                *hosts.entry(operator.operator).or_default() += 1;
            }
        }
    }
    let mut undecided: Vec<(NameId, FxHashMap<NameId, u64>)> = unknown.into_iter().collect();
    undecided.sort_unstable_by_key(|(name, _)| *name);
    for (name, hosts) in undecided {
        let most = hosts
            .into_iter()
            .max_by(|(a, first), (b, second)| first.cmp(second).then_with(|| names.get(*b).cmp(names.get(*a))));
        let host = most.map(|(host, _)| names.get(host));
        by_name[name as usize] = ByName::Group(tables.group(name, &classify_by_host(names.get(name), host)));
    }
    let group_of = |kernel: Kernel| match by_name[kernel.name as usize] {
        ByName::Group(group) => group,
        // Every kernel was asked about.
        ByName::NotAsked | ByName::AskHost => 0,
    };
    let of_kernels = kernels.iter().map(group_of).collect();
    Classes { of_kernels, groups: tables.groups, operations: tables.operations.texts, labels: tables.labels.texts }
}

impl Classes {
    /// Classes that the profile itself knows; patterns of the user count before them.
    fn take_given(&mut self, kernels: &KernelRows, names: &Names, classifier: Classifier<'_>) {
        let Classifier { registry, platform, given, .. } = classifier;
        let mut groups: FxHashMap<(NameId, Mark), Option<u32>> = FxHashMap::default();
        for (at, kernel) in kernels.iter().enumerate() {
            let mark = given.mark_of(kernel);
            let group = *groups.entry((kernel.name, mark)).or_insert_with(|| {
                let name = names.get(kernel.name);
                let class = given.written_by?.class_of(mark, name)?;
                if registry.classify(name, platform).is_some() {
                    return None;
                }
                let label = self.groups[self.of_kernels[at] as usize].label;
                let operation = self.operation_number(class);
                self.groups.push(Group { name: kernel.name, operation, label });
                Some(self.groups.len() as u32 - 1)
            });
            if let Some(group) = group {
                self.of_kernels[at] = group;
            }
        }
    }

    /// Tells the kinds of collectives whose names do not.
    pub(crate) fn tell_collectives(&mut self, operators: &[KernelOperator], calls: &Calls, names: &Names) {
        let mut told: FxHashMap<(NameId, &'static str), u32> = FxHashMap::default();
        for (at, kind) in self.kinds_of_collectives(operators, calls, names) {
            let group = self.groups[self.of_kernels[at as usize] as usize];
            let known = told.get(&(group.name, kind)).copied();
            self.of_kernels[at as usize] = known.unwrap_or_else(|| {
                let operation = self.operation_number(kind);
                self.groups.push(Group { operation, ..group });
                let number = self.groups.len() as u32 - 1;
                told.insert((group.name, kind), number);
                number
            });
        }
    }

    /// Kernels that a library runs for any collective, with the kind of the one that was called for, else that of the operator that
    /// launched them.
    pub(crate) fn kinds_of_collectives(
        &self,
        operators: &[KernelOperator],
        calls: &Calls,
        names: &Names,
    ) -> Vec<(u32, &'static str)> {
        let Some(generic) = self.operations.iter().position(|operation| operation == COMMUNICATION) else {
            return Vec::new();
        };
        let kind = |at: usize| {
            let (group, operator) = (self.groups[self.of_kernels[at] as usize], KernelOperator::of(operators, at));
            if group.operation as usize != generic {
                return None;
            }
            let of_call = calls.of(at).and_then(|call| {
                let shape = &calls.shapes[calls.shape_of[call as usize] as usize];
                collective_by_host(&shape.name)
            });
            let of_operator =
                || operator.has_host_operator.then(|| collective_by_host(names.get(operator.operator)))?;
            Some((at as u32, of_call.or_else(of_operator)?))
        };
        (0..self.of_kernels.len()).filter_map(kind).collect()
    }

    fn operation_number(&mut self, name: &str) -> u32 {
        let known = self.operations.iter().position(|operation| operation == name);
        known.unwrap_or_else(|| {
            self.operations.push(name.to_owned());
            self.operations.len() - 1
        }) as u32
    }
}

#[derive(Default)]
struct Tables {
    groups: Vec<Group>,
    numbers: FxHashMap<(NameId, u32), u32>,
    operations: Texts,
    labels: Texts,
}

impl Tables {
    fn group(&mut self, name: NameId, class: &Operation) -> u32 {
        let operation = self.operations.number(&class.name);
        let label = self.labels.number(&class.label);
        let next = self.groups.len() as u32;
        let number = *self.numbers.entry((name, operation)).or_insert(next);
        if number == next {
            self.groups.push(Group { name, operation, label });
        }
        number
    }
}

#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
