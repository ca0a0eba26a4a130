//! The macros as people look them up: one row a macro, like the rows of the functions.
//!
//! What a macro does stands in `macros` (its shape) and in the evaluator; here is how it is written, what it gives and
//! what it costs. Messages about misused macros, the reference page, completion and the tests read these rows.

/// A macro: a call that decides itself which of its arguments are evaluated, and how often.
///
/// ```
/// use celador_cel::{MACROS, Macro};
///
/// // what an editor shows when somebody types a dot behind a list
/// let of_lists: Vec<&str> =
///     MACROS.iter().filter(|row| row.receivers().any(|receiver| receiver == "list")).map(|row| row.name).collect();
/// assert!(of_lists.contains(&"exists") && !of_lists.contains(&"has"));
/// let Macro { forms, examples, .. } = MACROS.iter().find(|row| row.name == "all").ok_or("it is a macro")?;
/// assert_eq!(forms[0], "list.all(x, condition)");
/// assert!(examples.iter().any(|(_, result)| *result == "true"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Macro {
    /// The name as it is called: `has`, `all`, `cel.bind`.
    pub name: &'static str,
    /// How it is written, the most usual form first; the word before a dot names the kind that it is called on.
    pub forms: &'static [&'static str],
    /// Its result, on one line.
    pub doc: &'static str,
    /// Its cost, on one line.
    pub cost: &'static str,
    /// Expressions with their results: CEL text for a value, `error: code` for an error.
    pub examples: &'static [(&'static str, &'static str)],
}

impl Macro {
    /// The words before the dot in the forms of a macro, such as `list` in `list.all(x, condition)`.
    pub fn receivers(&self) -> impl Iterator<Item = &'static str> {
        let calls = self.forms.iter().filter_map(|form| form.split_once('.'));
        calls.filter(|(_, call)| call.starts_with(self.name)).map(|(receiver, _)| receiver)
    }
}

/// What every loop costs.
const LOOP: &str = "1, and for each element visited 1 and what the condition costs";
/// What every loop costs that makes something of each element.
const BUILDING: &str = "1, and for each element 1, what the expressions cost, and what is built";

