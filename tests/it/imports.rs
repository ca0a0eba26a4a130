//! Who imports whom: the modules of a folder, and which of them each one names.
//!
//! In: the root folder of a package. Out: for each folder below it, an edge from one member (a file or a folder) to another
//! where a path in the first leads to the second, be it written with `crate::` or `super::`, to the module or to a name that
//! the folder exports from it. Comments and test modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path as its segments, from the root of its package.
type Segments = Vec<String>;

/// Which members of one folder name which others.
pub type Edges = BTreeMap<String, BTreeSet<String>>;

/// The files of a package below its root folder, without those of packages that stand inside it.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("target") || path.join("Cargo.toml").exists() {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The code of a file without comments and without its test module at the end.
pub fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    // what a macro names is named where it is used
    let body = body.replace("$crate::", "");
    body.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Who imports whom in each folder of a package, by the folder's path below the package's root.
pub fn imports(root: &Path) -> BTreeMap<String, Edges> {
    let files: Vec<(Segments, Vec<Segments>)> = rust_files(root)
        .iter()
        .map(|file| {
            let module = module(file.strip_prefix(root).unwrap());
            let is_folder = file.ends_with("mod.rs") || module.is_empty();
            let paths = paths(&code(file)).into_iter();
            (module.clone(), paths.filter_map(|path| from_root(&module, is_folder, path)).collect())
        })
        .collect();
    let modules: BTreeSet<&Segments> = files.iter().map(|(module, _)| module).collect();
    let mut folders: BTreeMap<String, Edges> = BTreeMap::new();
    for (folder, exports) in &files {
        let members =
            modules.iter().filter(|module| module.len() > folder.len() && module.starts_with(folder));
        let members: BTreeSet<&String> = members.map(|module| &module[folder.len()]).collect();
        if members.is_empty() {
            continue;
        }
        // a name that the folder shows stands in the member that it comes from
        let exported: BTreeMap<&String, &String> = exports
            .iter()
            .filter(|path| path.len() > folder.len() + 1 && path.starts_with(folder))
            .filter(|path| members.contains(&path[folder.len()]))
            .map(|path| (path.last().unwrap(), &path[folder.len()]))
            .collect();
        let mut edges = Edges::new();
        for (module, paths) in &files {
            if module.len() <= folder.len() || !module.starts_with(folder) {
                continue;
            }
            let member = &module[folder.len()];
            let inside = paths.iter().filter(|path| path.len() > folder.len() && path.starts_with(folder));
            let named = inside.map(|path| &path[folder.len()]);
            let named = named.filter_map(|name| members.get(name).or_else(|| exported.get(name)).copied());
            let named = named.filter(|name| *name != member).cloned();
            edges.entry(member.clone()).or_default().extend(named);
        }
        folders.insert(folder.join("/"), edges);
    }
    folders
}

/// The edges that stand in circles, as `a -> b`: those whose end leads back to their beginning.
pub fn circles(edges: &Edges) -> Vec<String> {
    let mut found = Vec::new();
    for (from, named) in edges {
        for to in named {
            let (mut seen, mut next) = (BTreeSet::from([to]), vec![to]);
            while let Some(at) = next.pop() {
                let further = edges.get(at).into_iter().flatten();
                next.extend(further.filter(|member| seen.insert(member)));
            }
            if seen.contains(from) {
                found.push(format!("{from} -> {to}"));
            }
        }
    }
    found
}

/// The module of a file: `task/judge.rs` and `task/judge/mod.rs` are both `task::judge`.
fn module(file: &Path) -> Segments {
    let mut parts: Segments = file.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    let last = parts.pop().unwrap();
    match last.trim_end_matches(".rs") {
        "mod" | "lib" | "main" => {}
        name => parts.push(name.to_owned()),
    }
    parts
}

/// A path as seen from the root of the package; nothing of one that leads out of it.
fn from_root(module: &[String], is_folder: bool, path: Segments) -> Option<Segments> {
    let mut at = module.to_vec();
    let mut rest = path.iter().peekable();
    match rest.peek()?.as_str() {
        "crate" => {
            at.clear();
            rest.next();
        }
        "self" => {
            rest.next();
        }
        "super" => {
            while rest.next_if(|part| *part == "super").is_some() {
                at.pop()?;
            }
        }
        // what a folder shows of its members
        _ if is_folder => {}
        _ => return None,
    }
    at.extend(rest.cloned());
    Some(at)
}

/// Every path of a code: the leaves of its `use` items, and those that begin with `crate` or `super`.
fn paths(code: &str) -> Vec<Segments> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        let is_tree = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
        if (line.is_empty() || line == "pub" || line.ends_with(')')) && tree.chars().all(is_tree) {
            leaves("", tree, &mut paths);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let path: String =
                code[at..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
            paths.push(segments(&path));
        }
    }
    paths
}

/// The paths that a `use` tree leads to.
fn leaves(prefix: &str, tree: &str, paths: &mut Vec<Segments>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        paths.push(segments(&format!("{prefix}{path}")));
        return;
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut begun) = (0, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                leaves(&prefix, &inside[begun..at], paths);
                begun = at + 1;
            }
            _ => {}
        }
    }
    if !inside[begun..].trim().is_empty() {
        leaves(&prefix, &inside[begun..], paths);
    }
}

fn segments(path: &str) -> Segments {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
