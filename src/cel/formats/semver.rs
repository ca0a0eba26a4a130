//! Semantic versions, as semver.org has them.

use crate::fault::Fault;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

const EXPECTED: &str = "a semantic version is three numbers with dots between them, without leading zeros, then parts behind `-` and `+`";

/// Bytes of the longest version that is looked at, so that asking has one price.
const LONGEST: usize = 256;

/// A semantic version. Its order is that of semver.org; what stands behind `+` has no part in it, nor in equality.
///
/// ```
/// use celador_cel::Semver;
///
/// let (beta, release): (Semver, Semver) = ("1.10.0-beta.2".parse()?, "1.10.0+linux".parse()?);
/// assert!(beta < release && release == "1.10.0".parse()?);
/// assert_eq!((release.major(), release.minor(), release.patch()), (1, 10, 0));
/// assert!("1.10".parse::<Semver>().is_err());
/// assert_eq!(Semver::normalized("v1.10")?.to_string(), "1.10.0");
/// # Ok::<(), celador_cel::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Semver {
    numbers: [u64; 3],
    /// The parts behind `-`.
    before_release: Vec<Part>,
    build: Option<Box<str>>,
}

/// A part of what stands behind `-`. Numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(Box<str>),
}

impl FromStr for Semver {
    type Err = Fault;

    /// Reads a version. Linear in the text, which has at most 256 bytes.
    ///
    /// # Errors
    /// `invalid_argument`.
    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::read(text).ok_or(Fault::refused(EXPECTED))
    }
}

impl Semver {
    /// Reads a version that may have a `v` in front, leading zeros, and no patch or minor number, which then is 0.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn normalized(text: &str) -> Result<Self, Fault> {
        let mut parts: Vec<String> =
            text.strip_prefix('v').unwrap_or(text).splitn(3, '.').map(without_zeros).collect();
        // a version without a patch number has nothing else behind it
        let is_short = parts.len() < 3;
        if text.len() > LONGEST || is_short && text.contains(['+', '-']) {
            return Err(Fault::refused(EXPECTED));
        }
        parts.resize(3, "0".to_owned());
        parts.join(".").parse()
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (rest, build) = cut(text, '+');
        let (numbers, before_release) = cut(rest, '-');
        let mut numbers = numbers.split('.').map(number);
        let read = [numbers.next()??, numbers.next()??, numbers.next()??];
        let is_whole = numbers.next().is_none() && build.is_none_or(|build| build.split('.').all(is_word));
        let parts = before_release.into_iter().flat_map(|parts| parts.split('.')).map(part);
        let before_release = parts.collect::<Option<_>>()?;
        is_whole.then(|| Self { numbers: read, before_release, build: build.map(Into::into) })
    }

    /// The first number.
    #[must_use]
    pub fn major(&self) -> u64 {
        let [major, ..] = self.numbers;
        major
    }

    /// The second number.
    #[must_use]
    pub fn minor(&self) -> u64 {
        let [_, minor, _] = self.numbers;
        minor
    }

    /// The third number.
    #[must_use]
    pub fn patch(&self) -> u64 {
        let [.., patch] = self.numbers;
        patch
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        // a release comes after all that stood before it
        let released = || self.before_release.is_empty().cmp(&other.before_release.is_empty());
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(released).then_with(|| self.before_release.cmp(&other.before_release))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Semver {}

impl fmt::Display for Semver {
    /// The version as it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major(), self.minor(), self.patch())?;
        for (place, part) in self.before_release.iter().enumerate() {
            f.write_str(if place == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Word(word) => f.write_str(word)?,
            }
        }
        self.build.as_ref().map_or(Ok(()), |build| write!(f, "+{build}"))
    }
}

/// What stands before a sign, and what stands behind it if it is there.
fn cut(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A number without leading zeros that 64 bits hold.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| is_number(text) && (text == "0" || !text.starts_with('0')))
}

fn part(text: &str) -> Option<Part> {
    if is_number(text) {
        number(text).map(Part::Number)
    } else {
        is_word(text).then(|| Part::Word(text.into()))
    }
}

/// A number, and what stands behind it, without zeros in front.
fn without_zeros(text: &str) -> String {
    let rest = text.trim_start_matches('0');
    let has_number = rest.starts_with(|first: char| first.is_ascii_digit());
    if has_number || text.len() == rest.len() { rest.to_owned() } else { format!("0{rest}") }
}
