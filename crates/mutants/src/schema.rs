//! A file with all its mutants in it, of which a variable chooses one.

use std::cmp::Reverse;
use std::ops::Range;

use crate::sites::{Change, Site};

/// What is put behind the root of the crate: a function that tells which mutant is active, and notes which sites a test comes to.
pub const ROOT: &str = r#"
#[doc(hidden)]
pub(crate) fn active_mutant(site: usize) -> usize {
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};
    static ACTIVE: LazyLock<usize> =
        LazyLock::new(|| std::env::var("ACTIVE_MUTANT").map_or(0, |number| number.parse().unwrap_or(0)));
    type Reached = Option<Mutex<(std::fs::File, std::collections::BTreeSet<usize>)>>;
    static REACHED: LazyLock<Reached> = LazyLock::new(|| {
        let file = std::fs::File::create(std::env::var_os("REACHED_MUTANTS")?).ok()?;
        Some(Mutex::new((file, std::collections::BTreeSet::new())))
    });
    if let Some(reached) = &*REACHED {
        let mut reached = reached.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if reached.1.insert(site) {
            let _ = writeln!(reached.0, "{site}");
        }
    }
    *ACTIVE
}
"#;

/// Asks which mutant is active. A site has the number of its first mutant.
fn active(site: &Site) -> String {
    format!("crate::active_mutant({})", site.number())
}

/// A file that is written anew.
#[derive(Debug, Default)]
pub struct Schema {
    pub text: String,
    /// Where in the text each mutant stands.
    pub mutants: Vec<(Range<usize>, usize)>,
    /// Where in the text each site stands, with its mutants: for errors that the compiler finds beside a mutant.
    pub sites: Vec<(Range<usize>, Vec<usize>)>,
}

impl Schema {
    /// Writes a file with these sites.
    pub fn of(text: &str, mut sites: Vec<Site>) -> Schema {
        // What is put in stands before what begins there, and what contains others before them.
        let outermost_first = |change: &Change| match change {
            Change::NeverGuarded => 0,
            Change::Guard => 1,
            _ => 2,
        };
        sites.sort_by_key(|site| {
            let range = &site.range;
            (range.start, !range.is_empty(), Reverse(range.end), outermost_first(&site.change))
        });
        let mut schema = Schema::default();
        schema.part(text, 0..text.len(), &sites);
        schema
    }

    fn part(&mut self, text: &str, range: Range<usize>, mut sites: &[Site]) {
        let mut at = range.start;
        while let Some((site, rest)) = sites.split_first() {
            self.text.push_str(&text[at..site.range.start]);
            let inner = rest.iter().take_while(|other| other.range.start < site.range.end).count();
            let start = self.text.len();
            self.site(text, site, &rest[..inner]);
            self.sites.push((start..self.text.len(), site.mutants.iter().map(|(number, _)| *number).collect()));
            at = site.range.end;
            sites = &rest[inner..];
        }
        self.text.push_str(&text[at..range.end]);
    }

    fn site(&mut self, text: &str, site: &Site, inner: &[Site]) {
        match &site.change {
            Change::Return => {
                let active = active(site);
                for (number, value) in &site.mutants {
                    self.mutant(*number, &format!("if {active} == {number} {{ return {value}; }} "));
                }
            }
            Change::Never => {
                let active = active(site);
                for (number, _) in &site.mutants {
                    self.mutant(*number, &format!(" if {active} != {number}"));
                }
            }
            Change::NeverGuarded => {
                let active = active(site);
                for (number, _) in &site.mutants {
                    self.mutant(*number, &format!("{active} != {number} && "));
                }
                self.text.push('(');
                self.part(text, site.range.clone(), inner);
                self.text.push(')');
            }
            _ => self.choice(text, site, inner),
        }
    }

    /// The usual way comes first, so that types are told by it and the compiler finds the mutant wrong.
    fn choice(&mut self, text: &str, site: &Site, inner: &[Site]) {
        let others: Vec<String> = site.mutants.iter().map(|(number, _)| format!("chosen_mutant != {number}")).collect();
        if let Change::Base { field, shorthand: true, .. } = &site.change {
            self.text.push_str(&format!("{field}: "));
        }
        self.text.push_str(&format!("(match {} {{ chosen_mutant if {} => (", active(site), others.join(" && ")));
        self.part(text, site.range.clone(), inner);
        self.text.push(')');
        for (position, (number, replacement)) in site.mutants.iter().enumerate() {
            let pattern = if position + 1 == site.mutants.len() { "_".to_owned() } else { number.to_string() };
            let value = match &site.change {
                Change::Operator { left, right } => {
                    format!("{} {replacement} {}", &text[left.clone()], &text[right.clone()])
                }
                Change::Operand(operand) => text[operand.clone()].to_owned(),
                Change::Base { field, base, .. } => format!("({}).{field}", &text[base.clone()]),
                Change::Guard | Change::Return | Change::Never | Change::NeverGuarded => replacement.clone(),
            };
            self.mutant(*number, &format!(", {pattern} => ({value})"));
        }
        self.text.push_str(" })");
    }

    fn mutant(&mut self, number: usize, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.mutants.push((start..self.text.len(), number));
    }

    /// The mutants that an error of the compiler at these bytes is about: the one that stands there, or all of the innermost site.
    pub fn blamed(&self, at: &Range<usize>) -> Vec<usize> {
        let covers = |range: &Range<usize>| range.start <= at.start && at.end <= range.end;
        let stands = self.mutants.iter().filter(|(range, _)| covers(range)).min_by_key(|(range, _)| range.len());
        let site = self.sites.iter().filter(|(range, _)| covers(range)).min_by_key(|(range, _)| range.len());
        stands.map(|(_, number)| vec![*number]).or_else(|| site.map(|(_, numbers)| numbers.clone())).unwrap_or_default()
    }
}
