//! Named classes of characters, and their unions, complements and cases.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};
use std::sync::LazyLock;

type Ranges = &'static [(char, char)];

const DIGIT: Ranges = &[('0', '9')];
const SPACE: Ranges = &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')];
const WORD: Ranges = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// The classes of POSIX, which are those of ASCII.
const POSIX: [(&str, Ranges); 14] = [
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("ascii", &[('\0', '\x7f')]),
    ("blank", &[('\t', '\t'), (' ', ' ')]),
    ("cntrl", &[('\0', '\x1f'), ('\x7f', '\x7f')]),
    ("digit", DIGIT),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[('\t', '\r'), (' ', ' ')]),
    ("upper", &[('A', 'Z')]),
    ("word", WORD),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

/// General categories. [`property`] adds `C` and `Cs`.
const CATEGORIES: [&str; 34] = [
    "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Scripts, by the names that RE2 has for them. It knows neither short names nor another case.
const SCRIPTS: [&str; 163] = [
    "Adlam",
    "Ahom",
    "Anatolian_Hieroglyphs",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bassa_Vah",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Carian",
    "Caucasian_Albanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Chorasmian",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cypro_Minoan",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Dives_Akuru",
    "Dogra",
    "Duployan",
    "Egyptian_Hieroglyphs",
    "Elbasan",
    "Elymaic",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gunjala_Gondi",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanifi_Rohingya",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Imperial_Aramaic",
    "Inherited",
    "Inscriptional_Pahlavi",
    "Inscriptional_Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kawi",
    "Kayah_Li",
    "Kharoshthi",
    "Khitan_Small_Script",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Linear_A",
    "Linear_B",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Makasar",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Masaram_Gondi",
    "Medefaidrin",
    "Meetei_Mayek",
    "Mende_Kikakui",
    "Meroitic_Cursive",
    "Meroitic_Hieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "Nag_Mundari",
    "Nandinagari",
    "New_Tai_Lue",
    "Newa",
    "Nko",
    "Nushu",
    "Nyiakeng_Puachue_Hmong",
    "Ogham",
    "Ol_Chiki",
    "Old_Hungarian",
    "Old_Italic",
    "Old_North_Arabian",
    "Old_Permic",
    "Old_Persian",
    "Old_Sogdian",
    "Old_South_Arabian",
    "Old_Turkic",
    "Old_Uyghur",
    "Oriya",
    "Osage",
    "Osmanya",
    "Pahawh_Hmong",
    "Palmyrene",
    "Pau_Cin_Hau",
    "Phags_Pa",
    "Phoenician",
    "Psalter_Pahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "SignWriting",
    "Sinhala",
    "Sogdian",
    "Sora_Sompeng",
    "Soyombo",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Takri",
    "Tamil",
    "Tangsa",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Toto",
    "Ugaritic",
    "Vai",
    "Vithkuqi",
    "Wancho",
    "Warang_Citi",
    "Yezidi",
    "Yi",
    "Zanabazar_Square",
];

/// `d`, `s` or `w`, or the complement for the capital.
pub(super) fn perl(letter: char, fold_case: bool) -> Option<ClassUnicode> {
    let ranges = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        'w' => WORD,
        _ => return None,
    };
    Some(signed(of_ranges(ranges), letter.is_ascii_uppercase(), fold_case))
}

/// `alpha`, or `^alpha` for the complement.
pub(super) fn posix(name: &str, fold_case: bool) -> Option<ClassUnicode> {
    let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let (_, ranges) = POSIX.iter().find(|(known, _)| *known == name)?;
    Some(signed(of_ranges(ranges), negated, fold_case))
}

/// A general category, a script or `Any`, or its complement.
pub(super) fn property(name: &str, negated: bool, fold_case: bool) -> Option<ClassUnicode> {
    let class = match name {
        "Any" => of_ranges(&[('\0', char::MAX)]),
        // surrogates, which no text contains
        "Cs" => ClassUnicode::empty(),
        // to RE2 a character that is not assigned is of no category
        "C" => {
            let mut class = unicode("gc", "Cc")?;
            class.union(&unicode("gc", "Cf")?);
            class.union(&unicode("gc", "Co")?);
            class
        }
        name if CATEGORIES.contains(&name) => unicode("gc", name)?,
        name if SCRIPTS.binary_search(&name).is_ok() => unicode("sc", name)?,
        _ => return None,
    };
    Some(signed(class, negated, fold_case))
}

