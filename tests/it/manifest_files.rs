//! Files of manifests that change under a server: a set is served whole or not at all, and a signal has it looked at.

use crate::live_tasks::{before, begin, manifest, refresh};
use crate::serving::{Serving, agent};
use celador_store::Location;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn sums(folder: &Path, names: &[&str]) -> String {
    let row = |name: &&str| {
        let digest: String = Sha256::digest(fs::read(folder.join(name)).unwrap())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{digest}  {name}\n")
    };
    names.iter().map(row).collect()
}

/// With a list of digests a set is served whole or not at all, however long its publisher pauses.
#[test]
fn a_list_of_digests_holds_a_set_together() {
    let policies = tempfile::tempdir().unwrap();
    let (file, list) = (policies.path().join("a.yaml"), policies.path().join("SHA256SUMS"));
    fs::write(&file, manifest(10)).unwrap();
    fs::write(&list, sums(policies.path(), &["a.yaml"])).unwrap();
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = vec![policies.path().to_owned()];
        settings.manifest_digests = Some(list.clone());
    });
    let served = || {
        refresh(&serving);
        let task = begin(&serving);
        before(&serving, &task, 15)["verdict"] == "allow"
    };
    assert!(!served());
    // the first half is valid on its own, and lacks the rule
    let whole = manifest(20);
    let half = whole.find("capabilities:").unwrap();
    fs::write(&file, &whole[..half]).unwrap();
    for _ in 0..3 {
        assert!(!served(), "half a manifest");
    }
    let ready = serving.get("/readyz").json();
    assert_eq!(
        (ready["stale"].clone(), ready["reasons"][0]["code"].clone()),
        (json!(true), json!("manifests-refused"))
    );
    let reload = serving.send("POST", "/v1/manifests/reload", &[], b"");
    assert_eq!(reload.status, 422);
    assert!(reload.text().contains("another digest"), "{}", reload.text());
    fs::write(&file, &whole).unwrap();
    assert!(!served(), "the list is still the old one");
    fs::write(&list, sums(policies.path(), &["a.yaml"])).unwrap();
    assert!(served());
    assert_eq!(serving.get("/readyz").json()["reasons"], json!([]));
    // a file that nobody has listed, a listed one that is gone, a list that is none
    fs::write(policies.path().join("b.yaml"), "kind: other/v1\n").unwrap();
    let problem = || {
        refresh(&serving);
        serving.get("/v1/manifests").json()["problem"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert!(problem().contains("does not list"), "{}", problem());
    fs::write(&list, sums(policies.path(), &["a.yaml", "b.yaml"])).unwrap();
    assert_eq!(problem(), "");
    fs::remove_file(policies.path().join("b.yaml")).unwrap();
    assert!(problem().contains("lists `b.yaml`"), "{}", problem());
    fs::write(&list, "nonsense\n").unwrap();
    assert!(problem().contains("line 1 is not one of `sha256sum`"), "{}", problem());
}

/// SIGHUP has a process load its manifests anew, although it never looks at them by itself. It says so in its log.
#[test]
fn sighup_loads_the_manifests_anew() {
    const WAIT: Duration = Duration::from_secs(60);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, manifest(10)).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_celador"))
        .args(["serve", "--listen", "127.0.0.1:0", "--watch", "0", "--store", "memory", "--format", "json"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (tell, told) = mpsc::channel();
    let errors = BufReader::new(process.stderr.take().unwrap());
    let reading =
        std::thread::spawn(move || errors.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    let digest = || -> Value {
        let mut response = agent().get(format!("http://{address}/v1/manifests")).call().unwrap();
        serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
    };
    let hang_up = || {
        assert!(Command::new("kill").args(["-HUP", &process.id().to_string()]).status().unwrap().success())
    };
    let says = |wanted: &str| {
        let begun = Instant::now();
        while begun.elapsed() < WAIT {
            let Ok(line) = told.recv_timeout(WAIT) else { break };
            if line.contains(wanted) {
                return line;
            }
        }
        panic!("the log does not say `{wanted}`");
    };
    // as soon as it has said where it is, no signal ends it that has another meaning
    hang_up();
    says("manifests were loaded anew");
    let first = digest();
    fs::write(&file, manifest(20)).unwrap();
    assert_eq!(digest(), first, "nobody has looked");
    hang_up();
    let line = says("manifests were loaded anew");
    let second = digest();
    assert_ne!(second["serving"]["digest"], first["serving"]["digest"]);
    assert!(line.contains(second["serving"]["digest"].as_str().unwrap()), "{line}");
    // a set with an error leaves the one before in force, and that is said, too
    fs::write(&file, manifest(20).replace("assert:", "asert:")).unwrap();
    hang_up();
    says("manifests cannot be served");
    let third = digest();
    assert_eq!(third["serving"], second["serving"]);
    assert!(third["problem"].is_object(), "{third}");
    process.kill().unwrap();
    process.wait().unwrap();
    drop(told);
    let _ = reading.join();
}