/// All macros.
pub const MACROS: &[Macro] = &[
    Macro {
        name: "has",
        forms: &["has(value.field)", "has(variable)"],
        doc: "whether the value has the field; of a variable that may be absent, whether it is there",
        cost: "1, and what the value costs",
        examples: &[
            ("has({'a': 1}.a)", "true"),
            ("has({'a': null}.a)", "true"),
            ("has({'a': 1}.b)", "false"),
            ("has({'a': {}}.a.b)", "false"),
            ("has({}.a.b)", "error: no_such_key"),
            ("has({}.?a.b)", "false"),
        ],
    },
    Macro {
        name: "all",
        forms: &[
            "list.all(x, condition)",
            "map.all(key, condition)",
            "list.all(index, x, condition)",
            "map.all(key, value, condition)",
        ],
        doc: "whether the condition holds for every element; true of an empty list. Stops at the first false",
        cost: LOOP,
        examples: &[
            ("[1, 2, 3].all(x, x > 0)", "true"),
            ("[].all(x, x > 0)", "true"),
            ("{'a': 1, 'b': 2}.all(key, key < 'c')", "true"),
            ("{'a': 1, 'b': 2}.all(key, value, value > 1)", "false"),
            ("['a', 0].all(x, x == 1 && 1 / x > 0)", "false"),
            ("[0, 1].all(x, 1 / x > 0)", "error: divide_by_zero"),
        ],
    },
    Macro {
        name: "exists",
        forms: &[
            "list.exists(x, condition)",
            "map.exists(key, condition)",
            "list.exists(index, x, condition)",
            "map.exists(key, value, condition)",
        ],
        doc: "whether the condition holds for some element; false of an empty list. Stops at the first true",
        cost: LOOP,
        examples: &[
            ("[1, 2, 3].exists(x, x > 2)", "true"),
            ("[].exists(x, true)", "false"),
            ("{'a': 1}.exists(key, key == 'b')", "false"),
            ("['a', 'b'].exists(index, x, index == 1 && x == 'b')", "true"),
            ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ],
    },
    Macro {
        name: "exists_one",
        forms: &[
            "list.exists_one(x, condition)",
            "map.exists_one(key, condition)",
            "list.exists_one(index, x, condition)",
            "map.exists_one(key, value, condition)",
        ],
        doc: "whether the condition holds for exactly one element. Looks at all of them, and fails if one fails",
        cost: LOOP,
        examples: &[
            ("[1, 2, 3].exists_one(x, x > 2)", "true"),
            ("[1, 2, 3].exists_one(x, x > 1)", "false"),
            ("{'a': 1, 'b': 2}.exists_one(key, value, value == 2)", "true"),
            ("[1, 0].exists_one(x, 1 / x == 1)", "error: divide_by_zero"),
        ],
    },
    Macro {
        name: "existsOne",
        forms: &[
            "list.existsOne(x, condition)",
            "map.existsOne(key, condition)",
            "list.existsOne(index, x, condition)",
            "map.existsOne(key, value, condition)",
        ],
        doc: "another name of `exists_one`",
        cost: LOOP,
        examples: &[("['a', 'b'].existsOne(x, x == 'a')", "true")],
    },
    Macro {
        name: "filter",
        forms: &["list.filter(x, condition)", "map.filter(key, condition)"],
        doc: "the elements for which the condition holds, in order; of a map, the keys",
        cost: BUILDING,
        examples: &[
            ("[1, 2, 3].filter(x, x != 2)", "[1, 3]"),
            ("{'a': 1, 'b': 2}.filter(key, key > 'a')", "['b']"),
            ("[1, 0].filter(x, 1 / x > 0)", "error: divide_by_zero"),
        ],
    },
    Macro {
        name: "map",
        forms: &[
            "list.map(x, value)",
            "list.map(x, condition, value)",
            "map.map(key, value)",
            "map.map(key, condition, value)",
        ],
        doc: "what the value is for each element, in order; with a condition, for each for which it holds",
        cost: BUILDING,
        examples: &[
            ("[1, 2].map(x, x * 10)", "[10, 20]"),
            ("[1, 2, 3].map(x, x > 1, x * 10)", "[20, 30]"),
            ("{'a': 1}.map(key, key + '!')", "['a!']"),
        ],
    },
    Macro {
        name: "transformList",
        forms: &[
            "list.transformList(index, x, result)",
            "list.transformList(index, x, condition, result)",
            "map.transformList(key, value, result)",
        ],
        doc: "a list of what the result is for each element and its index, or each entry of a map",
        cost: BUILDING,
        examples: &[
            ("['a', 'b'].transformList(index, x, string(index) + x)", "['0a', '1b']"),
            ("['a', 'b'].transformList(index, x, index > 0, x)", "['b']"),
            ("{'a': 1}.transformList(key, value, [key, string(value)])", "[['a', '1']]"),
        ],
    },
    Macro {
        name: "transformMap",
        forms: &[
            "map.transformMap(key, value, result)",
            "map.transformMap(key, value, condition, result)",
            "list.transformMap(index, x, result)",
        ],
        doc: "a map with the same keys (of a list, its indices) and what the result is for each",
        cost: BUILDING,
        examples: &[
            ("{'a': 1, 'b': 2}.transformMap(key, value, value * 10)", "{'a': 10, 'b': 20}"),
            ("{'a': 1, 'b': 2}.transformMap(key, value, value > 1, value)", "{'b': 2}"),
            ("['a'].transformMap(index, x, x)", "{0: 'a'}"),
        ],
    },
    Macro {
        name: "transformMapEntry",
        forms: &[
            "map.transformMapEntry(key, value, entries)",
            "map.transformMapEntry(key, value, condition, entries)",
            "list.transformMapEntry(index, x, entries)",
        ],
        doc: "one map of the maps that the last argument is for each element; no key may come twice",
        cost: BUILDING,
        examples: &[
            ("{'a': 'x', 'b': 'y'}.transformMapEntry(key, value, {value: key})", "{'x': 'a', 'y': 'b'}"),
            ("['a', 'b'].transformMapEntry(index, x, index > 0, {x: index})", "{'b': 1}"),
            ("{'a': 1, 'b': 1}.transformMapEntry(key, value, {value: key})", "error: duplicate_key"),
        ],
    },
    Macro {
        name: "sortBy",
        forms: &["list.sortBy(x, key)"],
        doc: "the elements in the order of their keys, which are all of one type that has an order; equal keys keep their order",
        cost: "1, for each element 1 and what the key costs, and the comparisons",
        examples: &[
            ("['bb', 'a', 'ccc'].sortBy(x, size(x))", "['a', 'bb', 'ccc']"),
            ("[{'n': 2}, {'n': 1}].sortBy(x, x.n)", "[{'n': 1}, {'n': 2}]"),
            ("[1, 2, 3].sortBy(x, -x)", "[3, 2, 1]"),
        ],
    },
    Macro {
        name: "cel.bind",
        forms: &["cel.bind(name, value, body)"],
        doc: "the body with a name for the value, which is evaluated once",
        cost: "1, and what the value and the body cost",
        examples: &[
            ("cel.bind(x, 3, x * x)", "9"),
            ("cel.bind(x, [1, 2], x.map(y, x.exists(z, z > y)))", "[true, false]"),
            ("cel.bind(x, 1 / 0, 1)", "error: divide_by_zero"),
        ],
    },
    Macro {
        name: "cel.block",
        forms: &["cel.block([value, value], body)"],
        doc: "the body with numbered values, each evaluated at most once and only if it is asked for",
        cost: "1, what the body costs and, of the values, what is asked for",
        examples: &[
            ("cel.block([2, cel.index(0) + 1], cel.index(0) * cel.index(1))", "6"),
            ("cel.block([1 / 0, 2], cel.index(1))", "2"),
            ("cel.block([1 / 0, 2], cel.index(0))", "error: divide_by_zero"),
        ],
    },
    Macro {
        name: "cel.index",
        forms: &["cel.index(0)"],
        doc: "a value of the block around it, by its number; within the values, an earlier one",
        cost: "1, and what the value costs when it is first asked for",
        examples: &[("cel.block(['a'], cel.index(0) + cel.index(0))", "'aa'")],
    },
    Macro {
        name: "cel.iterVar",
        forms: &["cel.iterVar(0, 0)"],
        doc: "a variable of a macro in a block, by numbers in place of a name",
        cost: "1",
        examples: &[(
            "cel.block([[1, 2]], cel.index(0).map(cel.iterVar(0, 0), cel.iterVar(0, 0) * 2))",
            "[2, 4]",
        )],
    },
    Macro {
        name: "cel.accuVar",
        forms: &["cel.accuVar(0, 0)"],
        doc: "a second variable of a macro in a block, by numbers in place of a name",
        cost: "1",
        examples: &[("[1, 2].exists(cel.accuVar(0, 0), cel.accuVar(0, 0) > 1)", "true")],
    },
    Macro {
        name: "optMap",
        forms: &["optional.optMap(x, value)"],
        doc: "an optional of what the value is for that of the optional; none of none",
        cost: "1, what the optional costs and, if it has a value, what the other costs",
        examples: &[
            ("{'a': 1}.?a.optMap(x, x + 1) == {'b': 2}.?b", "true"),
            ("{}.?a.optMap(x, x + 1) == {}.?b", "true"),
        ],
    },
    Macro {
        name: "optFlatMap",
        forms: &["optional.optFlatMap(x, optional)"],
        doc: "the optional that the expression is for the value of the optional; none of none",
        cost: "1, what the optional costs and, if it has a value, what the other costs",
        examples: &[
            ("{'a': {'b': 1}}.?a.optFlatMap(x, x.?b) == {'b': 1}.?b", "true"),
            ("{'a': {}}.?a.optFlatMap(x, x.?b) == {}.?b", "true"),
        ],
    },
];

/// How a macro of this name is written, for the message about a call that is none.
pub(crate) fn form(name: &str) -> Option<&'static str> {
    MACROS.iter().find(|row| row.name == name).and_then(|row| row.forms.first()).copied()
}
