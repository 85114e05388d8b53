//! Pools: groups whose numbers of calls differ and that stand for each other.

use super::call::TimeSource;
use super::contribution::{Cause, Contribution, Part, PoolDetail};
use super::family::{is_known, is_operator};
use super::group::Join;
use super::group::{Group, Groups};
use super::interval::together;
use super::quotient::within;
use super::work::WorkKey;
use super::{Splitter, contribution};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// One fused kernel stands for up to this many.
const FUSED_FACTOR: i128 = 4;

/// Calls of a composite operator and of its parts differ by at most this factor.
const COMPOSITE_FACTOR: i128 = 2;

/// The groups of each composite operator, and the kernel types it stands for.
type Operators = IndexMap<Box<str>, (Vec<usize>, BTreeSet<Box<str>>), FxBuildHasher>;

/// The groups with more calls than on the other side: predicted, and measured.
pub(super) struct Signs {
    pub(super) predicted: Vec<usize>,
    pub(super) measured: Vec<usize>,
}

impl Signs {
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.predicted.iter().chain(&self.measured).copied()
    }
}

impl Splitter<'_> {
    fn part(&self, at: usize) -> Part {
        let group = &self.groups.list[at];
        let excess = |one: i128, other: i128| self.calls((one - other).max(0));
        Part {
            kernel_type: group.kernel_type.to_string(),
            shape: group.shape.clone(),
            predicted_calls: excess(group.n1, group.n2),
            measured_calls: excess(group.n2, group.n1),
            difference_ps: group.count_ps,
        }
    }

    fn pool(&mut self, label: String, members: &[usize]) {
        let pool = self.pools.len();
        self.pools.push(label);
        members.iter().for_each(|&at| self.groups.list[at].pool = Some(pool));
    }

    fn push_pool(&mut self, cause: Cause, lead: usize, members: &[usize], detail: PoolDetail) {
        let difference_ps = members.iter().map(|&at| self.groups.list[at].count_ps).sum();
        let detail = contribution::Detail::Pool(detail);
        // Groups on both sides have calls beyond those that the contribution is about.
        let one_sided = members.iter().filter(|&&at| !self.groups.list[at].is_measured());
        let interval = together(one_sided.filter_map(|&at| self.intervals[at]));
        self.contributions.push(Contribution {
            difference_ps,
            interval,
            detail,
            ..contribution_of(cause, &self.groups.list[lead])
        });
    }

    /// Composite operators that were predicted with one duration, all their shapes together, against the kernels they stand for.
    pub(super) fn composites(&mut self) {
        let composite = |splitter: &Self, at: usize| {
            let group = &splitter.groups.list[at];
            let first = group.predicted.first.filter(|_| !group.is_measured())?;
            splitter.book.signatures[first as usize].prediction()?.composite.clone()
        };
        let mut operators = Operators::default();
        for at in 0..self.groups.list.len() {
            if let Some(kernel_types) = composite(self, at) {
                let operator = operators.entry(self.groups.list[at].kernel_type.clone()).or_default();
                operator.0.push(at);
                operator.1.extend(kernel_types);
            }
        }
        let time = |groups: &Groups, members: &[usize]| -> i128 {
            members.iter().map(|&at| groups.list[at].predicted_ps).sum()
        };
        let groups = &self.groups;
        operators
            .sort_by(|a, (one, _), b, (other, _)| time(groups, other).cmp(&time(groups, one)).then_with(|| a.cmp(b)));
        for (operator, (predicted, kernel_types)) in operators {
            let list = &self.groups.list;
            let mut calls: Vec<i128> = predicted.iter().map(|&at| list[at].n1).collect();
            calls.push(calls.iter().sum());
            let stands_for = |group: &Group| {
                group.is_measured()
                    && !group.is_predicted()
                    && group.pool.is_none()
                    && kernel_types.contains(&group.kernel_type)
                    && calls.iter().any(|&calls| within(group.n2, calls, COMPOSITE_FACTOR))
            };
            let measured: Vec<usize> = (0..list.len()).filter(|&at| stands_for(&list[at])).collect();
            let Some(&first) = predicted.first().filter(|_| !measured.is_empty()) else { continue };
            for &at in &measured {
                if predicted.iter().any(|&operator| self.names(operator, at)) {
                    self.groups.list[at].join = Join::Composite;
                }
            }
            let members: Vec<usize> = predicted.iter().chain(&measured).copied().collect();
            self.pool(format!("composite:{operator}"), &members);
            let detail = PoolDetail {
                parts: members.iter().map(|&at| self.part(at)).collect(),
                predicted_ps: time(&self.groups, &predicted),
                measured_ps: measured.iter().map(|&at| self.groups.list[at].measured_ps).sum(),
                closest: None,
            };
            let signature = self.groups.list[first].predicted.first.map(|first| &self.book.signatures[first as usize]);
            let source = signature.and_then(|signature| signature.prediction()).map(|prediction| prediction.source);
            let cause = if source == Some(TimeSource::Partial) { Cause::Partial } else { Cause::Analytic };
            self.push_pool(cause, first, &members, detail);
        }
    }

    /// Whether an event of a composite operator names a measured kernel, type and shape.
    fn names(&self, operator: usize, measured: usize) -> bool {
        let kernel = &self.groups.list[measured];
        let signatures = self.predicted_signatures.get(&operator);
        signatures.into_iter().flatten().any(|&signature| {
            let prediction = self.book.signatures[signature as usize].prediction();
            prediction.into_iter().flat_map(|prediction| &prediction.known_kernels).any(|(kernel_type, operands)| {
                let (Some(one), Some(other)) = (operands, &kernel.operands) else { return false };
                let product = one.gemm_key();
                *kernel_type == kernel.kernel_type && (one == other || product.is_some() && product == other.gemm_key())
            })
        })
    }

    /// Pools of groups with one key: some have more predicted calls, some more measured ones, and together about as many.
    pub(super) fn pools<K: Hash + Eq>(
        &mut self,
        cause: Cause,
        key: impl Fn(&Self, usize) -> Option<(K, String)>,
        rule: impl Fn(&Groups, &Signs) -> bool,
    ) {
        let mut pools: IndexMap<K, (String, Vec<usize>), FxBuildHasher> = IndexMap::default();
        for at in 0..self.groups.list.len() {
            let group = &self.groups.list[at];
            if group.pool.is_none()
                && group.count_ps != 0
                && let Some((key, label)) = key(self, at)
            {
                pools.entry(key).or_insert_with(|| (label, Vec::new())).1.push(at);
            }
        }
        for (_, (label, members)) in pools {
            let list = &self.groups.list;
            let with = |sign: fn(&Group) -> bool| members.iter().copied().filter(|&at| sign(&list[at])).collect();
            let signs =
                Signs { predicted: with(|group| group.n1 > group.n2), measured: with(|group| group.n2 > group.n1) };
            if signs.predicted.is_empty() || signs.measured.is_empty() || !rule(&self.groups, &signs) {
                continue;
            }
            if let Some(signs) = self.balanced(signs) {
                self.push_balanced(cause, label, &signs);
            }
        }
    }

    fn excess(&self, groups: &[usize]) -> i128 {
        groups.iter().map(|&at| self.groups.list[at].excess()).sum()
    }

    /// Without the smaller side of each type that is on both beyond the factor; `None` if what is left does not fit.
    fn balanced(&self, mut signs: Signs) -> Option<Signs> {
        let types = |groups: &[usize]| -> BTreeSet<&str> {
            groups.iter().map(|&at| self.groups.list[at].kernel_type.as_ref()).collect()
        };
        let of_type = |groups: &[usize], name: &str| -> Vec<usize> {
            groups.iter().copied().filter(|&at| self.groups.list[at].kernel_type.as_ref() == name).collect()
        };
        let (more, fewer) = (types(&signs.predicted), types(&signs.measured));
        for name in more.intersection(&fewer) {
            let predicted = self.excess(&of_type(&signs.predicted, name));
            let measured = self.excess(&of_type(&signs.measured, name));
            if !within(predicted, measured, FUSED_FACTOR) {
                let smaller = if predicted < measured { &mut signs.predicted } else { &mut signs.measured };
                smaller.retain(|&at| self.groups.list[at].kernel_type.as_ref() != *name);
            }
        }
        let fits = within(self.excess(&signs.predicted), self.excess(&signs.measured), FUSED_FACTOR);
        let all: Vec<usize> = signs.all().collect();
        (fits && types(&all).len() >= 2).then_some(signs)
    }

    fn push_balanced(&mut self, cause: Cause, label: String, signs: &Signs) {
        let members: Vec<usize> = signs.all().collect();
        self.pool(label, &members);
        let list = &self.groups.list;
        let order = |&at: &usize| {
            let group = &list[at];
            (-group.count_ps, &group.kernel_type, &group.shape)
        };
        let Some(lead) = signs.measured.iter().copied().max_by(|a, b| order(a).cmp(&order(b))) else { return };
        let unresolved = signs.predicted.iter().all(|&at| is_operator(&list[at].kernel_type));
        let sum = |groups: &[usize]| -> i128 { groups.iter().map(|&at| list[at].count_ps).sum() };
        let detail = PoolDetail {
            parts: members.iter().map(|&at| self.part(at)).collect(),
            predicted_ps: sum(&signs.predicted),
            measured_ps: -sum(&signs.measured),
            closest: None,
        };
        self.push_pool(if unresolved { Cause::Mapping } else { cause }, lead, &members, detail);
    }

    /// Groups of one known family and one work key.
    pub(super) fn other_kernels(&mut self) {
        let key = |splitter: &Self, at: usize| {
            let group = &splitter.groups.list[at];
            let key = (group.family.clone(), group.work);
            let label = || format!("other_kernel:{}:{}", group.family, group.work.text());
            (is_known(&group.family) && group.work != WorkKey::Unknown).then(|| (key, label()))
        };
        let rule = |groups: &Groups, signs: &Signs| signs.all().any(|at| !groups.list[at].is_on_both_sides());
        self.pools(Cause::OtherKernel, key, rule);
    }

    /// An operator without kernel, and the only kernel left of its family.
    pub(super) fn operators_without_kernel(&mut self) {
        let key = |splitter: &Self, at: usize| {
            let group = &splitter.groups.list[at];
            let candidate = !group.is_on_both_sides()
                && is_known(&group.family)
                && (group.is_measured() || is_operator(&group.kernel_type));
            candidate.then(|| (group.family.clone(), format!("mapping:family:{}", group.family)))
        };
        let rule = |groups: &Groups, signs: &Signs| match (signs.predicted.as_slice(), signs.measured.as_slice()) {
            ([one], [other]) => within(groups.list[*one].n1, groups.list[*other].n2, COMPOSITE_FACTOR),
            _ => false,
        };
        self.pools(Cause::Mapping, key, rule);
    }

    /// Groups of one type on both sides that did not meet.
    pub(super) fn shapes_apart(&mut self) {
        let mut types: BTreeMap<Box<str>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (at, group) in self.groups.list.iter().enumerate() {
            if group.pool.is_none() && !group.is_on_both_sides() {
                let (predicted, measured) = types.entry(group.kernel_type.clone()).or_default();
                if group.is_predicted() { predicted.push(at) } else { measured.push(at) }
            }
        }
        for (kernel_type, (predicted, measured)) in types {
            let list = &self.groups.list;
            let calls = |groups: &[usize]| -> i128 { groups.iter().map(|&at| list[at].excess()).sum() };
            if !within(calls(&predicted), calls(&measured), FUSED_FACTOR) {
                continue;
            }
            let largest = measured.iter().copied().max_by_key(|&at| (list[at].measured_ps, &list[at].shape));
            let Some(lead) = largest else { continue };
            let distance = |at: usize| match (&list[at].operands, &list[lead].operands) {
                (Some(one), Some(other)) => one.distance(other),
                _ => f64::INFINITY,
            };
            let nearest = predicted
                .iter()
                .copied()
                .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then_with(|| list[a].shape.cmp(&list[b].shape)));
            let detail = PoolDetail {
                parts: predicted.iter().chain(&measured).map(|&at| self.part(at)).collect(),
                predicted_ps: predicted.iter().map(|&at| list[at].predicted_ps).sum(),
                measured_ps: measured.iter().map(|&at| list[at].measured_ps).sum(),
                closest: nearest.map(|at| list[at].shape.clone()),
            };
            let members: Vec<usize> = predicted.into_iter().chain(measured).collect();
            self.pool(format!("shape:{kernel_type}"), &members);
            self.push_pool(Cause::Shape, lead, &members, detail);
        }
    }
}

/// A contribution of a group, still without its time and details.
pub(super) fn contribution_of(cause: Cause, group: &Group) -> Contribution {
    Contribution {
        cause,
        family: group.family.to_string(),
        kernel_type: group.kernel_type.to_string(),
        shape: group.shape.clone(),
        difference_ps: 0,
        interval: None,
        detail: contribution::Detail::Calls(contribution::Calls {
            predicted_calls: 0.0,
            measured_calls: 0.0,
            exact: (0, 0),
        }),
    }
}
