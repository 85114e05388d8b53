//! All that a database states about what it is of.

use crate::op_mapping::OpMapping;
use crate::provenance::{Difference, Error, Identity, Record};
use std::path::Path;

/// All that a database states about what it is of. People write the names in `op_mapping.yaml` as they like, so they are compared among
/// themselves alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statement {
    /// By its record, else by its path.
    pub named: Identity,
    /// By its operator mapping.
    pub mapping: Identity,
    /// The day of the collection, by the operator mapping.
    pub collection_date: Option<String>,
    /// `database.toml`, where there is one.
    pub record: Option<Record>,
}

impl Statement {
    /// Reads what a database with this operator mapping states.
    ///
    /// # Errors
    /// When there is a `database.toml` that cannot be read.
    pub fn of(directory: &Path, mapping: &OpMapping) -> Result<Statement, Error> {
        let record = Record::load(directory)?;
        let recorded = record.as_ref().map(Record::identity).unwrap_or_default();
        Ok(Statement {
            named: recorded.or(Identity::of_path(directory)),
            collection_date: mapping.collection_date.clone(),
            mapping: Identity::of_mapping(mapping),
            record,
        })
    }

    /// What it is of, where anything tells.
    pub fn identity(&self) -> Identity {
        self.named.clone().or(self.mapping.clone())
    }

    /// What two databases are known to be of and is not the same.
    pub fn differences(&self, other: &Statement) -> Vec<Difference> {
        let mut found = self.named.differences(&other.named);
        let is_known = |what: &str| {
            let known =
                |identity: &Identity| identity.parts().iter().any(|(name, text)| *name == what && text.is_some());
            known(&self.named) && known(&other.named)
        };
        found.extend(self.mapping.differences(&other.mapping).into_iter().filter(|one| !is_known(one.what)));
        found
    }

    /// When the durations of a kernel type were measured: by the record, else by the day of the collection.
    pub fn date_of(&self, kernel_type: &str) -> Option<&str> {
        let recorded = self.record.as_ref().and_then(|record| record.date_of(kernel_type));
        recorded.or(self.collection_date.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_mappings_are_compared_among_themselves() {
        let of = |device: &str| Identity { device: Some(device.to_owned()), ..Identity::default() };
        let first = Statement { named: of("TEST_DEVICE"), mapping: of("a device"), ..Statement::default() };
        let second = Statement { named: of("TEST_DEVICE"), mapping: of("the same device"), ..Statement::default() };
        assert_eq!(first.differences(&second), []);
        let unnamed = Statement { named: Identity::default(), ..second };
        assert_eq!(first.differences(&unnamed).len(), 1);
    }
}
