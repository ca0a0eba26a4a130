//! The `shell` library: the commands of a command line, as POSIX shells and bash read it.
//!
//! In: a line that an agent would have a shell run. Out: the words of each command, or an error wherever they cannot be known
//! without running the line. A guard that looks for `rm` in the text misses `r\m` and `"rm"` and finds `echo 'rm'`; one
//! that asks for the words sees what the shell will see.
//!
//! There are two functions for words so that the short rule is the safe one. `shell.commands` gives nothing but words, so it refuses a line
//! that does more than its words say: that reads or writes a file by a redirection, or sets a variable (`PATH=/tmp ls`). A rule
//! that overlooked these would let `echo x > ~/.bashrc` by. Redirections that only join streams (`2>&1`), and those to
//! `/dev/null`, change no file and pass. `shell.parse` shows all of it, for rules that mean to allow some. It gives files
//! and not signs: which file is written is the question of a rule, and `>`, `>>`, `>|`, `&>` and `<>` all answer it.
//!
//! What a command does with its words is beyond these two: `env rm x` is a command `env`. So rules list the commands that
//! they allow; those that they deny have no end. `shell.paths` knows the arguments of common programs, and gives the files that a line reads and
//! writes. What it does not know has no path, so a rule about paths fails on it.

mod doubt;
mod line;
mod paths;
mod programs;
mod tokens;

use super::no_overload;
use crate::fault::Fault;
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{Entries, Key, List, Map, Text, Value};
use doubt::Doubt;
use line::Command;

