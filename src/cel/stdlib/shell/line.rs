//! The commands of a line: its words and signs in an order that POSIX (2.10) and bash allow, without reserved words.
//!
//! Groups are kept on a stack of their own, so nesting costs no stack of the program. Each thing that a command takes is
//! paid for before it is kept: a redirection of a group goes to every command in it.

use super::doubt::Doubt;
use super::tokens::{End, Redirect, Token, Tokens, Word};
use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Entries, Key, List, Map, Text, Value};

/// A command as it stands in the line.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its name and arguments, without quotes. There are none where a line only redirects or sets variables.
    pub(super) words: Vec<Text<'static>>,
    /// The variables that are set in front of it.
    pub(super) variables: Entries<'static>,
    /// The files that it, or a group around it, reads from.
    pub(super) reads: Vec<Text<'static>>,
    /// The files that it, or a group around it, writes to.
    pub(super) writes: Vec<Text<'static>>,
    /// Whether a pipe leads to it, or to a group around it.
    pub(super) piped: bool,
}

/// The words that are no name of a command unless they are quoted. Bash has them all, POSIX most of them.
const RESERVED: [&str; 20] = [
    "!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "time", "coproc",
];

/// The commands that are the shell's own and take text for commands, or change how it reads what follows.
const CODE: [&str; 7] = ["eval", ".", "source", "trap", "alias", "unalias", "shopt"];

/// The commands of a line, in the order in which they stand there.
pub(super) fn commands(meter: &mut Meter<'_>, line: &str) -> Result<Vec<Command>, Fault> {
    meter.charge_text(line.len())?;
    meter.charge_built(line.len())?;
    let mut tokens = Tokens::of(line)?;
    let mut reader = Reader { meter, commands: Vec::new(), groups: Vec::new(), place: Place::Start };
    while let Some(token) = tokens.next()? {
        reader.take(token, &mut tokens)?;
    }
    reader.end()
}

/// Where in the line the next token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the beginning of a list, or behind the end of one: a command may come.
    Start,
    /// Behind `&&`, `||` or a bracket that opens: a command must come.
    Begun,
    /// Behind a pipe: a command must come.
    Piped,
    /// Behind `!`: a command must come, on the same line.
    Negated,
    /// In a command.
    Command,
    /// Behind a group, whose first command is this one.
    Group(usize),
}

/// A group that is open.
struct Group {
    /// The first of its commands.
    first: usize,
    /// Whether it ends with `}`.
    brace: bool,
    /// Whether a pipe leads to it.
    piped: bool,
}

struct Reader<'m, 'l> {
    meter: &'m mut Meter<'l>,
    commands: Vec<Command>,
    groups: Vec<Group>,
    place: Place,
}

impl Reader<'_, '_> {
    fn take(&mut self, token: Token, tokens: &mut Tokens<'_>) -> Result<(), Fault> {
        let next = match (token, self.place) {
            (Token::Word(word), Place::Command) => return self.word(word),
            (Token::Word(_), Place::Group(_)) => return Err(Doubt::Order.into()),
            (Token::Word(word), _) => return self.first_word(word),
            (Token::Redirect(redirect), _) => return self.redirect(redirect, tokens),
            (Token::End(End::Line), place @ (Place::Start | Place::Begun | Place::Piped)) => place,
            (Token::End(_), Place::Command | Place::Group(_)) => Place::Start,
            (Token::Then, Place::Command | Place::Group(_)) => Place::Begun,
            (Token::Pipe, Place::Command | Place::Group(_)) => Place::Piped,
            (Token::Open, Place::Command | Place::Group(_)) => return Err(Doubt::Bracket.into()),
            (Token::Open, _) => return self.open(false),
            (Token::Close, Place::Start | Place::Command | Place::Group(_)) => return self.close(false),
            _ => return Err(Doubt::Order.into()),
        };
        self.place = next;
        Ok(())
    }

    /// All commands, if the line may end here.
    fn end(self) -> Result<Vec<Command>, Fault> {
        let whole = matches!(self.place, Place::Start | Place::Command | Place::Group(_));
        if !whole || !self.groups.is_empty() {
            return Err(Doubt::Order.into());
        }
        if self.commands.iter().any(Command::runs_text) {
            return Err(Doubt::Code.into());
        }
        Ok(self.commands)
    }

