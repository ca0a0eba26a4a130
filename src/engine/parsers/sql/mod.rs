//! `sql.parse`: the statements of an SQL text, as a database reads them.
//!
//! The text is parsed by `sqlparser`; a text that it cannot parse is an error, so a rule that asks this function rejects what
//! it does not understand. With a dialect the text is read as that database reads it with default settings. Without one it has to be
//! read alike by all of them: comments, quotes and escapes that two databases read differently are an error.

mod dialects;
mod facts;
mod names;
mod scopes;
#[cfg(test)]
mod tests;

pub(crate) use facts::STATEMENT_KINDS;

use super::{check_size, string_map, texts};
use crate::cel::{Code, ErrorCode, Fault, Function, List, Meter, Value};
use dialects::DIALECTS;
use facts::StatementFacts;

/// Cost units for each byte and dialect: a parser looks at a character several times.
const UNITS_PER_BYTE: u64 = 2;

/// The name that stands for all databases: a text has to be read alike by each.
const ALL: &str = "all";

/// The row of `sql.parse`.
pub(super) const PARSE: Function = Function {
    name: "sql.parse",
    doc: "the statements of an SQL text: of each the `kinds` (its own, and those of statements inside), the tables that it `reads` and `writes`, \
          the `functions` that it calls, the `columns` that it names (`*` for all of a table, and where a join or an alias names none), the `keys` (columns that the WHERE of every UPDATE \
          and DELETE holds to constants), and whether it `locks` rows; an error where the text cannot be parsed. Dialects: `postgres`, `mysql`, `sqlite`, `mssql`; without one, or with `all`, all of them have to read \
          the text alike. Names are as a schema writes them: in double quotes unless they are plain words in small letters",
    cost: "1, 2 for each byte and dialect, and what is built",
    overloads: &[
        ("sql_parse", "sql.parse(string) -> list(map(string, dyn))"),
        ("sql_parse_dialect", "sql.parse(string, string) -> list(map(string, dyn))"),
    ],
    examples: &[
        (
            "sql.parse('select count(*) from orders o join shop.items i on i.id = o.item').map(s, [s.kinds, s.reads, s.functions])",
            "[[['select'], ['orders', 'shop.items'], ['count']]]",
        ),
        (
            "sql.parse('with old as (delete from orders where id = 7 returning *) select * from old', 'postgres').map(s, [s.kinds, s.reads, s.writes])",
            "[[['select', 'delete'], [], ['orders']]]",
        ),
        (
            "sql.parse('select id from orders where id in (table salaries)', 'postgres')[0].reads",
            "['orders', 'salaries']",
        ),
        ("sql.parse('select 1 from orders cross apply staff', 'mssql')[0].reads", "['orders', 'staff']"),
        ("sql.parse(\"update orders set paid = 1 where id = 'o-1'\")[0].keys", "['id']"),
        ("sql.parse('update orders set paid = 1 where id > 0')[0].keys", "[]"),
        ("sql.parse('select 1; drop table orders').map(s, s.kinds)", "[['select'], ['drop']]"),
        ("sql.parse('select * from Orders', 'postgres')[0].reads", "['orders']"),
        ("sql.parse('select * from \"Orders\"', 'postgres')[0].reads", "['\"Orders\"']"),
        ("sql.parse('select from where')", "error: invalid_argument"),
        (r#"sql.parse("select * from orders where note = 'it\\'s'")"#, "error: invalid_argument"),
        ("sql.parse('select 1 /*! from staff */')", "error: invalid_argument"),
    ],
    code: Code::Named(statements, || DIALECTS.iter().map(|dialect| dialect.name).chain([ALL]).collect()),
};

fn statements<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let (text, dialect) = match args {
        [Value::String(text)] => (text, None),
        [Value::String(text), Value::String(name)] if &**name == ALL => (text, None),
        [Value::String(text), Value::String(name)] => {
            let dialect = DIALECTS.iter().find(|dialect| dialect.name == &**name);
            (text, Some(dialect.ok_or(Fault::from(ErrorCode::InvalidArgument))?))
        }
        _ => return Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    };
    check_size(meter, text)?;
    let mut first: Option<Vec<StatementFacts>> = None;
    for reading in dialect.map_or(DIALECTS, std::slice::from_ref) {
        meter.charge((text.len() as u64).saturating_mul(UNITS_PER_BYTE))?;
        let facts = reading.read(text, dialect.is_some())?;
        match &first {
            None => first = Some(facts),
            Some(other) if *other == facts => {}
            Some(_) => return Err(Fault::refused("a text that all databases read alike, or a dialect")),
        }
    }
    let facts = first.unwrap_or_default();
    List::charge(meter, facts.len())?;
    facts.into_iter().map(|facts| shown(meter, facts)).collect::<Result<_, _>>().map(Value::list)
}

/// A statement as expressions see it.
fn shown<'a>(meter: &mut Meter<'_>, facts: StatementFacts) -> Result<Value<'a>, Fault> {
    let StatementFacts { kinds, reads, writes, functions, columns, keys, locks } = facts;
    let lists = [
        ("kinds", kinds),
        ("reads", reads),
        ("writes", writes),
        ("functions", functions),
        ("columns", columns),
    ];
    let mut entries = Vec::with_capacity(lists.len().saturating_add(2));
    for (name, list) in lists {
        entries.push((name, texts(meter, list)?));
    }
    entries.push(("keys", texts(meter, keys.unwrap_or_default())?));
    entries.push(("locks", Value::Bool(locks)));
    string_map(meter, entries)
}
