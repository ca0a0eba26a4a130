//! What the command line says by itself; everything else is said by the library.

use std::io;
use std::path::Path;

pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read `{}`: {error}", path.display())
}

pub(crate) fn too_large(path: &Path, limit: usize) -> String {
    format!("`{}` is larger than {limit} bytes", path.display())
}

pub(crate) fn not_utf8(path: &Path) -> String {
    format!("`{}` is not UTF-8", path.display())
}

pub(crate) fn cannot_write(error: &io::Error) -> String {
    format!("cannot write the output: {error}")
}

pub(crate) fn unknown_function(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no function `{name}`; did you mean `{near}`?"),
        None => format!("there is no function `{name}`"),
    }
}

pub(crate) fn no_cases(filter: Option<&str>) -> String {
    match filter {
        Some(filter) => format!("no case has `{filter}` in its name"),
        None => "there is no case: a case has `name`, `manifest`, `call` and `expect`".to_owned(),
    }
}
