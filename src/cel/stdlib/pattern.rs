//! Regular expressions whose price is known before they are compiled, and before they are run.
//!
//! The engine `regex-automata` is linear in the text for every pattern, but the factor is the pattern's: `[01]{1,2000}` over a
//! megabyte takes a minute. So a pattern is read first, counted repetitions multiplied out: how many *places* a match
//! can stand at, each of which every character may have to visit, and how many *ranges* of characters compiling goes
//! through, `\pL` being some hundreds. Nothing is compiled and no text is searched before it is paid for.
//!
//! A small constant pattern is compiled when it first searches: a process that decides about one call, as a hook does, runs few of the rules
//! that it loads, and compiling takes most of the time of loading one. A pattern that might be too large is compiled at once.

use crate::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use crate::meter::{Meter, text_units};
use crate::re2;
use regex_automata::meta::{Config, Regex};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use std::sync::OnceLock;

/// Cost units for each byte of a pattern that is compiled when it runs; each range costs one more.
pub(super) const COMPILE_COST: u64 = 50;

/// Places that the price of text includes; a pattern of more makes it dearer.
const PLACES_INCLUDED: u64 = 16;

/// What reading a class by property (`\p{L}`) costs: where case is ignored, as much as compiling a small pattern.
const PROPERTY_COST: u64 = 1_000;
/// What it is taken to hold before it is read.
const BYTES_PER_PROPERTY: usize = 64 * 1024;

/// Bytes that a compiled pattern holds for each range, and besides; measured, the crate does not tell.
const BYTES_PER_RANGE: u64 = 64;
const BYTES_AT_LEAST: u64 = 16 * 1024;
/// The most states of a range beyond ASCII: it is split into at most 21 sequences of four bytes of UTF-8.
const MOST_STATES_PER_RANGE: u64 = 21 * 4;
/// The most bytes of a state: 24, those of a few ways from it, and what is kept of a group but for its name.
const MOST_BYTES_PER_STATE: u64 = 128;
/// Ways from a state, of 8 bytes each, that take no more than half of what a state is counted for.
const WAYS_PER_STATE: u64 = 8;
/// Bytes of a pattern that count as a state, since names of groups are kept twice.
const BYTES_OF_NAMES_PER_STATE: u64 = 16;

/// A pattern that was read but not compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    places: u64,
    ranges: u64,
    /// It compiles to no more states than these.
    most_states: u64,
}

/// The price of a regular expression, known before another package compiles it.
///
/// ```
/// use celador_cel::{EvalLimits, PatternPrice};
///
/// let limits = EvalLimits::default();
/// // a host that is given patterns by others, such as in a JSON Schema, asks before it compiles them
/// let price = |pattern| PatternPrice::of(pattern, &limits);
/// let (short, long) = (price("^[a-z]{1,8}$").ok_or("a pattern")?, price("^(a{1,30}b){1,90}$").ok_or("a pattern")?);
/// assert!(short.bytes < long.bytes && short.factor < long.factor);
/// assert!(price("(unclosed").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PatternPrice {
    /// About the bytes that it holds once it is compiled.
    pub bytes: usize,
    /// The cost of a search in a text, as a multiple of the cost of reading that text.
    pub factor: u64,
}

impl PatternPrice {
    /// Reads a pattern in the syntax of the crate `regex`, which is not that of [`crate::re2`]; `None` if the text is not a
    /// pattern. Linear in it, apart from classes by property.
    #[must_use]
    pub fn of(pattern: &str, limits: &EvalLimits) -> Option<Self> {
        let hir = ParserBuilder::new().nest_limit(re2::MAX_NESTING).build().parse(pattern).ok()?;
        let extent = Extent::of_hir(pattern, &hir);
        let by_property = properties(pattern).saturating_mul(BYTES_PER_PROPERTY);
        Some(Self { bytes: extent.bytes(limits).max(by_property), factor: extent.factor() })
    }
}

