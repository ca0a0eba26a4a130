//! Manifests with something wrong, and what is said about it, word by word.
//!
//! Each `tests/data/manifest/<name>.yaml` (or a folder of them) is loaded; its findings, rendered, must be
//! `<name>.expected`. A first line such as `# limit max_yaml_nodes 20` sets a limit. Run with `UPDATE_EXPECT=1` to write what is said now, and read the difference before it goes in.

use celador::diagnostic::Diagnostic;
use celador::limits::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, load};
use celador::source::Source;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const DATA: &str = "tests/data/manifest";

fn corpus() -> Vec<PathBuf> {
    let mut paths = fs::read_dir(DATA).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    paths.retain(|path| path.extension().is_none_or(|end| end == "yaml"));
    paths.sort();
    paths
}

/// The limits of a file: the defaults, or one that its first line sets, as in `# limit max_yaml_nodes 20`.
fn limits(path: &Path) -> EngineLimits {
    let mut limits = EngineLimits::default();
    let bytes = if path.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let words = text.lines().next().unwrap_or_default().split(' ').collect::<Vec<_>>();
    if let ["#", "limit", name, value] = words[..] {
        let limit = match name {
            "max_manifest_bytes" => &mut limits.max_manifest_bytes,
            "max_yaml_nodes" => &mut limits.max_yaml_nodes,
            "max_bundle_documents" => &mut limits.max_bundle_documents,
            "max_document_bytes" => &mut limits.max_document_bytes,
            "max_schema_bytes" => &mut limits.max_schema_bytes,
            "max_rule_matches" => &mut limits.max_rule_matches,
            "max_depth" => &mut limits.eval.max_depth,
            _ => &mut limits.max_diagnostics,
        };
        *limit = value.parse().unwrap();
    }
    limits
}

fn findings(path: &Path) -> Vec<Diagnostic> {
    let limits = limits(path);
    let (files, mut findings) = load(&[path], &limits).unwrap();
    if !files.is_empty() {
        findings.extend(Catalog::parse(&files, &limits).1);
    }
    findings
}

/// What a reader sees, with the paths below the folder of the corpus.
fn render(findings: &[Diagnostic]) -> String {
    let mut text = String::new();
    for finding in findings {
        writeln!(text, "{}\nat `{}`\n", finding.render(false), finding.path).unwrap();
    }
    text.replace(&format!("{DATA}/"), "")
}

#[test]
fn findings_are_as_expected() {
    let mut wrong = Vec::new();
    let corpus = corpus();
    for path in &corpus {
        let said = render(&findings(path));
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{}\n{said}", path.display()));
        }
    }
    assert!(corpus.len() >= 50, "only {} files", corpus.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each message has a code of its own, and each code stands in the corpus.
#[test]
fn every_message_is_said_somewhere() {
    let mut source = String::new();
    for entry in fs::read_dir("src/engine/manifest/messages").unwrap() {
        source.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let functions = source.matches("\npub(in crate::manifest) fn ").count();
    let mut codes = BTreeSet::new();
    for call in ["Diagnostic::error(", "Diagnostic::warning("] {
        for rest in source.split(call).skip(1) {
            let rest = rest.trim_start();
            if let Some(code) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                assert!(codes.insert(code.to_owned()), "the code {code} stands twice");
            }
        }
    }
    codes.extend(["too_many_findings".to_owned()]);
    assert_eq!(codes.len(), functions);
    // said where a task brings its tools: `brought_tools.rs`
    assert!(codes.remove("nothing_brought"));
    // said at a time: `exceptions.rs`
    assert!(codes.remove("expired_exception"));
    let said = corpus().into_iter().flat_map(|path| findings(&path)).map(|finding| finding.code.to_owned());
    let said = said.collect::<BTreeSet<_>>();
    let unsaid = codes.difference(&said).collect::<Vec<_>>();
    assert!(unsaid.is_empty(), "no file of the corpus has {unsaid:?}");
}

/// Nothing that a message repeats may break its one line, and none ends like a sentence.
#[test]
fn messages_keep_to_the_style() {
    for finding in corpus().iter().flat_map(|path| findings(path)) {
        let message = &finding.message;
        assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        assert!(!message.starts_with(char::is_uppercase), "{message}");
    }
}

proptest! {
    /// However a manifest is damaged, it is read to its end and what is said of it can be shown.
    #[test]
    fn damaged_manifests_are_only_refused(
        file in 0_usize..1_000,
        at in 0_usize..3_000,
        cut in 0_usize..40,
        put in r#"[-:{}\[\],'"|>&*!~ \na0\té😀]{0,5}"#,
    ) {
        let paths = corpus().into_iter().filter(|path| path.is_file()).collect::<Vec<_>>();
        let bytes = fs::read(&paths[file % paths.len()]).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let characters = text.chars().collect::<Vec<_>>();
        let start = at % (characters.len() + 1);
        let end = (start + cut).min(characters.len());
        let mut text = characters[..start].iter().collect::<String>();
        text.push_str(&put);
        text.extend(&characters[end..]);
        let source = Source::new("damaged.yaml", text);
        let files = [File { source, origin: FileOrigin::Named }];
        for finding in Catalog::parse(&files, &EngineLimits::default()).1 {
            prop_assert!(!finding.render(false).is_empty());
        }
    }
}
