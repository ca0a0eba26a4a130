//! The library of paths: what is below what, and which paths a glob matches. Texts alone are looked at, never files.
//!
//! No other library of CEL has names for these. `path` is the namespace and not a receiver's method, except for `glob`, which stands
//! beside `matches`: a pattern and a text cannot be exchanged by mistake where one of them is the receiver.

use super::no_overload;
use super::pattern::{COMPILE_COST, Pattern};
use crate::fault::Fault;
use crate::formats::{check_clean, clean, glob_to_regex, within};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::Value;

/// The function whose constant pattern is compiled with the expression, as that of `matches` is.
pub(crate) const GLOB: &str = "glob";

pub(super) static PATHS: &[Function] = &[
    Function {
        name: "path.clean",
        doc: "a path without segments `.`, empty ones and slashes at its end; `..` is an error, for behind a symbolic link it leads \
              elsewhere, and so is what some program reads as `..`, as a drive or as a home folder",
        cost: "1, and two tenths of the length of the path",
        overloads: &[("path_clean_string", "path.clean(string) -> string")],
        examples: &[
            ("path.clean('/work//src/./main.rs/')", "'/work/src/main.rs'"),
            ("path.clean('./')", "'.'"),
            ("path.clean('src/../../etc')", "error: invalid_argument"),
            ("path.clean('src/%2e%2e/etc')", "error: invalid_argument"),
            ("path.clean('~/.ssh')", "error: invalid_argument"),
            (r"path.clean('src\\main.rs')", "error: invalid_argument"),
            ("path.clean('C:/src')", "error: invalid_argument"),
            ("path.clean('')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(path)] => {
                meter.charge_text(path.len())?;
                meter.charge_built(path.len())?;
                Ok(Value::owned_text(clean(path)?))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "path.within",
        doc: "whether a path is a folder, the second argument, or stands below it; both are read as `path.clean` does, and one that is \
              relative is in no relation to one that is absolute, which is an error",
        cost: "1, and a tenth of the lengths of the paths",
        overloads: &[("path_within_string_string", "path.within(string, string) -> bool")],
        examples: &[
            ("path.within('/work/src/main.rs', '/work')", "true"),
            ("path.within('/work', '/work/')", "true"),
            ("path.within('/workshop/a', '/work')", "false"),
            ("path.within('src/a', 'src')", "true"),
            ("path.within('/work/../etc/passwd', '/work')", "error: invalid_argument"),
            ("path.within('src/a', '/work')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(path), Value::String(root)] => {
                meter.charge_text(path.len())?;
                meter.charge_text(root.len())?;
                Ok(Value::Bool(within(path, root)?))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: GLOB,
        doc: "whether a path matches a pattern as a whole: `?` and `*` stand for what is no slash, `**` for any folders, and there are \
              `[a-z]`, `{a,b}` and a backslash in front of a sign; the path must be as `path.clean` gives it",
        cost: "1, two tenths of the length of the path, more for long patterns; for a pattern that is no constant 50 for each of its \
               bytes and of those of the regular expression that it becomes",
        overloads: &[("glob_string_string", "string.glob(string) -> bool")],
        examples: &[
            ("'src/cel/main.rs'.glob('src/**/*.rs')", "true"),
            ("'src/main.rs'.glob('src/**/*.rs')", "true"),
            ("'src/main.rs'.glob('*.rs')", "false"),
            ("'/work/.env'.glob('**/.env')", "true"),
            ("'src/a.ts'.glob('{src,lib}/*.{ts,js}')", "true"),
            ("'src/a'.glob('src/[!a-c]')", "false"),
            ("'mcp__github__create'.glob('mcp__github__*')", "true"),
            ("'src/../etc/passwd'.glob('src/**')", "error: invalid_argument"),
            ("'src/main.rs'.glob('src/**.rs')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(path), Value::String(glob)] => {
                meter.charge((glob.len() as u64).saturating_mul(COMPILE_COST))?;
                let pattern = Pattern::compile(meter, &glob_to_regex(glob)?)?;
                is_glob_match(meter, path, &pattern).map(Value::Bool)
            }
            _ => no_overload(args),
        }),
    },
];

/// Whether a path that is in its plain form matches a glob, paid for.
///
/// # Errors
/// `invalid_argument` for another path, `budget_exceeded`.
pub(crate) fn is_glob_match(meter: &mut Meter<'_>, path: &str, glob: &Pattern) -> Result<bool, Fault> {
    meter.charge_text(path.len())?;
    check_clean(path)?;
    glob.is_match(meter, path)
}
