//! Questions about texts, decided by automata.
//!
//! In: questions about one text: is it this, does it begin with that, does a regular expression find something. Out: for each way in
//! which they can be answered together, a text that is answered so. Each question becomes an automaton over bytes; their product,
//! within well-formed UTF-8, is walked from the start, shortest texts first. A combination of answers that no state of the
//! product gives, no text gives. What is over a bound is not decided.

use regex_automata::Anchored;
use regex_automata::MatchKind;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Bytes of one automaton.
const MAX_AUTOMATON: usize = 1 << 20;
/// States of a product.
const MAX_STATES: usize = 4_096;
/// Steps of automata that are taken for all texts of a policy.
const MAX_STEPS: usize = 20_000_000;

/// A question about a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Is(String),
    /// Whether it begins with one of these.
    Starts(Vec<String>),
    Ends(Vec<String>),
    Contains(Vec<String>),
    Matches(String),
    /// Whether it has at least so many characters, and at most so many.
    Sized(u64, Option<u64>),
    /// Whether it stands before this one in the order of texts, or is it if that counts.
    Before(String, bool),
}

/// The greatest number of characters that is counted by an automaton.
pub(super) const MAX_COUNTED: u64 = 64;

impl Question {
    /// The regular expression of the whole texts to which the answer is yes.
    fn pattern(&self) -> String {
        const ANY: &str = "(?s-u:.)*";
        match self {
            Self::Is(text) => format!("{}\\z", regex_syntax::escape(text)),
            Self::Starts(texts) => format!("{}{ANY}\\z", one_of(texts)),
            Self::Ends(texts) => format!("{ANY}{}\\z", one_of(texts)),
            Self::Contains(texts) => format!("{ANY}{}{ANY}\\z", one_of(texts)),
            Self::Matches(pattern) => format!("{ANY}(?:{pattern}){ANY}\\z"),
            Self::Sized(least, most) => {
                let most = most.map_or_else(String::new, |most| most.to_string());
                format!("(?s:.){{{least},{most}}}\\z")
            }
            Self::Before(text, or_equal) => before(text, *or_equal),
        }
    }
}

/// The regular expression of these texts.
fn one_of(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| regex_syntax::escape(text)).collect();
    format!("(?:{})", texts.join("|"))
}

/// The regular expression of the texts ahead of one, by their bytes: those that end where it goes on, and those that differ from it first by a lesser byte.
fn before(text: &str, or_equal: bool) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let mut ways = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        let same = escaped(text.as_bytes().get(..at).unwrap_or_default());
        ways.push(format!("{same}\\z"));
        if let Some(below) = byte.checked_sub(1) {
            ways.push(format!("{same}[\\x00-\\x{below:02x}](?s:.)*\\z"));
        }
    }
    if or_equal {
        ways.push(format!("{}\\z", escaped(text.as_bytes())));
    }
    // nothing stands before the empty text
    if ways.is_empty() { "[a&&b]".to_owned() } else { format!("(?s-u:{})", ways.join("|")) }
}

type Dfa = dense::DFA<Vec<u32>>;

/// The automata that have been made; none for a question that is over the bound.
#[derive(Default)]
pub(super) struct Automata {
    made: HashMap<Question, Option<Rc<Dfa>>>,
    /// Any text.
    texts: Option<Rc<Dfa>>,
    /// Steps that have been taken.
    steps: usize,
}

/// Texts, each with the answers to all questions.
pub(super) type Answered = Vec<(String, Vec<bool>)>;

impl Automata {
    /// The automaton of a question.
    fn of(&mut self, question: &Question) -> Option<Rc<Dfa>> {
        if let Some(made) = self.made.get(question) {
            return made.clone();
        }
        let made = build(&question.pattern(), false);
        self.made.insert(question.clone(), made.clone());
        made
    }

    /// Which questions have an automaton.
    pub(super) fn is_decided(&mut self, question: &Question) -> bool {
        self.of(question).is_some()
    }

