//! Paths and globs: what is read of each, globs held to git's own `wildmatch` and to the crate `globset`.
//!
//! The corpora are `tests/data/formats/globs.txt` and `paths.txt`. git is asked through attributes: each pattern gives one, and git lists
//! those of every path, all in one process.

use crate::check_rows::hold;
use celador::cel::{
    Activation, EXTENSIONS, Env, EnvBuilder, ErrorCode, Program, STANDARD, Stop, Type, Value,
};
use globset::GlobBuilder;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let scope = Env::builder().variable("text", Type::String).variable("other", Type::String);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

/// What an expression gives of one or two texts, or the words of its error.
fn run(expression: &str, text: &str, other: &str) -> Result<Value<'static>, String> {
    let program = Program::compile(&SCOPE, expression).unwrap();
    let activation = Activation::new(&SCOPE).with(&SCOPE, "text", Value::text(text)).with(
        &SCOPE,
        "other",
        Value::text(other),
    );
    match program.run(&activation, None) {
        Ok(value) => Ok(value.to_static().unwrap()),
        Err(Stop::Failed(error)) if error.code == ErrorCode::InvalidArgument => {
            Err(format!("refused: {}", error.detail.unwrap_or("without words")))
        }
        other => panic!("{expression} of {text}: {other:?}"),
    }
}

/// A text as an expression writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Whether a path matches, asked with a pattern that is computed and with one that is constant, which must not differ.
fn matches(glob: &str, path: &str) -> Result<bool, String> {
    let computed = run("text.glob(other)", path, glob);
    let constant = run(&format!("text.glob({})", quoted(glob)), path, "");
    assert_eq!(format!("{computed:?}"), format!("{constant:?}"), "{glob} of {path}");
    computed.map(|value| value.is_truthy())
}

#[test]
fn globs_match_or_are_refused_for_a_reason() {
    hold("formats/globs.txt", 173, |row| {
        let (glob, path) = row.split_once("  ").unwrap();
        matches(glob, path)
            .map_or_else(|refused| refused, |matches| if matches { "yes" } else { "no" }.to_owned())
    });
}

#[test]
fn paths_are_cleaned_or_refused_for_a_reason() {
    hold("formats/paths.txt", 65, |path| {
        let cleaned = run("path.clean(text)", path, "");
        let within = run("path.within(text, text)", path, "");
        assert_eq!(cleaned.is_ok(), within.is_ok(), "{path}");
        match cleaned {
            Ok(clean) => {
                let clean = clean.as_str().unwrap().to_owned();
                // a plain form is one, and matches what matches everything
                assert_eq!(run("path.clean(text)", &clean, "").unwrap().as_str(), Some(&*clean));
                assert!(within.unwrap().is_truthy());
                assert_eq!(matches("**", &clean), Ok(true));
                format!("{clean:?}")
            }
            Err(refused) => refused,
        }
    });
}

/// Plain paths of a few names, so that patterns meet them.
fn paths() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&["a", "b", "ab", ".a", "a.b", "c-d", "5", "A", "é", "[", "a*"][..]);
    (any::<bool>(), prop::collection::vec(name, 1..5))
        .prop_map(|(root, names)| format!("{}{}", if root { "/" } else { "" }, names.join("/")))
}

