//! `celador variables`: what an expression may read, off the types that it is checked against.
//!
//! In: nothing, or the name of a variable or field. Out: every field with its type and what it holds; as a page of Markdown, also where which variable is
//! known. The agent is made up: `FUNCTION` stands for a function, `PARAMETER` for a parameter of its inputs, `EXPOSED` for a value of `exposes`.

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::cel::{RecordType, Storage, Type};
use celador::context::{
    CallAtHand, ContextSchema, FunctionDecl, Root, SchemaDecl, Scope, ScopeDecl, ScopeEnv, counters_type,
    event_type,
};
use celador::diagnostic::nearest;
use celador::limits::EvalLimits;
use celador::scenario::{Palette, SCOPES};
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;

/// List what expressions may read: variables and their fields
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador variables                    all, one a line
  celador variables context.user       one of them, and what is in it
  celador variables --markdown         the whole reference, as a page

`FUNCTION` stands for a function of the agent, `PARAMETER` for a parameter of its inputs, `EXPOSED` for a
value of `exposes`, and `[0]` for any element of a list. `celador repl MANIFESTS` knows those of an agent.

Exit codes: 0 listed, 1 there is none of this name.")]
pub(crate) struct Arguments {
    /// The variable or field to show, such as `context.user`
    name: Option<String>,

    /// The whole reference as Markdown
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// A variable, or a field of one.
struct Row {
    /// What it is a field of; empty for a variable.
    parent: String,
    path: String,
    name: String,
    ty: String,
    about: String,
    /// Whether it is always there.
    is_sure: bool,
    /// What its own fields stand under, if it has some.
    fields: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let rows = rows();
        if self.markdown {
            screen.text(&page(&rows))?;
            return Ok(ExitCode::Yes);
        }
        let asked = self.name.as_deref().map(long_name);
        let is_asked = |row: &&Row| {
            asked.as_deref().is_none_or(|name| {
                let rest = row.path.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
        };
        let found: Vec<&Row> = rows.iter().filter(is_asked).collect();
        if let (true, Some(name)) = (found.is_empty(), &self.name) {
            let near = nearest(name, rows.iter().map(|row| &*row.path));
            return Err(Failure::Unusable(messages::unknown_variable(name, near)));
        }
        let widest =
            |of: fn(&Row) -> &String| found.iter().map(|row| of(row).len()).max().unwrap_or_default();
        let (path, ty) = (widest(|row| &row.path), widest(|row| &row.ty));
        for row in &found {
            match screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = screen.palette();
                    let text =
                        format!("{bold}{:path$}{reset}  {:ty$}  {}", row.path, row.ty, row.about_all());
                    screen.line(text.trim_end())?;
                }
                Format::Json => {
                    let row = json!({ "name": row.path, "value_type": row.ty, "about": row.about, "always": row.is_sure });
                    screen.json("variable", row)?;
                }
            }
        }
        Ok(ExitCode::Yes)
    }
}

/// A name with the long form of its variable and of `cap`.
fn long_name(name: &str) -> String {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (root, rest) = name.split_at_checked(end).unwrap_or((name, ""));
    let rest = match rest.strip_prefix(".cap") {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!(".capabilities{rest}"),
        _ => rest.to_owned(),
    };
    format!("{}{rest}", Root::long_name(root))
}

