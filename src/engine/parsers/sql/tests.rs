//! What is found in statements: a row for each form that names a table.

use super::dialects::{DIALECTS, Reading};
use super::facts::StatementFacts;
use crate::cel::Fault;

fn dialect(name: &str) -> &'static Reading {
    DIALECTS.iter().find(|reading| reading.name == name).unwrap()
}

fn read(name: &str, text: &str) -> Result<Vec<StatementFacts>, Fault> {
    dialect(name).read(text, true)
}

/// Each row: the database, the text, the tables that are read and written.
const TABLES: &[(&str, &str, &[&str], &[&str])] = &[
    ("postgres", "select 1 from orders where 1 in (table salaries)", &["orders", "salaries"], &[]),
    ("postgres", "select 1 where exists (table hr.salaries)", &["hr.salaries"], &[]),
    ("postgres", "select 1 union all table salaries", &["salaries"], &[]),
    ("postgres", "select 1 from only (salaries)", &["salaries"], &[]),
    ("postgres", "select 1 from orders, lateral (select * from staff) s", &["orders", "staff"], &[]),
    ("postgres", "select 1 from orders natural full outer join staff", &["orders", "staff"], &[]),
    ("postgres", "select array(select name from staff)", &["staff"], &[]),
    ("postgres", "select case when (select count(*) from staff) > 1 then 1 end", &["staff"], &[]),
    ("postgres", "select 1 from orders order by (select name from staff limit 1)", &["orders", "staff"], &[]),
    ("postgres", "select 1 from orders limit (select count(*) from staff)", &["orders", "staff"], &[]),
    (
        "postgres",
        "select sum(n) filter (where n in (select id from staff)) from orders",
        &["staff", "orders"],
        &[],
    ),
    (
        "postgres",
        "select sum(n) over (partition by (select 1 from staff)) from orders",
        &["staff", "orders"],
        &[],
    ),
    ("postgres", "select 1 from (orders join staff on true)", &["orders", "staff"], &[]),
    ("postgres", "values ((select name from staff))", &["staff"], &[]),
    (
        "postgres",
        "select 1 from Orders, \"Orders\", \"a.b\", a.b",
        &["orders", "\"Orders\"", "\"a.b\"", "a.b"],
        &[],
    ),
    ("postgres", "select * into copies from orders", &["orders"], &["copies"]),
    ("postgres", "insert into orders select * from staff", &["staff"], &["orders"]),
    (
        "postgres",
        "insert into orders values (1) on conflict (id) do update set n = (select 1 from staff)",
        &["staff"],
        &["orders"],
    ),
    ("postgres", "insert into orders values (1) returning (select name from staff)", &["staff"], &["orders"]),
    ("postgres", "update orders set n = s.n from staff s where s.id = orders.id", &["staff"], &["orders"]),
    ("postgres", "delete from orders using staff where true", &["staff"], &["orders"]),
    (
        "postgres",
        "with x as (delete from orders returning *) insert into archive select * from x",
        &[],
        &["orders", "archive"],
    ),
    (
        "postgres",
        "merge into orders o using staff s on true when matched then delete",
        &["staff"],
        &["orders"],
    ),
    // names of expressions stand for tables only where they are seen
    ("postgres", "with staff as (select 1) select * from staff", &[], &[]),
    ("postgres", "with staff as (select * from staff) select * from staff", &["staff"], &[]),
    ("postgres", "with recursive t as (select 1 union all select 1 from t) select * from t", &[], &[]),
    ("postgres", "with a as (select * from b), b as (select 1) select * from a, b", &["b"], &[]),
    ("postgres", "select * from (with staff as (select 1) select * from staff) x, staff", &["staff"], &[]),
    ("postgres", "with staff as (select 1) select * from hr.staff", &["hr.staff"], &[]),
    (
        "postgres",
        "with staff as (select 1) select * from orders where exists (select 1 from staff)",
        &["orders"],
        &[],
    ),
    ("postgres", "with orders as (select 1) table orders", &[], &[]),
    ("mysql", "select 1 from orders straight_join staff", &["orders", "staff"], &[]),
    ("mysql", "select 1 from `orders` join `staff``s` on 1", &["orders", "\"staff`s\""], &[]),
    ("mysql", "select 1 from Orders", &["\"Orders\""], &[]),
    ("mysql", "replace into orders values (1)", &[], &["orders"]),
    ("mysql", "insert into orders set n = (select n from staff)", &["staff"], &["orders"]),
    (
        "mysql",
        "update orders join staff on true set staff.pay = 1 where orders.id = 'a'",
        &[],
        &["orders", "staff"],
    ),
    ("mssql", "select 1 from orders cross apply staff", &["orders", "staff"], &[]),
    ("mssql", "select 1 from orders outer apply (select * from staff) s", &["orders", "staff"], &[]),
    ("mssql", "select 1 from [orders], [hr].[staff]", &["orders", "hr.staff"], &[]),
    ("mssql", "select 1 from srv.db.dbo.staff", &["srv.db.dbo.staff"], &[]),
    ("mssql", "delete from orders output deleted.id into leaked where id = 1", &[], &["leaked", "orders"]),
    ("sqlite", "select 1 from orders where id in staff", &["orders", "staff"], &[]),
    ("sqlite", "insert or replace into orders values (1)", &[], &["orders"]),
];

