//! Reviews by several people: who is asked, how many of them have to approve, and until when.
//!
//! In: the argument of `review` in a policy document, a map. Out: a [`ReviewPanel`], or a sentence about the argument without a value
//! of it; and of people who have approved, whether they are enough. Each of them counts once, so that nobody is two of two. Bounded by
//! [`MAX_PEOPLE`].

use crate::cel::{Duration, JsonRef, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The people whom one review may need, and the names that it may have.
const MAX_PEOPLE: usize = 32;

/// What stands in front of the name of a group.
const GROUP: &str = "group:";

const KEYS: &str = "a review takes `any_of` with `at_least`, or `all_of`, and `expires`";

/// Who has to approve of a review: for each of its parts some of several people, each person for one part.
///
/// ```
/// use celador::policy::ReviewPanel;
///
/// let asked = serde_json::json!({"any_of": ["group:payments", "group:leads"], "at_least": 2, "expires": "1h"});
/// let panel = ReviewPanel::read(celador::Json::from(&asked).root())?;
/// assert_eq!(panel.to_string(), "2 of group:payments, group:leads");
/// assert_eq!((panel.people(), panel.expires_ms), (2, Some(3_600_000)));
///
/// // one person in both groups is one of two
/// let kim = ["group:payments".to_owned(), "group:leads".to_owned()];
/// let lee = ["group:leads".to_owned()];
/// assert_eq!((panel.is_full(&[&kim]), panel.filled(&[&kim])), (false, 1));
/// assert!(panel.is_full(&[&kim, &lee]));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewPanel {
    /// The parts, all of which have to be full.
    pub all_of: Vec<ReviewSeats>,
    /// After so many milliseconds the review counts as denied, if the bound of all reviews is not less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// People of whom some have to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewSeats {
    /// Ids, e-mail addresses, and groups as `group:NAME`.
    pub any_of: Vec<String>,
    /// How many different people have to approve, 1 at least.
    pub at_least: usize,
}

impl ReviewPanel {
    /// Reads the argument of `review`.
    ///
    /// # Errors
    /// A sentence about what is wrong with it.
    pub fn read(argument: JsonRef<'_>) -> Result<Self, String> {
        let members: Vec<_> = argument.entries().collect();
        let known = ["any_of", "all_of", "at_least", "expires"];
        if members.iter().any(|(name, _)| !known.contains(name)) || !argument.is_object() {
            return Err(KEYS.to_owned());
        }
        let all_of = match (argument.get("any_of"), argument.get("all_of")) {
            (Some(_), None) => vec![ReviewSeats::read(argument)?],
            (None, Some(parts)) if argument.get("at_least").is_none() => {
                parts.items().map(part).collect::<Result<_, _>>()?
            }
            (None, Some(_)) => {
                return Err("`at_least` goes with `any_of`: `all_of` needs all of its parts".to_owned());
            }
            _ => return Err(KEYS.to_owned()),
        };
        let panel = Self { all_of, expires_ms: argument.get("expires").map(milliseconds).transpose()? };
        if panel.all_of.is_empty() {
            return Err("`all_of` is a list of one part at least".to_owned());
        }
        if panel.people() > MAX_PEOPLE || panel.names().count() > MAX_PEOPLE {
            return Err(format!(
                "a review needs {MAX_PEOPLE} people at most, and has {MAX_PEOPLE} names at most"
            ));
        }
        Ok(panel)
    }

    /// Whether a text can be the name of a reviewer: an id, an e-mail address, or `group:` and a name.
    pub(crate) fn is_name(text: &str) -> bool {
        let text = text.strip_prefix(GROUP).unwrap_or(text);
        !text.trim().is_empty() && !text.contains(char::is_control)
    }

    /// How many people have to approve.
    #[must_use]
    pub fn people(&self) -> usize {
        self.all_of.iter().fold(0, |sum, seats| sum.saturating_add(seats.at_least))
    }

