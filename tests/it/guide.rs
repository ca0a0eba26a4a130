//! The guide, run from its first chapter to its last: what a reader types and writes down gives what they are shown.
//!
//! In: `docs/guide/src`, whose `SUMMARY.md` has the chapters in their order. Each is played in a folder of its own, which is empty, or what an
//! earlier chapter has left where a line such as `*Goes on from [Cases](cases.md).*` says so. Blocks that are neither run, written nor found in a
//! file are refused but for those of plain text, so nothing that a reader may take over is unheld.
//!
//! | block | what becomes of it |
//! |---|---|
//! | `console` | lines behind `$ ` are typed into one terminal; what they write is what stands below |
//! | `cel` | lines `EXPRESSION  →  VALUE` are evaluated |
//! | `diff` below a file's name | changes the file: `@@` stands between two changes |
//! | any other below a file's name | is the file |
//! | `yaml`, `json` | stands in a file of the folder, word for word |

use crate::pages::{Block, Page};
use crate::suites::root;
use crate::terminal::Terminal;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn source() -> PathBuf {
    root().join("docs/guide/src")
}

/// What the summary leads to, in its order.
fn summary() -> Vec<String> {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| line.split_once("](")?.1.split_once(')'));
    links.map(|(target, _)| target.to_owned()).collect()
}

/// The pages of the guide itself; those of `docs` and of packages stand in the summary too.
fn chapters() -> Vec<String> {
    summary().into_iter().filter(|target| !target.starts_with("..")).collect()
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = PathBuf::from(path.file_name().unwrap());
            found.extend(files(&path).into_iter().map(|file| name.join(file)));
        } else {
            found.push(path.file_name().unwrap().into());
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// The chapter that a page goes on from.
fn goes_on_from(page: &Page) -> Option<String> {
    let line = page.lines().iter().find_map(|line| line.strip_prefix("*Goes on from ["))?;
    Some(line.split_once("](")?.1.split_once(')')?.0.to_owned())
}

/// A file with the changes of a `diff` block, each of which stands in it exactly once.
fn changed(text: &str, block: &Block) -> Result<String, String> {
    let mut text = text.to_owned();
    for change in block.lines.split(|line| line == "@@") {
        let side = |without: char| -> String {
            let lines = change.iter().filter(|line| !line.starts_with(without));
            lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
        };
        let (old, new) = (side('+'), side('-'));
        match text.matches(&old).count() {
            1 => text = text.replace(&old, &new),
            count => return Err(format!("stands {count} times in the file:\n{old}")),
        }
    }
    Ok(text)
}

/// What is wrong with a block that names a file, or stands in one.
fn hold(block: &Block, folder: &Path) -> Result<(), String> {
    let path = block.file.as_ref().map(|file| folder.join(file));
    match (block.kind.as_str(), path) {
        ("diff", Some(path)) => {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            fs::write(path, changed(&text, block)?).map_err(|error| error.to_string())
        }
        ("text" | "sh", None) => Ok(()),
        (_, Some(path)) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, block.text()).map_err(|error| error.to_string())
        }
        ("yaml" | "json", None) => {
            let text = |file: &PathBuf| fs::read_to_string(folder.join(file)).unwrap_or_default();
            let stands = files(folder).iter().any(|file| text(file).contains(&block.text()));
            stands.then_some(()).ok_or_else(|| "stands in no file".to_owned())
        }
        (kind, None) => Err(format!("nothing holds a block of `{kind}`")),
    }
}

/// Holds the lines of a `cel` block to their values; says how many they are.
fn evaluate(page: &mut Page, block: &Block, terminal: &mut Terminal) -> usize {
    let expressions = block.lines.iter().filter(|line| !line.trim().is_empty());
    for (line, at) in expressions.clone().zip(block.first..) {
        let (expression, _) = line.split_once("  →  ").unwrap_or((line, ""));
        let quoted = expression.replace('\'', r"'\''");
        let (text, code) = terminal.run(&format!("celador eval '{quoted}'"));
        let error = text.lines().find_map(|line| line.strip_prefix("error[")?.split_once(']'));
        let value = match error {
            Some((code, _)) => format!("error: {code}"),
            None => text.trim().to_owned(),
        };
        if code > 3 || value.contains('\n') {
            page.is_wrong(at, &format!("`{expression}` has no value: {text}"));
        }
        page.expect(at, std::slice::from_ref(line), vec![format!("{expression}  →  {value}")], expression);
    }
    expressions.count()
}

#[test]
fn each_chapter_gives_what_it_shows() {
    let mut left: HashMap<String, TempDir> = HashMap::new();
    let (mut commands, mut expressions, mut wrong) = (0, 0, Vec::new());
    for chapter in chapters() {
        let mut page = Page::read(&source().join(&chapter));
        let folder = tempfile::tempdir().unwrap();
        if let Some(before) = goes_on_from(&page) {
            let before = Path::new(&chapter).parent().unwrap().join(before);
            let before = before.to_str().unwrap();
            copy(
                left.get(before).unwrap_or_else(|| panic!("{chapter} comes before {before}")).path(),
                folder.path(),
            );
        }
        let mut terminal = Terminal::open(folder.path());
        for block in page.blocks() {
            match block.kind.as_str() {
                "console" => commands += page.run(&block, &mut terminal),
                "cel" => expressions += evaluate(&mut page, &block, &mut terminal),
                _ => {
                    if let Err(why) = hold(&block, folder.path()) {
                        page.is_wrong(block.first, &why);
                    }
                }
            }
        }
        wrong.extend(page.finish());
        left.insert(chapter, folder);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!("{} chapters, {commands} commands, {expressions} expressions", left.len());
    assert!(
        commands > 40 && expressions > 20,
        "{commands} commands and {expressions} expressions are in the guide"
    );
}

/// A page that the summary lacks would be on no site, and run by nobody.
#[test]
fn the_summary_names_every_page() {
    let pages = files(&source()).into_iter().map(|file| file.to_str().unwrap().to_owned());
    let pages: BTreeSet<String> =
        pages.filter(|file| file.ends_with(".md") && file != "SUMMARY.md").collect();
    assert_eq!(pages, chapters().into_iter().collect());
    let entries = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let pages = entries.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
    let known = summary();
    let missing: Vec<String> = pages.filter(|name| !known.contains(&format!("../../{name}"))).collect();
    assert_eq!(missing, [""; 0], "of `docs`");
}

#[test]
fn a_change_stands_once_in_its_file() {
    let block = |lines: &[&str]| Block {
        kind: "diff".to_owned(),
        file: None,
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
        first: 0,
    };
    let text = "a\nb\nc\nb\n";
    assert_eq!(
        changed(text, &block(&[" a", "-b", "+d", "@@", "+e", " c"])),
        Ok("a\nd\ne\nc\nb\n".to_owned())
    );
    assert!(changed(text, &block(&["-b"])).unwrap_err().contains("2 times"));
    assert!(changed(text, &block(&["-x"])).unwrap_err().contains("0 times"));
}