/// A pattern that was read and that compiles, which it does when it first searches at the latest.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: Box<str>,
    extent: Extent,
    max_bytes: usize,
    compiled: OnceLock<Result<CompiledPattern, Fault>>,
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    pub(crate) regex: Regex,
    /// The number of its groups. The engine does not count those that it never enters, as in `(a){0}`.
    pub(crate) captures: usize,
}

impl Extent {
    /// Reads one of the constant patterns of an expression, of which so many `properties` may still be read.
    ///
    /// # Errors
    /// `invalid_argument` if it is none, `budget_exceeded` if it names too many properties.
    pub(crate) fn of_constant(pattern: &str, properties: &mut usize) -> Result<Self, Fault> {
        let rest = properties.checked_sub(self::properties(pattern));
        *properties = rest.ok_or(Fault::budget("max_patterns_bytes"))?;
        Self::of(pattern)
    }

    /// How many properties the constant patterns of an expression may name together.
    pub(crate) fn max_properties(limits: &EvalLimits) -> usize {
        limits.max_patterns_bytes / BYTES_PER_PROPERTY
    }

    /// Reads a pattern. Linear in it but for its properties.
    fn of(pattern: &str) -> Result<Self, Fault> {
        Ok(Self::of_hir(pattern, &parsed(pattern)?.hir()))
    }

    fn of_hir(pattern: &str, hir: &Hir) -> Self {
        let extent = Self::of_part(hir);
        let names = pattern.len() as u64 / BYTES_OF_NAMES_PER_STATE;
        Self { most_states: extent.most_states.saturating_add(names), ..extent }
    }

    fn of_part(part: &Hir) -> Self {
        match part.kind() {
            HirKind::Empty => Self { places: 0, ranges: 0, most_states: 1 },
            HirKind::Look(_) => Self { places: 1, ranges: 1, most_states: 1 },
            // few beginnings of one text are matched at a time
            HirKind::Literal(text) => {
                let bytes = text.0.len() as u64;
                Self { places: (bytes / 8).saturating_add(1), ranges: bytes, most_states: bytes }
            }
            HirKind::Class(class) => {
                let (ranges, is_ascii) = match class {
                    Class::Unicode(class) => (class.ranges().len(), class.is_ascii()),
                    Class::Bytes(class) => (class.ranges().len(), class.is_ascii()),
                };
                let ranges = ranges as u64;
                let states = match is_ascii {
                    true => ranges / WAYS_PER_STATE,
                    false => ranges.saturating_mul(MOST_STATES_PER_RANGE),
                };
                Self { places: 1, ranges, most_states: states.saturating_add(1) }
            }
            HirKind::Repetition(repeated) => {
                let times = u64::from(repeated.max.unwrap_or(repeated.min).max(1));
                let Self { places, ranges, most_states } = Self::of_part(&repeated.sub);
                // each time may be left out, and what has no end begins again
                let most_states = most_states.saturating_add(2).saturating_mul(times).saturating_add(2);
                Self {
                    places: places.saturating_mul(times),
                    ranges: ranges.saturating_mul(times),
                    most_states,
                }
            }
            HirKind::Capture(group) => {
                let inner = Self::of_part(&group.sub);
                Self { most_states: inner.most_states.saturating_add(2), ..inner }
            }
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                let sum = Self { places: 0, ranges: 0, most_states: 2 };
                parts.iter().map(Self::of_part).fold(sum, |sum, part| Self {
                    places: sum.places.saturating_add(part.places),
                    ranges: sum.ranges.saturating_add(part.ranges),
                    most_states: sum.most_states.saturating_add(part.most_states),
                })
            }
        }
    }

    /// How many times the price of looking at a text a search in it costs.
    pub(crate) fn factor(self) -> u64 {
        (self.places / PLACES_INCLUDED).max(1)
    }

    /// About the bytes that it holds once it is compiled.
    pub(crate) fn bytes(self, limits: &EvalLimits) -> usize {
        let bytes = self.ranges.saturating_mul(BYTES_PER_RANGE).saturating_add(BYTES_AT_LEAST);
        usize::try_from(bytes).unwrap_or(usize::MAX).min(limits.max_regex_bytes)
    }

    /// No more bytes than these are those of what it compiles to.
    fn most_bytes(self) -> usize {
        let most = self.most_states.saturating_mul(MOST_BYTES_PER_STATE).saturating_add(BYTES_AT_LEAST);
        usize::try_from(most).unwrap_or(usize::MAX)
    }
}

