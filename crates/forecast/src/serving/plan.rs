//! Deployments of a model, named by the files that describe them.

use super::{Against, Architecture, Calibration, Forecasted, Sweep, Tables};
use crate::Error;
use std::path::{Path, PathBuf};

/// The file that describes a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Described {
    /// A `config.json`, or the folder with one.
    Config(PathBuf),
    /// YAML that lists layers and operators.
    Layers(PathBuf),
}

impl Described {
    pub fn path(&self) -> &Path {
        let (Described::Config(path) | Described::Layers(path)) = self;
        path
    }

    fn read(&self) -> Result<Architecture, Error> {
        match self {
            Described::Config(path) => Architecture::read(path),
            Described::Layers(path) => Architecture::read_layers(path),
        }
    }
}

/// Deployments to forecast, and the files that this takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub model: Described,
    /// Tables `SYSTEM/FRAMEWORK/VERSION`.
    pub database: PathBuf,
    /// Constants of frameworks; `None` for the built-in ones.
    pub calibration: Option<PathBuf>,
    /// Times from elsewhere.
    pub against: Option<PathBuf>,
    /// The deployments.
    pub sweep: Sweep,
}

/// The forecasts of a plan.
#[derive(Debug)]
pub struct Planned {
    pub model: Architecture,
    /// The tables that answered.
    pub tables: Tables,
    /// Times from elsewhere.
    pub against: Option<Against>,
    /// Each deployment with its forecast, or the reason why there is none.
    pub found: Vec<Forecasted>,
}

impl Plan {
    /// The constants of frameworks.
    ///
    /// # Errors
    /// A file that is not a calibration.
    pub fn calibration(file: Option<&Path>) -> Result<Calibration, Error> {
        file.map_or_else(Calibration::built_in, Calibration::read)
    }

    /// Forecasts all deployments.
    ///
    /// # Errors
    /// A file that cannot be read, devices that cannot be spread so, times from elsewhere that are of no deployment, or the reason why
    /// the only deployment cannot be forecast.
    pub fn forecast(&self) -> Result<Planned, Error> {
        let calibration = Plan::calibration(self.calibration.as_deref())?;
        let model = self.model.read()?;
        let mut tables = Tables::open(&self.database)?;
        let read = |file: &PathBuf| Against::read(file, &model, self.model.path(), &tables);
        let against = self.against.as_ref().map(read).transpose()?;
        let mut found = self.sweep.forecast(&model, &mut tables, &calibration)?;
        let is_alone = found.len() == 1;
        if let Some((_, Err(error))) = found.pop_if(|(_, forecast)| is_alone && forecast.is_err()) {
            return Err(error);
        }
        if let Some(against) = &against
            && !found.iter().any(|(request, _)| against.of(request).is_some())
        {
            let reason =
                "has no row with these sizes: tp, dp, pp, ep, batch, input and output must be equal".to_owned();
            return Err(Error::Malformed { path: against.name.clone().into(), reason });
        }
        Ok(Planned { model, tables, against, found })
    }
}
