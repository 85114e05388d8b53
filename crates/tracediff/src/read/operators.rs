//! Operators of the host, and the calls of which a formula says what they must do.

use super::taken::TakenEvent;
use super::{COLLECTIVE, DIMS, ELEMENTS_IN, ELEMENTS_OUT, MESSAGE_TYPE, RANKS, TYPES, VALUES, Wanted, name};
use crate::columns::{CallArguments, Columns, HostOperator, OperatorCall};
use crate::names::{NO_NAME, NameId};
use perfdb_model::workload::Call;
use perfdb_trace::chrome::Event;
use perfdb_trace::scan::Value;

/// The operator that says what a collective sends.
const COMMUNICATION: &str = "record_param_comms";

impl Columns {
    pub(super) fn take_operator(
        &mut self,
        taken: &mut TakenEvent<'_, '_>,
        has_formula: &mut Vec<Option<bool>>,
        wanted: Wanted,
    ) {
        let external = self.external(taken, wanted);
        let name = taken.name(|event| name(&mut self.names, event));
        if name == NO_NAME {
            return;
        }
        let has_formula = wanted.findings && self.has_formula(name, has_formula);
        let start = taken.start();
        let is_shaped = wanted.shaped && start.is_some();
        if !has_formula && !is_shaped && !external.is_there() {
            return;
        }
        let (start, duration) = (start.unwrap_or(HostOperator::NEVER), taken.duration().unwrap_or(0).max(0));
        let duration = i64::try_from(duration).unwrap_or(i64::MAX);
        let thread = self.thread(taken);
        let mut list = |place, wanted| if wanted { self.list(taken.event, place) } else { None };
        let (dims, types) = (list(DIMS, is_shaped || has_formula), list(TYPES, is_shaped || has_formula));
        if is_shaped || external.is_there() {
            let shown = |list: Option<NameId>| list.filter(|_| is_shaped).unwrap_or(NO_NAME);
            let (dims, types, duration) = (shown(dims), shown(types), duration.into());
            self.operators.push(HostOperator { external, name, thread, start, duration, dims, types });
        }
        if has_formula && let Some(arguments) = self.call_arguments(taken.event, dims, types) {
            self.calls.push(OperatorCall { external, name, thread, start, duration, arguments });
        }
    }

    /// Whether a formula says what an operator must do, by the number of its name; asked once per name.
    fn has_formula(&self, name: NameId, known: &mut Vec<Option<bool>>) -> bool {
        let at = name as usize;
        if at >= known.len() {
            known.resize(at + 1, None);
        }
        *known[at].get_or_insert_with(|| {
            let text = self.names.get(name);
            text == COMMUNICATION || Call::is_known(text)
        })
    }

    fn call_arguments(
        &mut self,
        event: &Event<'_>,
        dims: Option<NameId>,
        types: Option<NameId>,
    ) -> Option<CallArguments> {
        if let Some(Value::Text(collective)) = event.arg(COLLECTIVE) {
            let number = |at| event.number_arg(at).and_then(|number| number.to_i64()?.try_into().ok());
            let element_type = event.arg(MESSAGE_TYPE)?.as_text()?;
            return Some(CallArguments::Message {
                collective: self.arguments.source(collective.raw(), || collective.decode_lossy()),
                element_type: self.arguments.source(element_type.raw(), || element_type.decode_lossy()),
                elements_in: number(ELEMENTS_IN)?,
                elements_out: number(ELEMENTS_OUT)?,
                ranks: number(RANKS)?.try_into().ok()?,
            });
        }
        let (dims, types) = (dims?, types?);
        Some(CallArguments::Lists { dims, types, values: self.list(event, VALUES).unwrap_or(NO_NAME) })
    }

    fn list(&mut self, event: &Event<'_>, at: usize) -> Option<NameId> {
        let Some(Value::List(list)) = event.arg(at) else { return None };
        Some(self.arguments.source(list.text(), || String::from_utf8_lossy(list.text())))
    }
}