impl Pattern {
    /// A pattern that was read before, compiled unless it surely can be.
    ///
    /// # Errors
    /// `invalid_argument` if it is none after all, `budget_exceeded` if it is over `max_regex_bytes`.
    pub(crate) fn new(pattern: &str, extent: Extent, limits: &EvalLimits) -> Result<Self, Fault> {
        let max_bytes = limits.max_regex_bytes;
        let pattern = Self { text: pattern.into(), extent, max_bytes, compiled: OnceLock::new() };
        if extent.most_bytes() > max_bytes {
            pattern.compiled()?;
        }
        Ok(pattern)
    }

    /// A pattern that is known only when it runs, paid for.
    ///
    /// # Errors
    /// As [`Pattern::new`], and `budget_exceeded`.
    pub(crate) fn compile(meter: &mut Meter<'_>, pattern: &str) -> Result<Self, Fault> {
        meter.charge((pattern.len() as u64).saturating_mul(COMPILE_COST))?;
        meter.charge((properties(pattern) as u64).saturating_mul(PROPERTY_COST))?;
        let extent = Extent::of(pattern)?;
        meter.charge(extent.ranges)?;
        Self::new(pattern, extent, meter.limits())
    }

    /// The cost units of one search through a text of so many bytes.
    pub(crate) fn cost(&self, bytes: usize) -> u64 {
        let factor = usize::try_from(self.extent.factor()).unwrap_or(usize::MAX);
        text_units(bytes.saturating_mul(factor))
    }

    /// Pays for one search through a text of so many bytes.
    ///
    /// # Errors
    /// `budget_exceeded`.
    pub(crate) fn charge(&self, meter: &mut Meter<'_>, bytes: usize) -> Result<(), Fault> {
        meter.charge(self.cost(bytes))
    }

    /// Whether it is found in a text, paid for.
    ///
    /// # Errors
    /// `budget_exceeded`.
    pub(crate) fn is_match(&self, meter: &mut Meter<'_>, text: &str) -> Result<bool, Fault> {
        self.charge(meter, text.len())?;
        Ok(self.compiled()?.regex.is_match(text))
    }

    /// The compiled expression, to search with what [`Pattern::charge`] has paid for.
    ///
    /// # Errors
    /// As [`Pattern::new`], which excludes them.
    pub(crate) fn compiled(&self) -> Result<&CompiledPattern, Fault> {
        self.compiled.get_or_init(|| compiled(&self.text, self.max_bytes)).as_ref().map_err(|fault| *fault)
    }
}

fn parsed(pattern: &str) -> Result<re2::Parsed, Fault> {
    re2::parse(pattern).map_err(|error| Fault::refused(error.kind.expected()))
}

fn compiled(pattern: &str, max_bytes: usize) -> Result<CompiledPattern, Fault> {
    let parsed = parsed(pattern)?;
    let config = Config::new()
        .nfa_size_limit(Some(max_bytes))
        // the cache of a search; less would slow ordinary patterns down
        .hybrid_cache_capacity(max_bytes.saturating_mul(2));
    let built = Regex::builder().configure(config).build_from_hir(&parsed.hir());
    let regex = built.map_err(|error| match error.size_limit() {
        Some(_) => Fault::budget("max_regex_bytes"),
        None => ErrorCode::InvalidArgument.into(),
    })?;
    Ok(CompiledPattern { regex, captures: usize::try_from(parsed.captures).unwrap_or(usize::MAX) })
}

/// The classes by property that a pattern names.
fn properties(pattern: &str) -> usize {
    pattern.matches("\\p").count().saturating_add(pattern.matches("\\P").count())
}

#[cfg(test)]
mod tests {
    use super::{Extent, Pattern, PatternPrice, compiled};
    use crate::limits::EvalLimits;
    use proptest::prelude::*;

