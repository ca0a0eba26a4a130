//! Which kinds have their sign in a text.
//!
//! In: a text and the wanted kinds. Out: those whose sign stands there, the same ones by each of two ways. The signs of all kinds as one
//! automaton are quick to search with, and take longer to compile than a process needs that decides about one call, as a hook does. So
//! texts are looked through for letters first, and the signs are compiled when that has taken about as long.

use super::kind::Kind;
use super::wanted::Wanted;
use regex::{Regex, RegexSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signs of a table.
pub(super) struct Signs {
    kinds: &'static [Kind],
    of_all: OnceLock<Option<RegexSet>>,
    of_one: Vec<OnceLock<Option<Regex>>>,
    /// Bytes that were looked through for letters.
    looked_through: AtomicUsize,
}

/// The bytes of texts in which looking for letters takes about as long as to compile the signs of all kinds.
const WORTH_COMPILING: usize = 65_536;

/// What a look at a text takes besides its bytes, in bytes.
const A_LOOK: usize = 256;

impl Signs {
    pub(super) fn new(kinds: &'static [Kind]) -> Self {
        let of_one = vec![OnceLock::new(); kinds.len()];
        Self { kinds, of_all: OnceLock::new(), of_one, looked_through: AtomicUsize::new(0) }
    }

    /// The wanted kinds whose sign stands in a text; `None` if a sign does not compile, which a test excludes.
    pub(super) fn of(&self, wanted: Wanted, text: &str) -> Option<Wanted> {
        if self.of_all.get().is_none() && self.have_letters(wanted) {
            let looked = self.looked_through.fetch_add(text.len().saturating_add(A_LOOK), Ordering::Relaxed);
            if looked.saturating_add(text.len()) < WORTH_COMPILING {
                return self.by_letters(wanted, text);
            }
        }
        self.by_all(wanted, text)
    }

    fn by_all(&self, wanted: Wanted, text: &str) -> Option<Wanted> {
        let signs = self.of_all.get_or_init(|| RegexSet::new(self.kinds.iter().map(|kind| kind.sign)).ok());
        Some(Wanted::of(signs.as_ref()?.matches(text).iter().filter(|index| wanted.has(*index))))
    }

    fn by_letters(&self, wanted: Wanted, text: &str) -> Option<Wanted> {
        let lower = text.to_ascii_lowercase();
        let mut signed = Vec::new();
        for (index, (kind, sign)) in self.kinds.iter().zip(&self.of_one).enumerate() {
            if wanted.has(index) && kind.letters.iter().any(|letters| lower.contains(letters)) {
                let sign = sign.get_or_init(|| Regex::new(kind.sign).ok()).as_ref()?;
                signed.extend(sign.is_match(text).then_some(index));
            }
        }
        Some(Wanted::of(signed))
    }

    fn have_letters(&self, wanted: Wanted) -> bool {
        let without = |(index, kind): (usize, &Kind)| wanted.has(index) && kind.letters.is_empty();
        !self.kinds.iter().enumerate().any(without)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pii::PII;
    use super::super::secrets::SECRETS;
    use super::super::wanted::Wanted;
    use super::{A_LOOK, Kind, Signs, WORTH_COMPILING};
    use proptest::prelude::*;
    use proptest::string::string_regex;
    use std::sync::LazyLock;

    fn all() -> Wanted {
        Wanted::of(0..SECRETS.len())
    }

    fn with_letters() -> Wanted {
        Wanted::of(
            SECRETS.iter().enumerate().filter(|(_, kind)| !kind.letters.is_empty()).map(|(index, _)| index),
        )
    }

    #[test]
    fn all_signs_compile() {
        for kinds in [PII, SECRETS] {
            assert!(Signs::new(kinds).by_all(all(), "").is_some());
        }
        for kind in SECRETS {
            assert!(regex::Regex::new(kind.sign).is_ok(), "{}", kind.name);
        }
    }

    #[test]
    fn signs_are_compiled_when_that_pays() {
        let signs = Signs::new(SECRETS);
        for _ in 0..WORTH_COMPILING / A_LOOK {
            signs.of(with_letters(), "").unwrap();
        }
        assert!(signs.of_all.get().is_none());
        signs.of(with_letters(), "").unwrap();
        assert!(signs.of_all.get().is_some());
        // one long text is enough, and a kind of which no letters can be said
        for (wanted, text) in [(with_letters(), "x".repeat(WORTH_COMPILING)), (all(), String::new())] {
            let signs = Signs::new(SECRETS);
            signs.of(wanted, &text).unwrap();
            assert!(signs.of_all.get().is_some());
        }
    }

    /// For each kind a text with its sign in it.
    fn signed() -> impl Strategy<Value = Vec<String>> {
        let sign = |kind: &Kind| {
            let parts = (".{0,20}", string_regex(kind.sign).unwrap(), "[ -~]{0,20}");
            parts.prop_map(|(before, sign, behind)| format!("{before}{sign}{behind}"))
        };
        SECRETS.iter().map(sign).collect::<Vec<_>>()
    }

    proptest! {
        /// A process that has just begun finds what one finds that has decided about many calls.
        #[test]
        fn both_ways_say_the_same(texts in signed()) {
            static SIGNS: LazyLock<Signs> = LazyLock::new(|| Signs::new(SECRETS));
            for (at, text) in texts.iter().enumerate() {
                let by_all = SIGNS.by_all(with_letters(), text);
                prop_assert_eq!(by_all, SIGNS.by_letters(with_letters(), text));
                prop_assert_eq!(by_all.unwrap().has(at), with_letters().has(at));
            }
        }
    }
}
