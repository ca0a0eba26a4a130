//! The files that the commands of a line read and write, as far as its words say.
//!
//! The answer is never less than what a command touches by its words: whatever is not known is an entry without a path that reads and writes, and a rule about
//! paths fails on it. `cd` may succeed or fail, and be in a group or not, so a relative path behind it is given for each folder that is possible.

use super::line::Command;
use super::programs::{Operands, Program, Step, Use, program, search_step};
use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Entries, Key, Map, Text, Value};

/// Folders in which a command may run; with more of them each relative path is unknown.
const MAX_FOLDERS: usize = 8;

/// The one file that gives nothing and keeps nothing.
const NO_FILE: &str = "/dev/null";

/// Flags of a program that takes a number as an option.
const DIGITS: &str = "0123456789";

/// The reason for which files of a command are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// The program, of which no argument is known.
    Program,
    /// An argument that is a program or code.
    Code,
    /// An option, or a word in a place where the program has none.
    Option,
    /// A variable that is set, which may be the search path.
    Variable,
    /// The folder in which later commands run.
    Folder,
}

impl Unknown {
    const fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Code => "code",
            Self::Option => "option",
            Self::Variable => "variable",
            Self::Folder => "folder",
        }
    }
}

/// The files of all commands, as a list of maps.
///
/// # Errors
/// `budget_exceeded`.
pub(super) fn paths(
    meter: &mut Meter<'_>,
    commands: Vec<Command>,
    folder: Option<&str>,
) -> Result<Value<'static>, Fault> {
    let mut reader =
        Reader { meter, folders: vec![folder.unwrap_or_default().to_owned()], found: Vec::new() };
    for command in commands {
        reader.command(&command)?;
    }
    Ok(Value::list(reader.found))
}

struct Reader<'m, 'l> {
    meter: &'m mut Meter<'l>,
    /// The folders in which the next command may run; none if they are not known.
    folders: Vec<String>,
    found: Vec<Value<'static>>,
}

/// A command whose words are read.
struct Reading<'c> {
    name: &'c str,
    operands: Vec<&'c str>,
    /// Whether an option has given a pattern or a script.
    has_pattern: bool,
    /// Whether an option has named the folder to write to.
    has_target: bool,
    /// Whether files are edited in place.
    is_in_place: bool,
}

impl Reader<'_, '_> {
    fn command(&mut self, command: &Command) -> Result<(), Fault> {
        let mut words = command.words.iter().map(|word| &**word);
        let name = words.next().unwrap_or_default();
        for file in &command.reads {
            self.file(name, file, Use::Read)?;
        }
        for file in &command.writes {
            self.file(name, file, Use::Write)?;
        }
        if !command.variables.is_empty() {
            self.unknown(name, Unknown::Variable)?;
        }
        if command.words.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> = words.collect();
        let Some(program) = program(name) else { return self.unknown_program(name, &words) };
        match program.operands {
            Operands::Words => Ok(()),
            Operands::Code => self.unknown(name, Unknown::Code),
            // bash runs what is in the index of a variable: `[ -v 'a[$(rm x)]' ]`
            Operands::Tested if words.iter().any(|word| word.contains(['$', '`'])) => {
                self.unknown(name, Unknown::Code)
            }
            Operands::Tested => {
                let files = words.iter().filter(|word| !word.starts_with('-') && **word != "]");
                files.into_iter().try_for_each(|file| self.file(name, file, Use::Read))
            }
            Operands::Search => self.search(name, &words),
            Operands::Folder => self.change_folder(name, &words),
            _ => self.known_program(program, name, &words),
        }
    }

    /// A program of which nothing is known: each word may be a file, or have one in it (`if=/x`, `host:/x`, `@/x`).
    fn unknown_program(&mut self, name: &str, words: &[&str]) -> Result<(), Fault> {
        self.unknown(name, Unknown::Program)?;
        if name.contains('/') {
            self.either(name, name)?;
        }
        for word in words {
            let may_lead_out = word.contains('/') || word.contains("..");
            let value = match (word.strip_prefix("--"), word.starts_with('-')) {
                (Some(long), _) => long.split_once('=').map(|(_, value)| value),
                (None, true) => None,
                (None, false) => Some(*word),
            };
            match value {
                Some(value) => {
                    let is_sign = |sign: char| !sign.is_alphanumeric() && !"/._-~\\".contains(sign);
                    let pieces = value.split(is_sign).filter(|piece| !piece.is_empty());
                    pieces.into_iter().try_for_each(|piece| self.either(name, piece))?;
                }
                None if may_lead_out => self.unknown(name, Unknown::Option)?,
                None => {}
            }
        }
        Ok(())
    }