    #[test]
    fn counted_repetitions_are_multiplied_out() {
        let places = |pattern: &str| Extent::of(pattern).unwrap().places;
        assert_eq!(places("^[0-9]+$"), 3);
        assert_eq!(places("[01]{1,1000}[^01]"), 1001);
        assert_eq!(places("(?:[01]{1,30}){1,30}"), 900);
        assert_eq!(places("abc[0-9]{3}"), 4);
        // patterns of schemas are of another syntax, which has no bound of repetition
        let price = PatternPrice::of("(?:(?:[ab]{1000}){1000}){1000}", &EvalLimits::default());
        assert_eq!(price.unwrap().factor, 1_000_000_000 / 16);
        assert!(Extent::of("(").is_err() && Extent::of(&"(".repeat(5_000)).is_err());
    }

    #[test]
    fn a_small_pattern_is_compiled_when_it_searches() {
        let limits = EvalLimits::default();
        let made = |text: &str| Pattern::new(text, Extent::of(text).unwrap(), &limits);
        let small = made("(^|/)([.]env|[.]ssh/|id_rsa)").unwrap();
        assert!(small.compiled.get().is_none());
        assert!(small.compiled().unwrap().regex.is_match("/home/kim/.ssh/id"));
        assert!(small.compiled.get().is_some());
        let may_be_large = made(r"\pL+").unwrap();
        assert!(may_be_large.compiled.get().is_some());
        assert!(made(r"\pL{100}").is_err());
    }

    fn sparse() -> String {
        format!("[{}]", (0..128).step_by(2).map(|sign| format!(r"\x{sign:02x}")).collect::<String>())
    }

    #[test]
    fn states_with_many_ways_are_counted_by_their_ways() {
        let pattern = format!("(?:{}){{192}}", sparse().repeat(3));
        let extent = Extent::of(&pattern).unwrap();
        assert!(compiled(&pattern, EvalLimits::default().max_regex_bytes).is_err());
        assert!(compiled(&pattern, extent.most_bytes()).is_ok());
    }

    /// Patterns of all that patterns are made of, which repeat and nest.
    fn patterns() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just(String::new()),
            Just("^".to_owned()),
            Just(r"\b".to_owned()),
            Just(".".to_owned()),
            Just(r"\s".to_owned()),
            Just("[^a]".to_owned()),
            Just("(?i)k".to_owned()),
            // every second character of ASCII: one state with as many ways from it as there can be
            Just(sparse()),
            "[a-z]{200}".prop_map(|name| format!("(?P<{name}>)")),
            "[a-zäß€😀]{1,20}",
            (any::<char>(), any::<char>()).prop_map(|(a, b)| {
                let (least, most) = (a.min(b), a.max(b));
                format!("[\\x{{{:x}}}-\\x{{{:x}}}]", u32::from(least), u32::from(most))
            }),
        ];
        part.prop_recursive(5, 40, 6, |part| {
            prop_oneof![
                prop::collection::vec(part.clone(), 1..6)
                    .prop_map(|parts| format!("(?:{})", parts.join("|"))),
                prop::collection::vec(part.clone(), 1..6).prop_map(|parts| parts.concat()),
                part.clone().prop_map(|part| format!("({part})")),
                (part.clone(), 0_u32..9, 0_u32..9).prop_map(|(part, least, more)| format!(
                    "(?:{part}){{{least},{}}}",
                    least.saturating_add(more)
                )),
                (part, prop_oneof![Just("*"), Just("+?"), Just("{3,}")])
                    .prop_map(|(part, sign)| format!("(?:{part}){sign}")),
            ]
        })
    }

    proptest! {
        /// What is not compiled at once does not turn out to be too large when a rule runs.
        #[test]
        fn no_pattern_compiles_to_more_than_is_said(pattern in patterns()) {
            if let Ok(extent) = Extent::of(&pattern) {
                let compiled = compiled(&pattern, extent.most_bytes());
                prop_assert!(compiled.is_ok(), "{pattern}: {} bytes, {compiled:?}", extent.most_bytes());
            }
        }
    }
}