/// Characters of the names of groups: letters, digits, marks and connectors.
static NAME_CHARACTERS: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let categories = ["Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"];
    let classes = categories.iter().filter_map(|category| unicode("gc", category));
    let ranges: Vec<_> = classes.flat_map(|class| class.ranges().to_vec()).collect();
    ClassUnicode::new(ranges)
});

/// Whether a group can be called so.
pub(super) fn is_group_name(name: &str) -> bool {
    let is_part = |char: char| match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
        '\0'..='\x7f' => false,
        _ => {
            let ranges = NAME_CHARACTERS.ranges();
            let after = ranges.partition_point(|range| range.end() < char);
            ranges.get(after).is_some_and(|range| range.start() <= char)
        }
    };
    !name.is_empty() && name.chars().all(is_part)
}

/// One character, or those that differ from it in case as well.
pub(super) fn character(char: char, fold_case: bool) -> ClassUnicode {
    signed(of_ranges(&[(char, char)]), false, fold_case)
}

/// The characters from one number to another, without surrogates.
pub(super) fn range(first: u32, last: u32) -> impl Iterator<Item = ClassUnicodeRange> {
    const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
    let below = (first, last.min(SURROGATES.0.saturating_sub(1)));
    let above = (first.max(SURROGATES.1.saturating_add(1)), last);
    let ranges = [below, above].into_iter().filter(|(first, last)| first <= last);
    ranges.filter_map(|(first, last)| {
        Some(ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?))
    })
}

/// A class in brackets. `named` are the ranges of named classes, which are complete.
pub(super) fn bracket(
    written: Vec<ClassUnicodeRange>,
    named: Vec<ClassUnicodeRange>,
    negated: bool,
    fold_case: bool,
) -> ClassUnicode {
    let mut class = ClassUnicode::new(written);
    if fold_case {
        fold(&mut class);
    }
    class.union(&ClassUnicode::new(named));
    signed(class, negated, false)
}

fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

/// A property, by the names of which the tables of Unicode are complete in `regex-syntax`.
fn unicode(key: &str, name: &str) -> Option<ClassUnicode> {
    let class = regex_syntax::parse(&format!(r"\p{{{key}={name}}}")).ok()?;
    match class.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        // a class of one character
        HirKind::Literal(text) => {
            let char = std::str::from_utf8(&text.0).ok()?.chars().next()?;
            Some(of_ranges(&[(char, char)]))
        }
        _ => None,
    }
}

/// The characters that differ in case from one of these are added before they are negated, so the complement has none of them.
fn signed(mut class: ClassUnicode, negated: bool, fold_case: bool) -> ClassUnicode {
    if fold_case {
        fold(&mut class);
    }
    if negated {
        class.negate();
    }
    class
}

/// Most characters whose cases are looked up one by one. `regex-syntax` looks at each character of a range.
const FEW: u32 = 256;

/// Characters that have another case, or are one. All others are left out before cases are looked up.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let class = regex_syntax::parse(r"\p{Changes_When_Casemapped}").map(Hir::into_kind);
    match class {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => of_ranges(&[('\0', char::MAX)]),
    }
});

fn fold(class: &mut ClassUnicode) {
    let width = |range: &ClassUnicodeRange| u32::from(range.end()).saturating_sub(range.start().into());
    let characters = class.iter().map(width).fold(0, u32::saturating_add);
    let mut cased = class.clone();
    if characters > FEW {
        cased.intersect(&CASED);
    }
    // fails only without the tables of cases, which the workspace always builds
    let _ = cased.try_case_fold_simple();
    class.union(&cased);
}

#[cfg(test)]
mod tests {
    use super::CASED;

    #[test]
    fn a_character_without_cases_has_no_other_case() {
        let mut others = CASED.clone();
        others.negate();
        let mut folded = others.clone();
        folded.try_case_fold_simple().unwrap();
        assert_eq!(folded, others);
        assert!(CASED.iter().count() > 100);
    }
}
