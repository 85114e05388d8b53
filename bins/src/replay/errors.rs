//! The message of a run that failed: the library's text, with the options in it by their names.

use perfdb_replay::microbench::error::Error;
use perfdb_replay::settings::SettingsError;
use perfdb_store::Error as StoreError;
use perfdb_store::directory::{Device, Home};

use super::DispatchPrefixedArguments;
use crate::Failure;
use crate::failure::error_line;

/// How a run ends that an error has stopped: a signal has its own exit status.
pub fn stopped(error: impl Into<Error>) -> Failure {
    stopped_by(error.into(), "")
}

/// [`stopped`] for tools that have the options of DispatchFFNCombine under that operator's name.
pub fn stopped_run_of_all(error: impl Into<Error>) -> Failure {
    stopped_by(error.into(), DispatchPrefixedArguments::PREFIX)
}

fn stopped_by(error: Error, prefix: &str) -> Failure {
    if let Some(signal) = error.signal() {
        crate::print_error(&error.to_string());
        return Failure::Reported(u8::try_from(128 + signal).unwrap_or(1));
    }
    let line = error_line(&error);
    Failure::lines(vec![match &error {
        Error::Replay(perfdb_replay::error::Error::Settings(settings)) => with_option(settings, &line, prefix),
        Error::Combined { .. } => format!("{line}; --ops profiles operators one by one"),
        Error::Store(StoreError::ForeignTime { origin, .. }) => {
            let host = if origin == Device::HOST_CPU.name() { "--device HOST_CPU names a host's, " } else { "" };
            format!("{line}; {host}--allow-foreign-times takes it all the same")
        }
        Error::NoAccelerator => {
            format!("{line}; --backend native measures on the host, for a directory below HOST_CPU")
        }
        Error::ForeignTimes { backend, home, .. } => {
            let way_out = match (home, backend.is_host()) {
                (Home::Accelerator, _) => "give --device HOST_CPU, a directory of its own, or --allow-foreign-times",
                // Times of other devices are at home nowhere.
                (Home::Host, _) if backend.task_type() == "CUDA" => "--allow-foreign-times takes them all the same",
                (Home::Host, _) => "give the directory of an accelerator or --allow-foreign-times",
            };
            format!("{line}; {way_out}")
        }
        _ => line,
    }])
}

fn with_option(error: &SettingsError, line: &str, prefix: &str) -> String {
    let option = match error {
        SettingsError::NoTimedRuns => "--repeat-count",
        SettingsError::HostHasNoDevices(_) | SettingsError::NoDevice { .. } => "--devices",
        SettingsError::RunId(_) => "--run-id",
        SettingsError::MsprofWithoutNpu(_) => "--msprof",
        SettingsError::RankCount { .. } => {
            return format!("--{prefix}nproc-per-node times --{prefix}nnodes must be the EP size: {line}");
        }
        SettingsError::NoPort(_) => return format!("--{prefix}master-port: {line}"),
        SettingsError::NodeRank { .. } => return format!("--{prefix}node-rank: {line}"),
    };
    format!("{option}: {line}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_replay::backend::Backend;

    fn line(error: impl Into<Error>) -> String {
        match stopped_by(error.into(), "p-") {
            Failure::Lines(lines) => lines.join("\n"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_named_as_they_are_typed() {
        let settings = |error| line(perfdb_replay::error::Error::Settings(error));
        assert_eq!(
            settings(SettingsError::NoPort(2)),
            "--p-master-port: 2 nodes need the same port of node 0 on all of them"
        );
        assert_eq!(settings(SettingsError::NoTimedRuns), "--repeat-count: the number of timed runs must be at least 1");
        let foreign = |backend: Backend, home| line(Error::ForeignTimes { backend, origin: backend.task_type(), home });
        let host = foreign(Backend::TorchCuda, Home::Accelerator);
        assert!(host.contains("--device HOST_CPU") && host.contains("--allow-foreign-times"), "{host}");
        let host = foreign(Backend::TorchCuda, Home::Host);
        assert!(!host.contains("accelerator") && host.contains("--allow-foreign-times"), "{host}");
        let foreign = |origin: &str| {
            line(Error::Store(StoreError::ForeignTime {
                path: "op_summary.csv".into(),
                line: 7,
                origin: origin.to_owned(),
            }))
        };
        assert_eq!(
            foreign("HOST_CPU"),
            "op_summary.csv:7: this duration was measured on HOST_CPU, which is not the device of this directory; \
             --device HOST_CPU names a host's, --allow-foreign-times takes it all the same"
        );
        assert_eq!(
            foreign(""),
            "op_summary.csv:7: this duration was measured on an unknown origin, which is not the device of this directory; \
             --allow-foreign-times takes it all the same"
        );
        assert!(line(Error::NoAccelerator).starts_with("NPU not found; --backend native"));
    }
}