    /// A text for each combination of answers that there is; nothing if the questions together are over the bound, or one of them is.
    pub(super) fn answers(&mut self, questions: &[&Question]) -> Option<Answered> {
        let mut automata = questions.iter().map(|question| self.of(question)).collect::<Option<Vec<_>>>()?;
        if self.texts.is_none() {
            self.texts = build("(?s:.)*\\z", true);
        }
        automata.push(self.texts.clone()?);
        walk(&automata, &mut self.steps)
    }
}

fn build(pattern: &str, utf8: bool) -> Option<Rc<Dfa>> {
    let config = dense::Config::new()
        .start_kind(StartKind::Anchored)
        .match_kind(MatchKind::All)
        .dfa_size_limit(Some(MAX_AUTOMATON))
        .determinize_size_limit(Some(MAX_AUTOMATON.saturating_mul(4)));
    let mut builder = dense::Builder::new();
    builder.configure(config).syntax(syntax::Config::new().utf8(utf8));
    builder.build(pattern).ok().map(Rc::new)
}

/// A state of the product, and the way there: the state before and the byte.
struct Visited {
    states: Vec<StateID>,
    from: Option<(usize, u8)>,
}

/// A text for each combination of answers; nothing if that takes more states or steps than there may be.
fn walk(automata: &[Rc<Dfa>], steps: &mut usize) -> Option<Answered> {
    let begin = start::Config::new().anchored(Anchored::Yes);
    let first = automata.iter().map(|dfa| dfa.start_state(&begin).ok()).collect::<Option<Vec<_>>>()?;
    let bytes = representatives(automata);
    let mut known: HashSet<Vec<StateID>> = HashSet::from([first.clone()]);
    let mut visited = vec![Visited { states: first, from: None }];
    let mut found: Answered = Vec::new();
    let mut answered: HashSet<Vec<bool>> = HashSet::new();
    let mut next = 0;
    while let Some(Visited { states, .. }) = visited.get(next) {
        let states = states.clone();
        let ends = automata.iter().zip(&states);
        let mut answers: Vec<bool> =
            ends.map(|(dfa, state)| dfa.is_match_state(dfa.next_eoi_state(*state))).collect();
        // the last automaton is that of texts: what it does not take is none
        if answers.pop() == Some(true) && answered.insert(answers.clone()) {
            found.push((text_to(&visited, next)?, answers));
        }
        *steps = steps.saturating_add(bytes.len().saturating_mul(automata.len()));
        if *steps > MAX_STEPS {
            return None;
        }
        for byte in &bytes {
            let mut after = Vec::with_capacity(states.len());
            for (dfa, state) in automata.iter().zip(&states) {
                let state = dfa.next_state(*state, *byte);
                if dfa.is_quit_state(state) {
                    return None;
                }
                after.push(state);
            }
            let is_text =
                automata.last().zip(after.last()).is_some_and(|(dfa, state)| !dfa.is_dead_state(*state));
            if is_text && known.insert(after.clone()) {
                if visited.len() >= MAX_STATES {
                    return None;
                }
                visited.push(Visited { states: after, from: Some((next, *byte)) });
            }
        }
        next = next.saturating_add(1);
    }
    Some(found)
}

/// One byte for each class of bytes that no automaton tells apart: a letter or another sign that can be printed, if there is one.
fn representatives(automata: &[Rc<Dfa>]) -> Vec<u8> {
    let printable = (b'a'..=b'z').chain(b'0'..=b'9').chain(b' '..=b'~');
    let mut classes: HashSet<Vec<u8>> = HashSet::new();
    let class = |byte: u8| automata.iter().map(|dfa| dfa.byte_classes().get(byte)).collect::<Vec<u8>>();
    printable.chain(0..=u8::MAX).filter(|byte| classes.insert(class(*byte))).collect()
}

fn text_to(visited: &[Visited], at: usize) -> Option<String> {
    let mut bytes = Vec::new();
    let mut state = visited.get(at)?;
    while let Some((before, byte)) = state.from {
        bytes.push(byte);
        state = visited.get(before)?;
    }
    bytes.reverse();
    String::from_utf8(bytes).ok()
}
