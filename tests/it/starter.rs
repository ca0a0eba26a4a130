//! `celador init`: what it writes passes, and what is there already stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this name that is not there.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn celador(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_celador")).args(arguments).arg(folder).output().unwrap()
}

#[test]
fn what_init_writes_is_clean_and_passes() {
    let folder = fresh("starter");
    assert_eq!(celador(&["init"], &folder).status.code(), Some(0));
    let checked = celador(&["check", "--strict"], &folder);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    let tested = celador(&["test"], &folder);
    let report = String::from_utf8_lossy(&tested.stdout).into_owned();
    assert_eq!(tested.status.code(), Some(0), "{report}");
    assert!(report.contains("4 passed, 0 failed"), "{report}");
}

/// The paths of all files below a folder, with their texts.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).collect()
    };
    let all = files(folder).into_iter().chain(files(&folder.join("cases")));
    all.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn each_policy_of_the_library_can_be_copied_and_is_clean_and_passes() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/library");
    let mut names: Vec<String> = fs::read_dir(&library)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no policy is in {}", library.display());
    for name in &names {
        let folder = fresh(&format!("policy-{name}"));
        let made = celador(&["init", "--policy", name], &folder);
        assert_eq!(made.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&made.stderr));
        // the list in the program is that of the folder
        assert_eq!(texts(&folder), texts(&library.join(name)), "{name}");
        let checked = celador(&["check", "--strict"], &folder);
        assert_eq!(checked.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&checked.stdout));
        let tested = celador(&["test"], &folder);
        assert_eq!(tested.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&tested.stdout));
    }
    let unknown = celador(&["init", "--policy", "spendings"], &fresh("policy-unknown"));
    assert_eq!(unknown.status.code(), Some(1));
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    for name in names {
        assert!(said.contains(&name), "{name} in {said}");
    }
}

#[test]
fn init_overwrites_nothing_and_does_nothing_by_halves() {
    let folder = fresh("starter-taken");
    fs::create_dir_all(folder.join("cases")).unwrap();
    let taken = folder.join("cases/card-is-hidden.yaml");
    fs::write(&taken, "mine").unwrap();
    let refused = celador(&["init"], &folder);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("card-is-hidden.yaml` is there already, so nothing was written"), "{said}");
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
    assert!(!folder.join("agent.yaml").exists() && !folder.join("tools").exists());

    // where a folder has to be there is a file: what was written before it is taken away
    let folder = fresh("starter-blocked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("cases"), "mine").unwrap();
    assert_eq!(celador(&["init"], &folder).status.code(), Some(1));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["cases"]);
}

#[test]
fn an_agent_of_given_tools_is_clean_and_passes() {
    let tools = r#"[
        {"name": "read-file", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "write", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
        {"name": "add", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false}},
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"x": {"type": "strin"}}}}
    ]"#;
    let safe = r#"[{"name": "read-file", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]"#;
    let lists = [
        ("a-list", tools.to_owned(), 1),
        ("of-tools", format!("{{\"tools\": {tools}}}"), 1),
        ("an-answer", format!("{{\"jsonrpc\": \"2.0\", \"id\": 2, \"result\": {{\"tools\": {tools}}}}}"), 1),
        ("safe", format!("{{\"tools\": {safe}, \"nextCursor\": null}}"), 0),
    ];
    for (name, list, reviews) in lists {
        let folder = fresh(&format!("starter-{name}"));
        let file = fresh(&format!("starter-{name}.json"));
        let _ = fs::remove_file(&file);
        fs::write(&file, list).unwrap();
        let made = celador(&["init", "--from-tools", file.to_str().unwrap()], &folder);
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert_eq!(made.status.code(), Some(0), "{said}");
        assert_eq!(
            said.contains("`odd` is left out: inputSchema.properties.x.type: "),
            reviews == 1,
            "{said}"
        );
        let checked = celador(&["check", "--strict"], &folder);
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
        let tested = celador(&["test"], &folder);
        assert!(String::from_utf8_lossy(&tested.stdout).contains("1 passed, 0 failed"));
        let agent = fs::read_to_string(folder.join("agent.yaml")).unwrap();
        assert_eq!(agent.matches("assert: review(context.user.id)").count(), reviews, "{agent}");
        // a tool that loses its rule is denied
        let without: String = agent
            .lines()
            .filter(|line| !line.contains("read-file"))
            .map(|line| format!("{line}\n"))
            .collect();
        let without = if reviews == 0 { without.replace("before:", "before: []") } else { without };
        fs::write(folder.join("agent.yaml"), without).unwrap();
        let checked = celador(&["check", "--strict"], &folder);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(said.contains("denied by default, as no rule mentions it: read_file"), "{said}");
    }
}

#[test]
fn what_import_writes_is_clean_and_overwrites_nothing() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cli/files/import");
    let (api, server) = (data.join("shop-api.yaml"), data.join("server.sh"));
    let sources: [(&str, Vec<&str>); 3] = [
        ("openapi", vec![api.to_str().unwrap()]),
        ("openapi", vec!["--results", api.to_str().unwrap()]),
        ("mcp", vec!["--", "sh", server.to_str().unwrap()]),
    ];
    for (at, (source, rest)) in sources.iter().enumerate() {
        let file = fresh(&format!("imported-{at}")).with_extension("yaml");
        let _ = fs::remove_file(&file);
        let import = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
            command.args(["import", source, "--output"]).arg(&file).args(rest).output().unwrap()
        };
        assert_eq!(import().status.code(), Some(0));
        // what others wrote may have words that nobody enforces, of which a check tells
        let checked = celador(&["check"], &file);
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
        let written = fs::read_to_string(&file).unwrap();
        let again = import();
        assert_eq!(again.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&again.stderr).contains("is there already, so nothing was written"));
        assert_eq!(fs::read_to_string(&file).unwrap(), written);
    }
}
