//! The class of every kernel, found once per distinct name (and per host operator where the name says nothing).

use rustc_hash::FxHashMap;

use crate::classify::{Operation, Registry, classify_by_host, classify_name};
use crate::names::{NO_NAME, NameId};
use crate::trace::{Group, Trace};

/// What a kernel name alone tells.
#[derive(Clone, Copy)]
enum ByName {
    NotAsked,
    Group(u32),
    AskHost,
}

/// Fills in groups, and the operations and labels they name.
pub(crate) fn place(trace: &mut Trace, registry: &Registry) {
    let mut tables = Tables::default();
    let mut by_name = vec![ByName::NotAsked; trace.names.len()];
    let mut by_host: FxHashMap<(NameId, NameId), u32> = FxHashMap::default();
    for (kernel, place) in trace.kernels.iter().zip(&mut trace.places) {
        let name = kernel.name;
        let known = &mut by_name[name as usize];
        if matches!(known, ByName::NotAsked) {
            let text = trace.names.get(name);
            let class =
                registry.classify(text, trace.platform).or_else(|| classify_name(text, trace.platform, &trace.rules));
            *known = class.map_or(ByName::AskHost, |class| ByName::Group(tables.group(name, &class)));
        }
        place.group = match *known {
            ByName::Group(group) => group,
            ByName::NotAsked | ByName::AskHost => {
                let host = if place.has_host_operator { place.operator } else { NO_NAME };
                *by_host.entry((name, host)).or_insert_with(|| {
                    let host = (host != NO_NAME).then(|| trace.names.get(host));
                    tables.group(name, &classify_by_host(trace.names.get(name), host))
                })
            }
        };
    }
    trace.groups = tables.groups;
    trace.operations = tables.operations.texts;
    trace.labels = tables.labels.texts;
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