    fn known_program(&mut self, program: &Program, name: &str, words: &[&str]) -> Result<(), Fault> {
        let reading =
            Reading { name, operands: Vec::new(), has_pattern: false, has_target: false, is_in_place: false };
        let Some(Reading { mut operands, has_pattern, has_target, is_in_place, .. }) =
            self.options(program, reading, words)?
        else {
            return Ok(());
        };
        let last = operands.len().saturating_sub(1);
        let first_is_text =
            matches!(program.operands, Operands::AfterFirst(_) | Operands::Script) && !has_pattern;
        if first_is_text && !operands.is_empty() {
            let first = operands.remove(0);
            if program.operands == Operands::Script && !is_plain_script(first) {
                self.unknown(name, Unknown::Code)?;
            }
        }
        if operands.is_empty() && program.reads_folder {
            operands.push(".");
        }
        if operands.len() == 1 && program.operands == Operands::Linked {
            self.file(name, ".", Use::Write)?;
        }
        for (index, operand) in operands.iter().enumerate() {
            let of = match program.operands {
                Operands::Each(of) | Operands::AfterFirst(of) => of,
                Operands::Linked => Use::Write,
                Operands::LastWritten if index == last && !has_target => Use::Write,
                Operands::FromTo if index > 0 => Use::Write,
                Operands::Script if is_in_place => Use::Write,
                _ => Use::Read,
            };
            self.file(name, operand, of)?;
        }
        Ok(())
    }