impl Row {
    fn about_all(&self) -> String {
        let missing = if self.is_sure { "" } else { "may be missing" };
        [self.about.as_str(), missing]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// The context of an agent that has one of each.
fn schema() -> Option<Arc<ContextSchema>> {
    let own = |name: &str| {
        let (name, fields, aliases) = (name.to_owned(), [].into_iter().collect(), Vec::new());
        Type::Record(Arc::new(RecordType { name, fields, aliases, storage: Storage::Open }))
    };
    let function = FunctionDecl {
        key: "FUNCTION".into(),
        input: own("its arguments"),
        output: own("its result"),
        delegation: true,
    };
    let claims = RecordType {
        name: "claims".to_owned(),
        fields: [].into_iter().collect(),
        aliases: Vec::new(),
        storage: Storage::Open,
    };
    let declared = SchemaDecl {
        functions: vec![function],
        parameters: vec![("PARAMETER".into(), Type::Dyn)],
        exposes: vec![("EXPOSED".into(), Type::Dyn)],
        claims: Some(Arc::new(claims)),
        ..SchemaDecl::default()
    };
    ContextSchema::new(&declared).ok()
}

/// The environment of a scope of that agent.
fn environment(scope: Scope, schema: &Arc<ContextSchema>) -> ScopeEnv {
    let counters = counters_type([(Arc::from("COUNTER"), Type::Double, false)]);
    ScopeEnv::new(&ScopeDecl {
        schema: Some(schema),
        event: event_type(Type::Dyn, []),
        call: Some(CallAtHand::cel_type(std::iter::empty())),
        has_mount: true,
        of_policy: true,
        counters: Some((Arc::from("policy"), counters)),
        ..ScopeDecl::new(scope, EvalLimits::default())
    })
}

/// All variables and their fields; those of a record stand behind the record.
fn rows() -> Vec<Row> {
    let Some(schema) = schema() else { return Vec::new() };
    let mut walk = Walk::default();
    for &root in Root::ALL {
        let known = Scope::ALL.iter().filter(|scope| scope.roots().contains(&root));
        // the entries under test have types of their own
        let mut known =
            known.filter(|scope| !scope.tests_messages() || matches!(root, Root::Context | Root::Now));
        let variable = known.next().and_then(|scope| {
            let environment = environment(*scope, &schema);
            environment.env().variable(root.name()).cloned()
        });
        let is_sure = variable.as_ref().is_none_or(|variable| !variable.optional);
        let ty = variable.map_or(Type::Dyn, |variable| variable.ty);
        walk.add("", root.name(), root.name().to_owned(), &ty, root.about(), is_sure);
    }
    walk.rows
}

#[derive(Default)]
struct Walk {
    rows: Vec<Row>,
    /// The records whose fields are listed, and where.
    seen: Vec<(Arc<RecordType>, String)>,
}

impl Walk {
    fn add(&mut self, parent: &str, name: &str, path: String, ty: &Type, about: &str, is_sure: bool) {
        let (record, place) = match ty {
            Type::Record(record) => (Some(record), path.clone()),
            Type::Singleton(record) => (Some(record), format!("{path}[0]")),
            Type::List(element) => match &**element {
                Type::Record(record) => (Some(record), format!("{path}[0]")),
                _ => (None, String::new()),
            },
            _ => (None, String::new()),
        };
        let record = record.filter(|record| !record.fields.is_empty());
        let same = record.and_then(|record| self.seen.iter().find(|(seen, _)| is_same(seen, record)));
        let fields = record.map(|_| same.map_or_else(|| place.clone(), |(_, place)| place.clone()));
        let is_new = same.is_none();
        self.rows.push(Row {
            parent: parent.to_owned(),
            name: name.to_owned(),
            path,
            ty: ty.to_string(),
            about: about.to_owned(),
            is_sure,
            fields,
        });
        let Some(record) = record.filter(|_| is_new) else { return };
        self.seen.push((record.clone(), place.clone()));
        for (name, field) in &record.fields {
            self.add(&place, name, format!("{place}.{name}"), &field.ty, &field.doc, field.required);
        }
    }
}

/// Whether two records have the same fields; what is in these may be of other types.
fn is_same(one: &RecordType, other: &RecordType) -> bool {
    let fields = |record: &RecordType| -> Vec<(Arc<str>, String)> {
        record.fields.iter().map(|(name, field)| (name.clone(), field.doc.clone())).collect()
    };
    one.name == other.name && fields(one) == fields(other)
}

const INTRODUCTION: &str = "\
# The context

What an expression may read. This page is written by `celador variables --markdown`, from the types that expressions are checked against.

Times are texts of RFC 3339 in UTC, with as many digits of the second as they have, and compare as times. Lists of calls have the most recent first; messages and
reviews have the oldest first. `FUNCTION` stands for a function of the agent (`orders_refund`), `PARAMETER` for a parameter of its inputs, `EXPOSED` for a value of
`exposes`, and `[0]` for any element of a list. What a function takes and returns has the types that its schemas say; `dyn` is anything.
";

fn page(rows: &[Row]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str(
        "\n## Where which variable is known\n\n| an expression of | variables | functions that not all have |\n|---|---|---|\n",
    );
    let shared = |name: &str| {
        let mut all = Scope::ALL.iter().filter(|scope| **scope != Scope::Script);
        all.all(|scope| scope.functions().iter().copied().flatten().any(|function| function.name == name))
    };
    for scope in Scope::ALL {
        let word = SCOPES.iter().find(|(_, known)| known == scope).map(|(word, _)| format!(" (`{word}`)"));
        let variables: Vec<String> = scope.roots().iter().map(|root| format!("`{}`", root.name())).collect();
        let functions = scope.functions().iter().copied().flatten().filter(|function| !shared(function.name));
        let mut functions: Vec<String> = functions.map(|function| format!("`{}`", function.name)).collect();
        functions.dedup();
        let _ = writeln!(
            text,
            "| {}{} | {} | {} |",
            scope.place(),
            word.unwrap_or_default(),
            variables.join(", "),
            functions.join(", ")
        );
    }
    text.push_str(
        "\nThe word in brackets is that of `celador eval --scope`. Steps of policies have `labels`, `sources`, `callLabels` and `taskLabels` besides; [functions](../../../functions.md) has all that every expression may call. `mount` is known where the agent has one, `call` in steps of policies, `counters` in those of a policy that has some, and `event` may be without a value but in events.\n",
    );
    text.push_str("\n## Variables\n");
    let mut parents: Vec<&str> = Vec::new();
    for row in rows {
        if !parents.contains(&row.parent.as_str()) {
            parents.push(&row.parent);
        }
    }
    for parent in parents {
        if !parent.is_empty() {
            let _ = writeln!(text, "\n## `{parent}`");
        }
        text.push_str("\n| name | type | what it holds |\n|---|---|---|\n");
        for row in rows.iter().filter(|row| row.parent == parent) {
            let alias = match (parent, &*row.name) {
                ("", name) => Root::ALL.iter().find(|root| root.name() == name).and_then(|root| root.alias()),
                ("context", "capabilities") => Some("cap"),
                _ => None,
            };
            let name =
                alias.map_or_else(|| format!("`{}`", row.name), |alias| format!("`{}`, `{alias}`", row.name));
            let ty = match &row.fields {
                Some(place) => format!("[{}](#{})", row.ty, slug(place)),
                None => row.ty.clone(),
            };
            let _ = writeln!(text, "| {name} | {ty} | {} |", row.about_all().replace('|', r"\|"));
        }
    }
    text
}

/// The address of a heading, as readers of Markdown make it.
fn slug(heading: &str) -> String {
    heading.to_lowercase().chars().filter(|it| it.is_alphanumeric() || matches!(it, '-' | '_')).collect()
}