#[test]
fn every_table_is_found() {
    let mut wrong = Vec::new();
    for (name, text, reads, writes) in TABLES {
        match read(name, text) {
            Ok(facts) if facts.len() == 1 && facts[0].reads == *reads && facts[0].writes == *writes => {}
            found => wrong.push(format!("{name}: {text}\n  {found:?}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn functions_of_every_form_are_found() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("postgres", "select pg_read_file('/etc/passwd')", &["pg_read_file"]),
        ("postgres", "select * from pg_ls_dir('.')", &["pg_ls_dir"]),
        ("postgres", "select * from lateral pg_ls_dir('.') x", &["pg_ls_dir"]),
        ("postgres", "select Pg_Catalog.LO_import('x')", &["pg_catalog.lo_import"]),
        ("postgres", "select \"Lower\"('x')", &["\"Lower\""]),
        ("postgres", "select 'x'::regclass, cast(1 as text), date '2026-01-01'", &["cast"]),
        (
            "postgres",
            "select extract(year from now()), trim(both from 'x'), position('a' in 'b')",
            &["extract", "now", "trim", "position"],
        ),
        ("postgres", "select 1 operator(evil.+) 2", &["operator"]),
        ("postgres", "select 1 from orders order by sleep(1)", &["sleep"]),
        ("mysql", "select load_file('/etc/passwd')", &["load_file"]),
        ("sqlite", "select * from pragma_table_info('staff')", &["pragma_table_info"]),
        ("mssql", "select * from openrowset('a', 'b', 'c')", &["openrowset"]),
    ];
    for (name, text, functions) in rows {
        let facts = read(name, text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(facts[0].functions, *functions, "{text}");
    }
}

#[test]
fn what_is_read_differently_or_not_at_all_is_an_error() {
    let rows = [
        ("postgres", "table salaries"),
        ("postgres", "select coalesce((table salaries limit 1), 0) from orders"),
        ("postgres", "select 1 from"),
        ("postgres", "select 'open"),
        ("postgres", "select 1 from orders\u{a0}staff"),
        ("postgres", "select 1 from orders\u{0b}"),
        ("mysql", "select 1 /*!50000 from staff */"),
        ("mysql", "select 1 /*M! from staff */"),
        ("mysql", "select '/*!' from orders"),
        // changes another table than it names
        ("mssql", "update orders set pay = 0 from salaries as orders"),
        ("mysql", "delete orders from salaries orders"),
        ("mssql", "with orders as (select * from salaries) update orders set total = 0"),
    ];
    for (name, text) in rows {
        assert!(read(name, text).is_err(), "{name}: {text}: {:?}", read(name, text));
    }
}

/// A condition holds rows by a key only if no other part of it lets more rows in.
#[test]
fn keys_are_columns_that_a_change_holds_to_constants() {
    let rows: &[(&str, &[&str])] = &[
        ("update orders set n = 1 where id = 'a' and paid = 0", &["id"]),
        ("update orders set n = 1 where (orders.id in ('a', 'b')) and n > 0", &["id"]),
        ("delete from orders where 7 = id", &["id"]),
        ("delete from orders where id = $1", &["id"]),
        ("delete from orders", &[]),
        ("delete from orders where id = id", &[]),
        ("delete from orders where id = 'a' or true", &[]),
        ("delete from orders where not id = 'a'", &[]),
        ("delete from orders where id <> 'a'", &[]),
        ("delete from orders where id like '%'", &[]),
        ("delete from orders where id not in ('a')", &[]),
        ("delete from orders where id = 0", &[]),
        ("delete from orders where id in (select id from orders)", &[]),
        ("delete from orders where 1 = 1", &[]),
        ("with x as (delete from orders returning id) delete from items where id = 'a'", &[]),
    ];
    for (text, keys) in rows {
        let facts = read("postgres", text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(facts[0].keys.as_deref().unwrap_or_default(), *keys, "{text}");
    }
}

/// Each row: the text, and the columns that it names.
const COLUMNS: &[(&str, &[&str])] = &[
    ("select id, o.total from orders o order by city", &["id", "total", "city"]),
    ("select o.*, id from orders o", &["*", "id"]),
    ("select 1 union all table orders", &["*"]),
    // a table by its name is a whole row
    ("select orders from orders", &["orders"]),
    ("select (o).email from orders o", &["o", "email"]),
    // new names by position
    ("select city from customers as orders(id, city)", &["city", "*"]),
    ("select city from customers orders(id, city)", &["city", "*"]),
    ("select a from (customers join orders on true) t(a, b)", &["a", "*"]),
    ("select a from (select id from orders) t(a)", &["id", "a"]),
    // columns that are compared without an expression
    ("select 1 from customers join orders using (email)", &["email"]),
    ("select 1 from customers left join orders using (id, salary)", &["id", "salary"]),
    ("select 1 from customers natural join orders", &["*"]),
    ("select 1 from (customers natural join orders)", &["*"]),
    ("select 1 from a join (b join c using (email)) on true", &["email"]),
];

#[test]
fn every_column_is_found() {
    for (text, columns) in COLUMNS {
        let facts = read("postgres", text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        let found: std::collections::BTreeSet<&str> = facts[0].columns.iter().map(String::as_str).collect();
        assert_eq!(found, columns.iter().copied().collect(), "{text}");
    }
}

/// Forms that nest: the start of the text, what opens and closes a level with the innermost part between, and two depths: one that is parsed,
/// and one that no parser sees, as it would try several readings of each level.
type NestedForm = (&'static str, &'static str, &'static str, &'static str, usize, usize);

const NESTED_FORMS: &[NestedForm] = &[
    ("select ", "(", "1", ")", 12, 13),
    ("select ", "(select ", "1", ")", 12, 13),
    ("select ", "f(", "1", ")", 12, 13),
    ("select ", "case when ", "1", " then 1 end", 40, 50),
    ("select ", "1 + ", "1", "", 160, 161),
    ("select ", "not ", "1", "", 160, 161),
    ("select ", "- ", "1", "", 160, 161),
    ("select 1 from ", "(", "t", ")", 12, 13),
    ("select 1 from ", "t join ", "t", "", 20, 21),
    ("select 1 from t where ", "a in (", "1", ")", 12, 20),
    ("", "with a as (", "select 1", ") select 1", 12, 20),
];

/// Texts of the greatest depth are read or refused, on a small stack; deeper ones are not parsed.
#[test]
fn nested_forms_are_bounded() {
    let text = |(start, open, middle, close, _, _): &NestedForm, depth: usize| {
        format!("{start}{}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    on_a_small_stack(move || {
        for form in NESTED_FORMS {
            read_by_each(&text(form, form.4));
            for (reading, depth) in DIALECTS.iter().flat_map(|reading| [(reading, form.5), (reading, 10_000)])
            {
                let text = text(form, depth);
                let fault = reading.read(&text, true).unwrap_err();
                let why = Some("SQL with fewer nested brackets and operators");
                assert_eq!(fault.detail(), why, "{}: {text:.60}", reading.name);
            }
        }
    });
}

/// Long texts that nest nothing are read or refused, on a small stack.
#[test]
fn long_texts_end() {
    on_a_small_stack(|| {
        for (start, word, end) in [
            ("select ", "a.", "b"),
            ("select ", "1 union select ", "1"),
            ("select 1", "::int", ""),
            ("select ", "[", "1"),
            ("insert into t values ", "(1), ", "(1)"),
            ("", "select ", ""),
        ] {
            for count in [80, 160, 5_000] {
                read_by_each(&format!("{start}{}{end}", word.repeat(count)));
            }
        }
    });
}

/// Words of every kind, in pairs that go on for as long as a text may.
#[test]
fn repeated_words_end() {
    const WORDS: &[&str] = &[
        "a", "1", "'x'", "(", ")", "[", "]", ",", ".", "*", "+", "-", "=", "::", "@", "a(", "select", "from",
        "where", "not", "and", "case", "when", "then", "else", "end", "in", "is", "null", "distinct",
        "exists", "between", "like", "any", "all", "union", "with", "as", "values", "table", "join", "cross",
        "apply", "natural", "lateral", "using", "on", "order", "by", "limit", "over", "filter", "array",
        "interval", "cast", "date", "explain", "update", "set", "delete", "insert", "into", "merge", "pivot",
        "unnest", "row", "struct", "begin", "if", "prior",
    ];
    on_a_small_stack(|| {
        for (at, first) in WORDS.iter().enumerate() {
            // a part of all pairs, each word among them; all of them take minutes and were run once
            for second in WORDS.iter().skip(at % 9).step_by(9) {
                let pair = format!("{first} {second} ");
                for start in ["", "select ", "select 1 from ", "select 1 from t where "] {
                    read_by_each(&format!("{start}{}", pair.repeat(12)));
                    read_by_each(&format!("{start}{}", pair.repeat(160)));
                }
            }
        }
    });
}

/// Runs on the stack that threads of a server have.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run).unwrap().join().unwrap();
}

fn read_by_each(text: &str) {
    for reading in DIALECTS {
        let _ = reading.read(text, true);
    }
}
