//! What is known of values beyond their types: what the schemas of arguments say, and what no text has that a function gives.
//!
//! In: an expression of a checked tree. Out: [`Facts`], which make the cells of its subject fewer. Only what holds of every call of which a step is asked is one: a bound
//! that the runtime does not hold values to would make a wrong accusation.

use super::subject::{function, is_argument, sized};
use super::text::{MAX_COUNTED, Question};
use crate::cel::{Checked, Domain, Expr};

/// What a schema says of values beyond their type and their constants.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The least and the greatest number.
    pub(super) numbers: [Option<f64>; 2],
    /// The least and the greatest size.
    pub(super) sizes: [Option<u64>; 2],
    /// Questions about a text, the answer to each of which is yes.
    pub(super) texts: Vec<Question>,
}

/// Functions of texts, and a regular expression that finds nothing in any text that the function gives.
const LACKING: [(&str, &str); 9] = [
    ("lowerAscii", "[A-Z]"),
    ("upperAscii", "[a-z]"),
    ("trim", r"^[ \t\r\n]|[ \t\r\n]$"),
    ("getHost", "[A-Z]"),
    ("getHost", "/"),
    ("getHostname", "[A-Z]"),
    ("getHostname", "/"),
    ("getScheme", "[A-Z]"),
    ("getScheme", "[/:]"),
];

/// What the schema of an argument says: no call of which a step is asked has others, though calls on record that were refused for it may.
pub(super) fn facts(checked: &Checked, expr: &Expr, domain: Option<&Domain>) -> Facts {
    if let Some(of) = sized(checked, expr).filter(|of| is_argument(checked, of)) {
        let count = |size: Option<u64>| size.and_then(|size| u32::try_from(size).ok()).map(f64::from);
        return Facts { numbers: sizes(checked.domain_of(of.id)).map(count), ..Facts::default() };
    }
    let Some(domain) = domain.filter(|_| is_argument(checked, expr)) else { return Facts::default() };
    let sizes = sizes(Some(domain));
    let counted = match sizes {
        [least, Some(most)] if most <= MAX_COUNTED => Some(Question::Sized(least.unwrap_or(0), Some(most))),
        [Some(least), _] if least <= MAX_COUNTED => Some(Question::Sized(least, None)),
        _ => None,
    };
    let pattern = domain.pattern.as_ref().map(|pattern| Question::Matches(pattern.to_string()));
    Facts { numbers: [domain.least, domain.most], sizes, texts: pattern.into_iter().chain(counted).collect() }
}

/// What no text has that a function gives.
pub(super) fn lacks(checked: &Checked, expr: &Expr) -> Vec<Question> {
    let Some((name, _)) = function(checked, expr) else { return Vec::new() };
    let own = LACKING.iter().filter(|(known, _)| *known == name);
    own.map(|(_, pattern)| Question::Matches((*pattern).to_owned())).collect()
}

/// The least and the greatest size that a schema holds values to.
fn sizes(domain: Option<&Domain>) -> [Option<u64>; 2] {
    let held = domain.filter(|_| cfg!(feature = "schemas"));
    [held.and_then(|domain| domain.min_size), held.and_then(|domain| domain.max_size)]
}
