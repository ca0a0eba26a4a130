//! A page of Markdown as its reader sees it, in blocks; what a page shows is held to what comes of it.
//!
//! In: a page. Out: its fenced blocks in their order, those below a file's name (a line that is one in bold code, such as **`agent.yaml`**)
//! with this name. What is not as the page shows it is collected, and all of it reported at the end; with `UPDATE_EXPECT=1` the page is
//! written anew in its place.

use crate::terminal::Terminal;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Page {
    path: PathBuf,
    lines: Vec<String>,
    wrong: Vec<String>,
    /// Lines that are others now: from a line, so many, by these.
    changes: Vec<(usize, usize, Vec<String>)>,
}

/// A fenced block.
pub(crate) struct Block {
    /// What stands behind the fence.
    pub(crate) kind: String,
    /// The file that it is, or is about.
    pub(crate) file: Option<String>,
    /// Its lines, and the place of the first of them in the page.
    pub(crate) lines: Vec<String>,
    pub(crate) first: usize,
}

impl Block {
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A command of a block, and what is shown below it.
struct Shown<'p> {
    command: String,
    lines: &'p [String],
    first: usize,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = text.lines().map(str::to_owned).collect();
        Self { path: path.to_owned(), lines, wrong: Vec::new(), changes: Vec::new() }
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut rest = 0;
        while let Some(fence) = (rest..self.lines.len()).find(|&at| self.lines[at].starts_with("```")) {
            let closes = |line: &String| line.trim_end() == "```";
            let end = (fence + 1..self.lines.len()).find(|&at| closes(&self.lines[at]));
            let end = end.unwrap_or_else(|| panic!("{}: no end", self.place(fence)));
            let above = self.lines[rest..fence].iter().rev().find(|line| !line.trim().is_empty());
            let file = above.and_then(|line| line.strip_prefix("**`")?.strip_suffix("`**"));
            blocks.push(Block {
                kind: self.lines[fence].trim_start_matches('`').to_owned(),
                file: file.map(str::to_owned),
                lines: self.lines[fence + 1..end].to_vec(),
                first: fence + 1,
            });
            rest = end + 1;
        }
        blocks
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{}", self.path.display(), line + 1)
    }

    /// Something of the page that cannot be put right by writing it anew.
    pub(crate) fn is_wrong(&mut self, line: usize, why: &str) {
        let place = self.place(line);
        self.wrong.push(format!("{place}: {why}"));
    }

    /// Holds lines of the page to what they ought to be.
    pub(crate) fn expect(&mut self, first: usize, shown: &[String], found: Vec<String>, of: &str) {
        if shown == found {
            return;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            self.changes.push((first, shown.len(), found));
        } else {
            let why = format!("{of}\n-- shown\n{}\n-- found\n{}", shown.join("\n"), found.join("\n"));
            self.is_wrong(first, &why);
        }
    }

    /// Runs the commands of a `console` block, and says how many they are.
    pub(crate) fn run(&mut self, block: &Block, terminal: &mut Terminal) -> usize {
        let commands = commands(block);
        for Shown { command, lines, first } in &commands {
            let (text, code) = terminal.run(command);
            if !(0..=4).contains(&code) {
                self.is_wrong(*first, &format!("`{command}` ends with {code}: {text}"));
            }
            // a blank line between two commands of a block belongs to neither
            let shown: Vec<String> = without_blank_end(lines);
            let found =
                without_blank_end(&text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>());
            if command.starts_with("celador ") && !command.contains('>') && found.is_empty() {
                self.is_wrong(*first, &format!("`{command}` writes nothing: does it do anything?"));
            }
            self.expect(*first, &shown, found, &format!("$ {command}"));
        }
        commands.len()
    }

    /// All that is wrong with the page. If nothing is, it is written as it ought to be.
    #[must_use]
    pub(crate) fn finish(mut self) -> Vec<String> {
        if self.wrong.is_empty() && !self.changes.is_empty() {
            for (first, count, lines) in self.changes.into_iter().rev() {
                self.lines.splice(first..first + count, lines);
            }
            fs::write(&self.path, self.lines.join("\n") + "\n").unwrap();
        }
        self.wrong
    }
}

fn without_blank_end(lines: &[String]) -> Vec<String> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    lines[..end].to_vec()
}

/// The commands of a `console` block: behind `$ `, and behind `> ` on the lines that they go on.
fn commands(block: &Block) -> Vec<Shown<'_>> {
    let mut commands = Vec::new();
    let mut at = 0;
    while let Some(line) = block.lines.get(at) {
        let mut command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}")).to_owned();
        at += 1;
        while let Some(more) = block.lines.get(at).and_then(|line| line.strip_prefix("> ")) {
            command.push('\n');
            command.push_str(more);
            at += 1;
        }
        let shown = block.lines[at..].iter().take_while(|line| !line.starts_with("$ ")).count();
        commands.push(Shown { command, lines: &block.lines[at..at + shown], first: block.first + at });
        at += shown;
    }
    commands
}
