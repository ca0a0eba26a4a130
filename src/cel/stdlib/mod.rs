//! The functions, one file a library. Each function is one row: see [`Function`].

mod conversions;
mod documents;
mod encoders;
mod format;
mod lists;
mod math;
mod network;
mod operators;
mod optionals;
mod paths;
pub(crate) mod pattern;
mod regex;
mod sets;
mod shell;
mod strings;
mod strings_ext;
mod times;
mod times_ext;
mod totals;
mod urls;
mod versions;

pub(crate) use paths::{GLOB, is_glob_match};
pub(crate) use pattern::{Extent, Pattern};
pub(crate) use totals::{SUM, SUMMAND_UNITS};

use super::fault::Fault;
use super::function::Function;
use super::meter::Meter;
use super::value::{Timestamp, Value};

/// The whole language: standard CEL and its extensions, which scopes of policies know.
pub static LANGUAGE: &[&[Function]] = &[
    operators::OPERATORS,
    conversions::CONVERSIONS,
    strings::STRINGS,
    times::TIMES,
    // the extensions
    strings_ext::STRINGS_EXT,
    math::MATH,
    lists::LISTS,
    totals::TOTALS,
    times_ext::TIMES_EXT,
    sets::SETS,
    optionals::OPTIONALS,
    encoders::ENCODERS,
    regex::REGEX,
    network::NETWORK,
    urls::URLS,
    paths::PATHS,
    versions::VERSIONS,
    shell::SHELL,
    documents::DOCUMENTS,
];

static PARTS: (&[&[Function]], &[&[Function]]) = LANGUAGE.split_at(4);

/// The libraries of standard CEL.
pub static STANDARD: &[&[Function]] = PARTS.0;

/// The libraries that extend it, as other implementations of CEL have them.
pub static EXTENSIONS: &[&[Function]] = PARTS.1;

/// All of them, each with a heading for people who look something up.
pub static LIBRARIES: &[(&str, &[Function])] = &[
    ("Operators", operators::OPERATORS),
    ("Conversions", conversions::CONVERSIONS),
    ("Strings", strings::STRINGS),
    ("Times", times::TIMES),
    ("Strings", strings_ext::STRINGS_EXT),
    ("Math", math::MATH),
    ("Lists", lists::LISTS),
    ("Totals of lists", totals::TOTALS),
    ("Times", times_ext::TIMES_EXT),
    ("Sets", sets::SETS),
    ("Optionals", optionals::OPTIONALS),
    ("Encoders", encoders::ENCODERS),
    ("Regular expressions", regex::REGEX),
    ("Networks", network::NETWORK),
    ("URLs", urls::URLS),
    ("Paths", paths::PATHS),
    ("Versions and quantities", versions::VERSIONS),
    ("Command lines", shell::SHELL),
    ("Documents", documents::DOCUMENTS),
];

/// An argument that a function takes together with constants behind it that are well-formed, for who asks whether they are; nothing
/// for functions whose constants may be anything.
pub(crate) fn sample<'a>(function: &str, constants: &[Value<'a>]) -> Option<Value<'a>> {
    Some(match function {
        "regex.extract" | "regex.extractAll" | "regex.replace" => Value::text(""),
        GLOB => Value::text("a"),
        // each folder is within itself
        "path.within" => constants.first()?.clone(),
        name if times::is_calendar(name) || times_ext::is_of_zone(name) => {
            Value::Timestamp(Timestamp::from_unix(0).ok()?)
        }
        _ => return None,
    })
}

/// The position of the pattern among the arguments of a function that takes one in RE2's syntax.
pub(crate) fn pattern_argument(function: &str) -> Option<usize> {
    matches!(function, "matches" | "regex.extract" | "regex.extractAll" | "regex.replace").then_some(1)
}

/// No overload takes these arguments.
fn no_overload<T>(args: &[&Value<'_>]) -> Result<T, Fault> {
    Err(Fault::no_overload(args.iter().map(|arg| arg.kind())))
}

/// Pays for a walk over every text among the arguments.
fn charge_texts(meter: &mut Meter<'_>, args: &[&Value<'_>]) -> Result<(), Fault> {
    let texts = args.iter().filter_map(|arg| arg.as_str()).map(str::len);
    texts.into_iter().try_for_each(|bytes| meter.charge_text(bytes))
}