    /// Tells options from operands; nothing if a word is not known. Some programs take each word behind the first operand for an operand: what
    /// would be the text of an option there counts as an operand as well.
    fn options<'c>(
        &mut self,
        program: &Program,
        mut reading: Reading<'c>,
        words: &[&'c str],
    ) -> Result<Option<Reading<'c>>, Fault> {
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            if word == "--" {
                reading.operands.extend(words.by_ref());
                break;
            }
            // `-` is a stream for some programs and a file for others, and takes the place of an operand
            if !word.starts_with('-') || word == "-" {
                reading.operands.push(word);
                continue;
            }
            let value = match word.strip_prefix("--") {
                Some(_) => {
                    let (option, value) =
                        word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
                    match program.values.iter().find(|(known, _)| *known == option) {
                        Some((_, of)) => Some((*of, value)),
                        None if program.long.contains(&option) => None,
                        None => return self.not_read(reading.name, Unknown::Option),
                    }
                }
                None if program.operands == Operands::Script && word == "-i" => {
                    reading.is_in_place = true;
                    None
                }
                None => {
                    let letters = word.get(1..).unwrap_or_default();
                    let has_number = program.flags.contains(DIGITS);
                    if has_number && letters.bytes().all(|letter| letter.is_ascii_digit()) {
                        continue;
                    }
                    let is_flag = |letter: char| {
                        program.flags.contains(letter) && !(has_number && letter.is_ascii_digit())
                    };
                    let rest = letters.trim_start_matches(is_flag);
                    let Some(letter) = rest.chars().next() else { continue };
                    let is_option =
                        |known: &str| known.strip_prefix('-').is_some_and(|known| known.chars().eq([letter]));
                    let Some((_, of)) = program.values.iter().find(|(known, _)| is_option(known)) else {
                        return self.not_read(reading.name, Unknown::Option);
                    };
                    let value = rest.get(letter.len_utf8()..).filter(|value| !value.is_empty());
                    Some((*of, value))
                }
            };
            let Some((of, inside)) = value else { continue };
            let Some(value) = inside.or_else(|| words.next()) else { continue };
            match of {
                Use::Pattern if program.operands == Operands::Script && !is_plain_script(value) => {
                    return self.not_read(reading.name, Unknown::Code);
                }
                Use::Text | Use::Pattern if inside.is_none() && !reading.operands.is_empty() => {
                    reading.operands.push(value);
                }
                _ => self.file(reading.name, value, of)?,
            }
            reading.has_pattern |= matches!(of, Use::Pattern | Use::Patterns);
            reading.has_target |= of == Use::Into;
        }
        Ok(Some(reading))
    }

    fn not_read<T>(&mut self, name: &str, why: Unknown) -> Result<Option<T>, Fault> {
        self.unknown(name, why)?;
        Ok(None)
    }

    /// `find`: folders, and an expression behind them.
    fn search(&mut self, name: &str, words: &[&str]) -> Result<(), Fault> {
        let mut words = words.iter().copied().peekable();
        while words.next_if(|word| matches!(*word, "-H" | "-L" | "-P")).is_some() {}
        let mut folders = Vec::new();
        while let Some(folder) = words.next_if(|word| !word.starts_with('-') && !matches!(*word, "(" | "!")) {
            folders.push(folder);
        }
        if folders.is_empty() {
            folders.push(".");
        }
        let mut of = Use::Read;
        while let Some(word) = words.next() {
            match search_step(word) {
                Some(Step::Values(values)) => {
                    for (value, of) in words.by_ref().take(values.len()).zip(values) {
                        self.file(name, value, *of)?;
                    }
                }
                Some(Step::Remove) => of = Use::Write,
                Some(Step::Run) => {
                    self.unknown(name, Unknown::Code)?;
                    break;
                }
                None => {
                    self.unknown(name, Unknown::Option)?;
                    break;
                }
            }
        }
        folders.into_iter().try_for_each(|folder| self.file(name, folder, of))
    }

    /// `cd`: later commands may run in each folder that was possible before, and in this one.
    fn change_folder(&mut self, name: &str, words: &[&str]) -> Result<(), Fault> {
        let words = words.strip_prefix(&["--"]).unwrap_or(words);
        let [folder] = words else { return self.lose_folder(name) };
        if folder.starts_with('-') || folder.is_empty() {
            return self.lose_folder(name);
        }
        self.file(name, folder, Use::Read)?;
        let mut folders: Vec<String> = self.folders.iter().map(|from| joined(from, folder)).collect();
        folders.retain(|folder| !self.folders.contains(folder));
        folders.dedup();
        let built = folders.iter().map(String::len).fold(0, usize::saturating_add);
        self.meter.charge_built(built)?;
        self.folders.append(&mut folders);
        if self.folders.len() > MAX_FOLDERS { self.lose_folder(name) } else { Ok(()) }
    }

    fn lose_folder(&mut self, name: &str) -> Result<(), Fault> {
        self.folders.clear();
        self.unknown(name, Unknown::Folder)
    }

    /// A word of a known program.
    fn file(&mut self, name: &str, file: &str, of: Use) -> Result<(), Fault> {
        match of {
            Use::Text | Use::Pattern => Ok(()),
            Use::Read | Use::Patterns => self.each_folder(name, file, true, false),
            Use::Write | Use::Into => self.each_folder(name, file, false, true),
        }
    }

    /// A word that may be a file, and may be read or written.
    fn either(&mut self, name: &str, file: &str) -> Result<(), Fault> {
        self.each_folder(name, file, true, true)
    }

    fn each_folder(&mut self, name: &str, file: &str, reads: bool, writes: bool) -> Result<(), Fault> {
        if file == NO_FILE {
            return Ok(());
        }
        if file.starts_with('/') {
            return self.push(name, Some(file.to_owned()), reads, writes, None);
        }
        if self.folders.is_empty() {
            return self.push(name, None, reads, writes, Some(Unknown::Folder));
        }
        let paths: Vec<String> = self.folders.iter().map(|folder| joined(folder, file)).collect();
        paths.into_iter().try_for_each(|path| self.push(name, Some(path), reads, writes, None))
    }

    fn unknown(&mut self, name: &str, why: Unknown) -> Result<(), Fault> {
        self.push(name, None, true, true, Some(why))
    }

    fn push(
        &mut self,
        name: &str,
        path: Option<String>,
        reads: bool,
        writes: bool,
        why: Option<Unknown>,
    ) -> Result<(), Fault> {
        let texts = name.len().saturating_add(path.as_deref().map_or(0, str::len));
        self.meter.charge_built(Map::bytes(4).saturating_add(texts))?;
        let fields = [
            ("program", Some(Value::owned_text(name))),
            ("path", path.map(Value::owned_text)),
            ("reads", Some(Value::Bool(reads))),
            ("writes", Some(Value::Bool(writes))),
            ("unknown", why.map(|why| Value::text(why.name()))),
        ];
        let fields =
            fields.into_iter().filter_map(|(name, value)| Some((Key::String(Text::Borrowed(name)), value?)));
        self.found.push(Value::map(fields.collect::<Entries<'_>>()));
        Ok(())
    }
}

/// A path in a folder. `..` stays, as it leads elsewhere behind a symbolic link.
fn joined(folder: &str, path: &str) -> String {
    match (folder.is_empty(), path.starts_with('/')) {
        (_, true) | (true, false) => path.to_owned(),
        (false, false) => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// Whether a script of `sed` only prints, removes and replaces: one command, that neither runs nor writes nor reads anything.
fn is_plain_script(script: &str) -> bool {
    let command = script.trim_start_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '$' | ','));
    if matches!(command, "p" | "d" | "q" | "=") {
        return true;
    }
    let Some(parts) = command.strip_prefix("s/") else { return false };
    let mut slashes = 0_usize;
    let mut is_escaped = false;
    let flags = parts.trim_start_matches(|sign: char| {
        let is_slash = sign == '/' && !is_escaped;
        is_escaped = sign == '\\' && !is_escaped;
        let is_before = slashes < 2;
        slashes = slashes.saturating_add(usize::from(is_slash));
        is_before
    });
    let is_flag = |flag: char| flag.is_ascii_digit() || matches!(flag, 'g' | 'p' | 'i' | 'I');
    slashes >= 2 && !script.contains(['\n', '[']) && flags.chars().all(is_flag)
}