/// Patterns of the signs that have a meaning.
fn globs(braces: bool) -> impl Strategy<Value = String> {
    let signs = [
        "a", "b", ".", "/", "/", "*", "?", "**/", "/**", "/**/", "[ab]", "[!a]", "[^.]", "[a-c]", "[5-9]",
        "[[]", "\\*", "é", "c-d", "A", "5",
    ];
    let own = ["{a,b}", "{a/b,*}", "{,a}", "{[ab],?/}", "{a,{b,**/c}}"];
    let all: Vec<&str> = signs.into_iter().chain(own.into_iter().filter(|_| braces)).collect();
    prop::collection::vec(prop::sample::select(all), 1..6).prop_map(|signs| signs.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn globs_are_those_of_globset(glob in globs(true), paths in prop::collection::vec(paths(), 1..6)) {
        for path in paths {
            let Ok(own) = matches(&glob, &path) else { continue };
            // it goes byte by byte, and has a slash in what is not of a class
            if !path.is_ascii() && glob.contains(['?', '[']) || path.contains('/') && (glob.contains("[!") || glob.contains("[^")) {
                continue;
            }
            let theirs = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
            let theirs = theirs.map_err(|error| TestCaseError::fail(format!("{glob}: {error}")))?;
            prop_assert_eq!(own, theirs.compile_matcher().is_match(&path), "{} of {}", glob, path);
        }
    }

    /// What is below a folder is what its segments begin with.
    #[test]
    fn within_is_by_segments(path in paths(), root in paths(), slashes in "/{0,2}") {
        let found = run("path.within(text, other)", &path, &format!("{root}{slashes}"));
        if path.starts_with('/') != root.starts_with('/') {
            prop_assert!(found.is_err());
        } else {
            let segments = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(found.unwrap().is_truthy(), segments(&path).starts_with(&segments(&root)));
        }
    }

    /// Whatever is taken holds nothing that leads elsewhere, however it is decoded, and is as the system reads it.
    #[test]
    fn what_is_cleaned_stays_where_it_is(pieces in prop::collection::vec(prop::sample::select(
        &["a", "b", ".", "..", "/", "/", "\\", "%2e", "%2f", "%", "25", "2e", "~", "C:", "\u{200b}", "．", " ", "\0", "…", "%c0%ae"][..],
    ), 0..9)) {
        let path = pieces.concat();
        if let Ok(clean) = run("path.clean(text)", &path, "") {
            let clean = clean.as_str().unwrap();
            let mut decoded = clean.to_owned();
            for _ in 0..3 {
                let lower = decoded.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\").replace("%25", "%");
                let folded = lower.replace('．', ".").replace('…', "...").replace('\u{200b}', "");
                prop_assert!(!folded.split(['/', '\\']).any(|segment| segment.trim() == ".."), "{:?}", path);
                prop_assert_eq!(decoded.matches('/').count(), clean.matches('/').count());
                decoded = folded;
            }
            let theirs: std::path::PathBuf = std::path::Path::new(&path).components().collect();
            let theirs = theirs.strip_prefix(".").unwrap_or(&theirs);
            prop_assert_eq!(if clean == "." { "" } else { clean }, theirs.to_str().unwrap());
        }
    }
}

/// What git finds of patterns and paths: the pairs that match.
fn git(globs: &[String], paths: &[String]) -> Option<BTreeSet<(usize, usize)>> {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .current_dir(folder.path())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    };
    if !git(&["init", "-q"]).status().ok()?.success() {
        return None;
    }
    let mut attributes = String::new();
    for (number, glob) in globs.iter().enumerate() {
        // a slash in front means that the pattern is of the whole path
        writeln!(attributes, "/{glob} glob{number}").unwrap();
    }
    std::fs::write(folder.path().join(".gitattributes"), attributes).unwrap();
    let mut child = git(&["check-attr", "--stdin", "-z", "-a"]).spawn().ok()?;
    let mut input = child.stdin.take().unwrap();
    let all = paths.join("\0");
    let writer = std::thread::spawn(move || input.write_all(all.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    let place = |path: &str| paths.iter().position(|it| it == path).unwrap();
    let number = |attribute: &str| attribute.strip_prefix("glob").and_then(|number| number.parse().ok());
    Some(fields.chunks(3).filter_map(|row| Some((number(row[1])?, place(row[0])))).collect())
}

#[test]
fn globs_are_those_of_git() {
    let mut runner = TestRunner::deterministic();
    let mut some = |strategy: BoxedStrategy<String>, count: usize| {
        let made: BTreeSet<String> =
            (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
        made.into_iter().collect::<Vec<_>>()
    };
    // git knows paths below the repository alone, and has no braces
    let paths: Vec<String> =
        some(paths().boxed(), 300).into_iter().filter(|path| !path.starts_with('/')).collect();
    let globs = some(globs(false).boxed(), 3_000);
    let taken = |glob: &String| !glob.starts_with('/') && matches(glob, "a").is_ok();
    let mut globs: Vec<String> = globs.into_iter().filter(taken).collect();
    for row in
        std::fs::read_to_string(crate::suites::root().join("tests/data/formats/globs.txt")).unwrap().lines()
    {
        let Some((glob, _)) = row.strip_prefix("> ").and_then(|row| row.split_once("  ")) else { continue };
        let plain = !glob.contains(['{', '/']) && glob.is_ascii();
        globs.extend(Some(glob.to_owned()).filter(|glob| plain && taken(glob)));
    }
    let Some(theirs) = git(&globs, &paths) else {
        println!("globs: skipped, git is not here");
        return;
    };
    let mut wrong = Vec::new();
    for (number, glob) in globs.iter().enumerate() {
        let program = Program::compile(&SCOPE, &format!("text.glob({})", quoted(glob))).unwrap();
        for (place, path) in paths.iter().enumerate() {
            let activation = Activation::new(&SCOPE).with(&SCOPE, "text", Value::text(path));
            let own = program.holds(&activation, None).unwrap();
            // git goes byte by byte
            let bytes = !path.is_ascii() && glob.contains(['?', '[']);
            if own != theirs.contains(&(number, place)) && !bytes {
                wrong.push(format!("{glob} of {path}: {own}"));
            }
        }
    }
    assert!(
        globs.len() > 500 && paths.len() > 50 && theirs.len() > 1_000,
        "{} {} {}",
        globs.len(),
        paths.len(),
        theirs.len()
    );
    assert!(wrong.is_empty(), "{} differ, such as\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