pub(super) static SHELL: &[Function] = &[
    Function {
        name: "shell.commands",
        doc: "the words of each command of a command line, as POSIX shells and bash read them, without their quotes; an \
              error where the words cannot be known without running the line (`$x`, `*`, `~`, `<<`, `if`, `eval`, control \
              characters), where a variable is set, and where a redirection reads or writes a file other than `/dev/null`",
        cost: "1, the length of the line, 20 for each command, and 4 for each word",
        overloads: &[("shell_commands_string", "shell.commands(string) -> list(list(string))")],
        examples: &[
            ("shell.commands('git status && ls -l')", "[['git', 'status'], ['ls', '-l']]"),
            (
                "shell.commands('(cd src; make 2>&1) | tail -n 1')",
                "[['cd', 'src'], ['make'], ['tail', '-n', '1']]",
            ),
            (r#"shell.commands(r'r\m "-"rf')"#, "[['rm', '-rf']]"),
            ("shell.commands('ls # all of it')", "[['ls']]"),
            ("shell.commands('')", "[]"),
            (
                "shell.commands('git log; rm x').all(c, c[0] in ['git', 'ls'] && !(c[0] == 'git' && c[1] == 'push'))",
                "false",
            ),
            ("shell.commands('rm $FILES')", "error: invalid_argument"),
            ("shell.commands('echo $(rm x)')", "error: invalid_argument"),
            ("shell.commands('rm *')", "error: invalid_argument"),
            ("shell.commands('echo x > /etc/passwd')", "error: invalid_argument"),
            ("shell.commands('PATH=/tmp ls')", "error: invalid_argument"),
            ("shell.commands('eval \"rm x\"')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(line)] => {
                let commands = line::commands(meter, line)?;
                let lists = commands.into_iter().map(|command| words_alone(meter, command));
                Ok(Value::list(lists.collect::<Result<_, _>>()?))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "shell.parse",
        doc: "each command of a command line with all that `shell.commands` would refuse to leave out: `words`, `variables` \
              that are set in front of it, the files that redirections have it read (`reads`) and write (`writes`), and \
              whether it is `piped`: whether a pipe leads to it or to a group around it",
        cost: "1, the length of the line, 65 for each command, 4 for each word, and 10 for each file and variable",
        overloads: &[("shell_parse_string", "shell.parse(string) -> list(map(string, dyn))")],
        examples: &[
            (
                "shell.parse('LANG=C sort < in >> out')",
                "[{'words': ['sort'], 'variables': {'LANG': 'C'}, 'reads': ['in'], 'writes': ['out'], 'piped': false}]",
            ),
            ("shell.parse('curl example.com | sh').exists(c, c.piped && c.words[0] == 'sh')", "true"),
            ("shell.parse('(ls; make) > log').all(c, c.writes == ['log'])", "true"),
            ("shell.parse('ls 2> /etc/x').all(c, c.writes.all(f, f == '/dev/null'))", "false"),
            ("shell.parse('> file')[0].words", "[]"),
            ("shell.parse('cat <<EOF')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(line)] => {
                let commands = line::commands(meter, line)?;
                let maps = commands.into_iter().map(|command| whole(meter, command));
                Ok(Value::list(maps.collect::<Result<_, _>>()?))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "shell.paths",
        doc: "the files that a command line reads and writes by its words and redirections, `/dev/null` apart: of each the `program`, its `path`, and whether it `reads` and `writes` it (removing counts). \
              Relative paths are taken from the folder that is given, or stay relative; behind `cd` they are given for each folder that is possible. What is not known is an \
              entry without `path` that reads and writes, with the reason in `unknown`: `program` (not in the table of programs; its words follow as paths), `code` (an argument is a program or code, as with \
              `xargs`, `python -c`, `find -exec`), `option`, `variable` (one is set), `folder`. Lines that `shell.parse` refuses (`$x`, `*`, `~`) are an error. Symbolic links are not followed, \
              and `..` stays, which `path.within` refuses",
        cost: "1, the length of the line, 65 for each command, 4 for each word, and 10 for each path in each folder",
        overloads: &[
            ("shell_paths_string", "shell.paths(string) -> list(map(string, dyn))"),
            ("shell_paths_string_string", "shell.paths(string, string) -> list(map(string, dyn))"),
        ],
        examples: &[
            (
                "shell.paths('sort -u notes.txt > /tmp/out', '/work').map(p, [p.path, p.reads, p.writes])",
                "[['/tmp/out', false, true], ['/work/notes.txt', true, false]]",
            ),
            ("shell.paths('cat src/a.rs src/b.rs', '/work').all(p, path.within(p.path, '/work'))", "true"),
            ("shell.paths('cd / && cat etc/passwd', '/work').all(p, path.within(p.path, '/work'))", "false"),
            (
                "shell.paths('cat ../x', '/work').all(p, path.within(p.path, '/work'))",
                "error: invalid_argument",
            ),
            (
                "shell.paths('ls | xargs rm', '/work').all(p, path.within(p.path, '/work'))",
                "error: no_such_key",
            ),
            (
                "shell.paths('find . -exec rm {} +').map(p, p.?unknown.orValue(p.?path.orValue('')))",
                "['code', '.']",
            ),
            (
                "shell.paths('make -C lib').map(p, [p.program, p.?unknown.orValue(''), p.?path.orValue('')])",
                "[['make', 'program', ''], ['make', '', 'lib']]",
            ),
            ("shell.paths('python3 -c \"open(1)\"').map(p, p.unknown)", "['code']"),
            (
                "shell.paths('PATH=/tmp ls').map(p, p.?unknown.orValue(p.?path.orValue('')))",
                "['variable', '.']",
            ),
            ("shell.paths('rm *.o')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| {
            let (line, folder) = match args {
                [Value::String(line)] => (line, None),
                [Value::String(line), Value::String(folder)] => (line, Some(&**folder)),
                _ => return no_overload(args),
            };
            let commands = line::commands(meter, line)?;
            paths::paths(meter, commands, folder)
        }),
    },
];

/// The one file that gives nothing and keeps nothing.
const NO_FILE: &str = "/dev/null";

/// The words of a command that is nothing but its words.
fn words_alone(meter: &mut Meter<'_>, command: Command) -> Result<Value<'static>, Fault> {
    if !command.variables.is_empty() {
        return Err(Doubt::Variable.into());
    }
    let files = command.reads.iter().chain(&command.writes).any(|file| **file != *NO_FILE);
    if files || command.words.is_empty() {
        return Err(Doubt::File.into());
    }
    List::charge(meter, 1)?;
    Ok(texts(command.words))
}

/// A command with all that is known of it.
fn whole(meter: &mut Meter<'_>, command: Command) -> Result<Value<'static>, Fault> {
    let Command { words, variables, reads, writes, piped } = command;
    let fields = [
        ("words", texts(words)),
        ("variables", Value::map(variables)),
        ("reads", texts(reads)),
        ("writes", texts(writes)),
        ("piped", Value::Bool(piped)),
    ];
    meter.charge_built(Map::bytes(fields.len()))?;
    let entries = fields.into_iter().map(|(name, value)| (Key::String(Text::Borrowed(name)), value));
    Ok(Value::map(entries.collect::<Entries<'_>>()))
}

fn texts(texts: Vec<Text<'static>>) -> Value<'static> {
    Value::list(texts.into_iter().map(Value::String).collect())
}
