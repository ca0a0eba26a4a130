//! Questions about texts, decided by automata.
//!
//! In: questions about one text: is it this, does it begin with that, does a regular expression find something. Out: for each way in
//! which they can be answered together, a text that is answered so. Each question becomes an automaton over bytes; their product,
//! within well-formed UTF-8, is walked from the start, shortest texts first. A combination of answers that no state of the
//! product gives, no text gives. What is over a bound is not decided.

use crate::cel::re2;
use regex_automata::Anchored;
use regex_automata::MatchKind;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Dot, Hir, Look, Repetition};
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
    /// The expression of the whole texts to which the answer is yes.
    fn hir(&self) -> Option<Hir> {
        let end = || Hir::look(Look::End);
        Some(match self {
            Self::Is(text) => Hir::concat(vec![literal(text), end()]),
            Self::Starts(texts) => Hir::concat(vec![one_of(texts), any(), end()]),
            Self::Ends(texts) => Hir::concat(vec![any(), one_of(texts), end()]),
            Self::Contains(texts) => Hir::concat(vec![any(), one_of(texts), any(), end()]),
            Self::Matches(pattern) => {
                // `\B` holds between the bytes of a character, where no match begins
                let pattern = re2::parse(pattern).ok()?.hir();
                Hir::concat(vec![characters(0, None), pattern, characters(0, None), end()])
            }
            Self::Sized(least, most) => {
                let max = most.map(u32::try_from).transpose().ok()?;
                Hir::concat(vec![characters(u32::try_from(*least).ok()?, max), end()])
            }
            Self::Before(text, or_equal) => bytes(&before(text, *or_equal))?,
        })
    }
}

fn repeated(part: Hir, min: u32, max: Option<u32>) -> Hir {
    Hir::repetition(Repetition { min, max, greedy: true, sub: Box::new(part) })
}

/// Any bytes.
fn any() -> Hir {
    repeated(Hir::dot(Dot::AnyByte), 0, None)
}

/// So many characters.
fn characters(min: u32, max: Option<u32>) -> Hir {
    repeated(Hir::dot(Dot::AnyChar), min, max)
}

fn literal(text: &str) -> Hir {
    Hir::literal(text.as_bytes())
}

/// The expression of these texts.
fn one_of(texts: &[String]) -> Hir {
    Hir::alternation(texts.iter().map(|text| literal(text)).collect())
}

/// An expression of this program about bytes, in the syntax of `regex`.
fn bytes(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().utf8(false).build().parse(pattern).ok()
}

/// The regular expression of the texts before one, by their bytes: those that end where it goes on, and those that differ from it first by a lesser byte.
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
        let made = question.hir().and_then(|hir| build(&hir));
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
            self.texts = build(&Hir::concat(vec![characters(0, None), Hir::look(Look::End)]));
        }
        automata.push(self.texts.clone()?);
        walk(&automata, &mut self.steps)
    }
}

fn build(hir: &Hir) -> Option<Rc<Dfa>> {
    let config = dense::Config::new()
        .start_kind(StartKind::Anchored)
        .match_kind(MatchKind::All)
        .dfa_size_limit(Some(MAX_AUTOMATON))
        .determinize_size_limit(Some(MAX_AUTOMATON.saturating_mul(4)));
    // the automaton has at least a state for each part of the expression
    let bound = thompson::Config::new().nfa_size_limit(Some(MAX_AUTOMATON)).utf8(false);
    let nfa = thompson::Compiler::new().configure(bound).build_from_hir(hir).ok()?;
    dense::Builder::new().configure(config).build_from_nfa(&nfa).ok().map(Rc::new)
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
