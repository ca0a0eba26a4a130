//! What commands share that answer other programs: their log, their settings out of the environment, and how a service says that it cannot
//! begin.
//!
//! In: arguments. Out: values that servers and gateways take, or a [`Failure`] that has been told.

use super::files::read_text;
use super::{ExitCode, Failure, Format, Screen};
use celador_server::{LogFormat, ServeError, Telemetry};
use std::path::Path;

/// The longest file with a secret: a token, or headers.
pub(super) const MAX_SECRET_BYTES: usize = 65_536;

/// A variable of the environment, if it says something.
pub(super) fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A token for a server: that of a file, or of `CELADOR_TOKEN`.
///
/// # Errors
/// Those of the file.
pub(super) fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    match file {
        Some(file) => Ok(Some(read_text(file, MAX_SECRET_BYTES)?.trim().to_owned())),
        None => Ok(from_environment("CELADOR_TOKEN")),
    }
}

/// Reads `NAMESPACE/NAME`.
///
/// # Errors
/// What was expected.
pub(super) fn namespaced(text: &str) -> Result<(String, String), &'static str> {
    let (namespace, name) =
        text.split_once('/').ok_or("expected a namespace and a name with a slash between")?;
    Ok((namespace.to_owned(), name.to_owned()))
}

/// What is logged, and how: by the filter of the argument, of `CELADOR_LOG`, or by this one.
pub(super) fn telemetry(filter: Option<&str>, or: &str, screen: &Screen) -> Telemetry {
    let format = match screen.format() {
        Format::Human => LogFormat::Human,
        Format::Json => LogFormat::Json,
    };
    let filter = filter.map(str::to_owned).or_else(|| from_environment("CELADOR_LOG"));
    Telemetry {
        format,
        filter: filter.unwrap_or_else(|| or.to_owned()),
        #[cfg(feature = "otel")]
        collector: None,
    }
}

/// Says why a service does not begin. Findings in manifests are told here, each with its place.
pub(super) fn refused(error: &ServeError, screen: &mut Screen) -> Failure {
    match error {
        ServeError::Invalid(findings) => {
            screen.complain(findings);
            Failure::Told(ExitCode::Invalid)
        }
        error => Failure::Unusable(error.to_string()),
    }
}