    /// The names of all who are asked, some perhaps more than once.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.all_of.iter().flat_map(|seats| &seats.any_of)
    }

    /// Whether people fill all parts. Each is given by the names of the panel that are theirs.
    #[must_use]
    pub fn is_full(&self, people: &[&[String]]) -> bool {
        self.filled(people) == self.people()
    }

    /// How many of the people that are needed these are: somebody for whose part there is no need any more is none.
    #[must_use]
    pub fn filled(&self, people: &[&[String]]) -> usize {
        let seats: Vec<&[String]> =
            self.all_of.iter().flat_map(|part| std::iter::repeat_n(&*part.any_of, part.at_least)).collect();
        // a person in the seat of another, who may take a seat elsewhere: each seat looks for one once
        let mut taken: Vec<Option<usize>> = vec![None; people.len()];
        let is_taken =
            |seat: &usize| seat_one(*seat, &seats, people, &mut taken, &mut vec![false; people.len()]);
        (0..seats.len()).filter(is_taken).count()
    }
}

/// Finds a person for a seat; whoever sits elsewhere moves if another can take their place. As deep as there are people.
fn seat_one(
    seat: usize,
    seats: &[&[String]],
    people: &[&[String]],
    taken: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let Some(wanted) = seats.get(seat) else { return false };
    for (person, names) in people.iter().enumerate() {
        let is_new = tried.get_mut(person).is_some_and(|tried| !std::mem::replace(tried, true));
        if !is_new || !names.iter().any(|name| wanted.contains(name)) {
            continue;
        }
        let before = taken.get(person).copied().flatten();
        if before.is_none_or(|before| seat_one(before, seats, people, taken, tried)) {
            if let Some(place) = taken.get_mut(person) {
                *place = Some(seat);
            }
            return true;
        }
    }
    false
}

/// A part of `all_of`: a name, or people of whom some have to approve.
fn part(part: JsonRef<'_>) -> Result<ReviewSeats, String> {
    if part.is_object() {
        return match part.entries().all(|(name, _)| matches!(name, "any_of" | "at_least")) {
            true => ReviewSeats::read(part),
            false => Err("a part of `all_of` is a name, or a map of `any_of` and `at_least`".to_owned()),
        };
    }
    Ok(ReviewSeats { any_of: vec![name(part)?], at_least: 1 })
}

impl ReviewSeats {
    fn read(part: JsonRef<'_>) -> Result<Self, String> {
        let names = part.get("any_of").filter(|names| names.is_array() && !names.is_empty());
        let names = names.ok_or("`any_of` is a list of one name at least")?;
        let any_of: Vec<String> = names.items().map(name).collect::<Result<_, _>>()?;
        let at_least = match part.get("at_least").map(JsonRef::value) {
            None => 1,
            Some(Value::Int(count)) if count > 0 => usize::try_from(count).unwrap_or(usize::MAX),
            Some(_) => return Err("`at_least` is a whole number, 1 at least".to_owned()),
        };
        if any_of.iter().enumerate().any(|(at, name)| any_of.iter().take(at).any(|other| other == name)) {
            return Err("`any_of` has a name twice".to_owned());
        }
        // how many a group has is known to nobody here
        if at_least > any_of.len() && !any_of.iter().any(|name| name.starts_with(GROUP)) {
            return Err("`at_least` is more than the people of `any_of`".to_owned());
        }
        Ok(Self { any_of, at_least })
    }
}

fn name(name: JsonRef<'_>) -> Result<String, String> {
    let text = name.as_str().filter(|text| ReviewPanel::is_name(text));
    text.map(str::to_owned)
        .ok_or_else(|| "a reviewer is a text: an id, an e-mail address, or `group:` and a name".to_owned())
}

fn milliseconds(span: JsonRef<'_>) -> Result<u64, String> {
    let span = span.as_str().and_then(|text| Duration::parse(text).ok());
    let millis = span.and_then(|span| u64::try_from(span.nanos().div_euclid(1_000_000)).ok());
    millis.filter(|millis| *millis > 0).ok_or_else(|| "`expires` is a span of time, such as `1h`".to_owned())
}

impl fmt::Display for ReviewPanel {
    /// `2 of group:payments, group:leads`; of several parts with `, and ` between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, seats) in self.all_of.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", and " })?;
            match &*seats.any_of {
                [only] if seats.at_least == 1 => f.write_str(only)?,
                names => write!(f, "{} of {}", seats.at_least, names.join(", "))?,
            }
        }
        Ok(())
    }
}
