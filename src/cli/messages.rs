//! What the command line says by itself; everything else is said by the library.

use std::io;

pub(crate) fn cannot_write(error: &io::Error) -> String {
    format!("cannot write the output: {error}")
}

pub(crate) fn unknown_function(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no function `{name}`; did you mean `{near}`?"),
        None => format!("there is no function `{name}`"),
    }
}