    /// A word where a command may begin.
    fn first_word(&mut self, word: Word) -> Result<(), Fault> {
        match (word.text.as_str(), self.place) {
            ("!", Place::Start | Place::Begun) if word.plain => {
                self.place = Place::Negated;
                Ok(())
            }
            ("{", _) if word.plain => self.open(true),
            ("}", Place::Start) if word.plain => self.close(true),
            _ => {
                self.begin()?;
                self.word(word)
            }
        }
    }

    /// A word inside of a command. It sets a variable if it says so and no word of the command stands before it.
    fn word(&mut self, word: Word) -> Result<(), Fault> {
        let Some(command) = self.commands.last_mut() else { return Err(Doubt::Order.into()) };
        let first = command.words.is_empty();
        match word.text.as_str() {
            text if first && word.plain && RESERVED.contains(&text) => return Err(Doubt::Reserved.into()),
            "{" | "}" if word.plain => return Err(Doubt::Pattern.into()),
            _ => {}
        }
        match word.variable().filter(|_| first) {
            Some((name, _)) if name.ends_with('+') => Err(Doubt::Assignment.into()),
            Some((name, value)) => {
                self.meter.charge_built(Map::ENTRY_BYTES)?;
                command.variables.insert(Key::String(shared(name)), Value::String(shared(value)));
                Ok(())
            }
            None => {
                List::charge(self.meter, 1)?;
                command.words.push(shared(&word.text));
                Ok(())
            }
        }
    }

    /// A new command, of which nothing is known yet.
    fn begin(&mut self) -> Result<(), Fault> {
        self.meter.charge_built(size_of::<Command>())?;
        let piped = self.is_piped();
        self.commands.push(Command { piped, ..Command::default() });
        self.place = Place::Command;
        Ok(())
    }

    fn open(&mut self, brace: bool) -> Result<(), Fault> {
        List::charge(self.meter, 1)?;
        let piped = self.is_piped();
        self.groups.push(Group { first: self.commands.len(), brace, piped });
        self.place = Place::Begun;
        Ok(())
    }

    fn close(&mut self, brace: bool) -> Result<(), Fault> {
        let group = self.groups.pop_if(|group| group.brace == brace).ok_or(Doubt::Order)?;
        self.place = Place::Group(group.first);
        Ok(())
    }

    /// Whether a pipe leads to what comes next.
    fn is_piped(&self) -> bool {
        self.place == Place::Piped || self.groups.last().is_some_and(|group| group.piped)
    }

    /// A redirection, whose file or stream is the next token: of this command, or of all commands of the group before it.
    fn redirect(&mut self, redirect: Redirect, tokens: &mut Tokens<'_>) -> Result<(), Fault> {
        let Some(Token::Word(target)) = tokens.next()? else { return Err(Doubt::Order.into()) };
        if target.variable().is_some() {
            // bash does not read `a &>>b=c`
            return Err(Doubt::Order.into());
        }
        let first = match self.place {
            Place::Group(first) => first,
            Place::Command => self.commands.len().saturating_sub(1),
            _ => {
                self.begin()?;
                self.commands.len().saturating_sub(1)
            }
        };
        if redirect == Redirect::Join {
            // bash writes to a file that stands here, too, but replaces `$(…)` in its name even within quotes
            return if is_stream(&target.text) { Ok(()) } else { Err(Doubt::Descriptor.into()) };
        }
        let (reads, writes) = (redirect != Redirect::Write, redirect != Redirect::Read);
        let file = shared(&target.text);
        for command in self.commands.iter_mut().skip(first) {
            List::charge(self.meter, 2)?;
            command.reads.extend(reads.then(|| file.clone()));
            command.writes.extend(writes.then(|| file.clone()));
        }
        Ok(())
    }
}

impl Command {
    /// Whether the shell takes words of the command for commands, or reads the rest of the line in another way after it.
    fn runs_text(&self) -> bool {
        let is_prefix = |word: &str| matches!(word, "command" | "builtin" | "-p" | "--");
        let mut words = self.words.iter().map(|word| &**word).skip_while(|word| is_prefix(word));
        match words.next() {
            Some("set") => words.any(|word| word.contains('k')),
            first => first.is_some_and(|first| CODE.contains(&first)),
        }
    }
}

/// Whether `>&` and `<&` take a word for a stream: `2`, `2-`, `-`.
fn is_stream(word: &str) -> bool {
    let number = word.strip_suffix('-').unwrap_or(word);
    !word.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn shared(text: &str) -> Text<'static> {
    Text::Shared(text.into())
}
