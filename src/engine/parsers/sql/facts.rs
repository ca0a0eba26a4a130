//! The facts about one statement that rules ask for, collected by a walk over its tree.

use super::names::{joined, plain, qualified};
use super::scopes::Scopes;
use crate::cel::Fault;
use sqlparser::ast::{
    AssignmentTarget, BinaryOperator, Delete, Expr, FromTable, Ident, InTarget, Insert, Join, JoinConstraint,
    JoinOperator, Merge, ObjectName, OutputClause, Query, Select, SelectInto, SelectItem, SetExpr, Statement,
    TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind, Value, Visit, Visitor,
};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::ptr;

/// The facts about a statement, statements inside it included.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatementFacts {
    /// The kind of the statement, then those of statements inside.
    pub(super) kinds: Vec<String>,
    /// Tables whose rows are read.
    pub(super) reads: Vec<String>,
    /// Tables whose rows are changed.
    pub(super) writes: Vec<String>,
    /// Functions that are called.
    pub(super) functions: Vec<String>,
    /// Columns that are named, without their tables.
    pub(super) columns: Vec<String>,
    /// Columns that every UPDATE and DELETE holds to constants. `None` where there is neither.
    pub(super) keys: Option<Vec<String>>,
    /// Whether rows that are read are locked.
    pub(super) locks: bool,
}

impl StatementFacts {
    /// Collects the facts about a statement.
    ///
    /// # Errors
    /// `invalid_argument` for forms whose tables are not known.
    pub(super) fn from_statement(statement: &Statement, folds: bool) -> Result<Self, Fault> {
        let mut walk = Walk { folds, ..Walk::default() };
        if let ControlFlow::Break(expected) = statement.visit(&mut walk) {
            return Err(Fault::refused(expected));
        }
        // `UPDATE name … FROM salaries AS name` changes another table than it names, for some databases
        if walk.facts.writes.iter().any(|table| walk.aliases.contains(table)) {
            return Err(Fault::refused("SQL that changes tables by their own names"));
        }
        Ok(walk.facts)
    }
}

#[derive(Default)]
struct Walk {
    folds: bool,
    facts: StatementFacts,
    scopes: Scopes,
    /// Other names of tables, and names of common table expressions.
    aliases: HashSet<String>,
    /// The addresses of names that are the targets of changes.
    targets: HashSet<*const ObjectName>,
    /// The addresses of names that are functions.
    called: HashSet<*const ObjectName>,
    /// Whether all tables of the statement may change, because the walk does not know its kind.
    is_unknown: bool,
}

type Flow = ControlFlow<&'static str>;

const CONTINUE: Flow = ControlFlow::Continue(());
const UNKNOWN_TABLE: Flow = ControlFlow::Break("SQL whose tables are named");

impl Visitor for Walk {
    type Break = &'static str;

    fn pre_visit_statement(&mut self, statement: &Statement) -> Flow {
        if let Some(kind) = kind(statement) {
            add(&mut self.facts.kinds, kind.to_owned());
        }
        match statement {
            Statement::Query(_) => CONTINUE,
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            _ => {
                self.is_unknown = true;
                CONTINUE
            }
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> Flow {
        self.scopes.enter(query, self.folds);
        if let Some(with) = &query.with {
            self.aliases.extend(with.cte_tables.iter().map(|cte| plain(&cte.alias.name, self.folds)));
        }
        self.facts.locks |= !query.locks.is_empty();
        self.bare_tables(&query.body)
    }

    fn post_visit_query(&mut self, query: &Query) -> Flow {
        self.scopes.leave(query);
        CONTINUE
    }

    fn pre_visit_select(&mut self, select: &Select) -> Flow {
        for item in &select.projection {
            self.star(item);
        }
        for from in &select.from {
            self.joined_columns(&from.joins);
        }
        select.into.as_ref().map_or(CONTINUE, |into| self.into(into))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Flow {
        let (alias, function) = match factor {
            TableFactor::Table { name, alias, args, .. } => {
                if args.is_some() {
                    self.called.insert(ptr::from_ref(name));
                }
                (alias, None)
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::Pivot { alias, .. }
            | TableFactor::Unpivot { alias, .. } => (alias, None),
            TableFactor::Function { name, alias, .. } => match qualified(name, true) {
                Some(name) => (alias, Some(name)),
                None => return UNKNOWN_TABLE,
            },
            TableFactor::UNNEST { alias, .. } => (alias, Some("unnest".to_owned())),
            TableFactor::JsonTable { alias, .. } => (alias, Some("json_table".to_owned())),
            TableFactor::OpenJsonTable { alias, .. } => (alias, Some("openjson".to_owned())),
            _ => return UNKNOWN_TABLE,
        };
        // new names for the columns of a table, by position: any column may be meant
        let is_renamed = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        if is_renamed && matches!(factor, TableFactor::Table { .. } | TableFactor::NestedJoin { .. }) {
            add(&mut self.facts.columns, "*".to_owned());
        }
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.joined_columns(&table_with_joins.joins);
        }
        self.aliases.extend(alias.iter().map(|alias| plain(&alias.name, self.folds)));
        if let Some(function) = function {
            add(&mut self.facts.functions, function);
        }
        CONTINUE
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Flow {
        let Some(name) = qualified(relation, self.folds) else { return UNKNOWN_TABLE };
        let address = ptr::from_ref(relation);
        if self.called.contains(&address) {
            let Some(function) = qualified(relation, true) else { return UNKNOWN_TABLE };
            add(&mut self.facts.functions, function);
        } else if self.targets.contains(&address) {
            add(&mut self.facts.writes, name);
        } else if self.is_unknown {
            add(&mut self.facts.writes, name.clone());
            add(&mut self.facts.reads, name);
        } else {
            self.read(name, relation.0.len() == 1);
        }
        CONTINUE
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Flow {
        if let Some(syntax) = function_syntax(expr) {
            add(&mut self.facts.functions, syntax.to_owned());
        }
        match expr {
            Expr::Function(function) => {
                let Some(name) = qualified(&function.name, true) else {
                    return ControlFlow::Break("SQL whose functions are named");
                };
                add(&mut self.facts.functions, name);
            }
            Expr::Identifier(name) => add(&mut self.facts.columns, plain(name, self.folds)),
            Expr::CompoundIdentifier(names) => {
                self.facts_column(names);
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => add(&mut self.facts.columns, "*".to_owned()),
            _ => {}
        }
        CONTINUE
    }
}

impl Walk {
    fn read(&mut self, name: String, is_single: bool) {
        if !(is_single && self.scopes.has(&name)) {
            add(&mut self.facts.reads, name);
        }
    }

    fn facts_column(&mut self, names: &[Ident]) {
        if let Some(last) = names.last() {
            add(&mut self.facts.columns, plain(last, self.folds));
        }
    }

    /// The columns that joins compare without an expression: those of `USING`, and any column for `NATURAL`.
    fn joined_columns(&mut self, joins: &[Join]) {
        for constraint in joins.iter().filter_map(|join| constraint(&join.join_operator)) {
            match constraint {
                JoinConstraint::Using(names) | JoinConstraint::UsingAlias(names, _) => {
                    for name in names.iter().filter_map(|name| name.0.last()?.as_ident()) {
                        add(&mut self.facts.columns, plain(name, self.folds));
                    }
                }
                JoinConstraint::Natural => add(&mut self.facts.columns, "*".to_owned()),
                JoinConstraint::On(_) | JoinConstraint::None => {}
            }
        }
    }

    fn star(&mut self, item: &SelectItem) {
        if matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)) {
            add(&mut self.facts.columns, "*".to_owned());
        }
    }

    /// The tables of `TABLE name`, which the tree does not hold as relations.
    fn bare_tables(&mut self, body: &SetExpr) -> Flow {
        match body {
            SetExpr::Table(table) => {
                let Some(name) = &table.table_name else { return UNKNOWN_TABLE };
                let parts: Vec<Ident> = table.schema_name.iter().chain([name]).cloned().collect();
                self.read(joined(&parts, self.folds), parts.len() == 1);
                add(&mut self.facts.columns, "*".to_owned());
                CONTINUE
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.bare_tables(left)?;
                self.bare_tables(right)
            }
            _ => CONTINUE,
        }
    }

    /// The table of `SELECT … INTO name`.
    fn into(&mut self, into: &SelectInto) -> Flow {
        for target in &into.targets {
            let name = match target {
                Expr::Identifier(name) => plain(name, self.folds),
                Expr::CompoundIdentifier(names) => joined(names, self.folds),
                _ => return UNKNOWN_TABLE,
            };
            add(&mut self.facts.writes, name);
        }
        if into.targets.is_empty() { UNKNOWN_TABLE } else { CONTINUE }
    }

    fn output(&mut self, output: Option<&OutputClause>) -> Flow {
        match output {
            Some(OutputClause::Output { into_table: Some(into), .. }) => self.into(into),
            _ => CONTINUE,
        }
    }

    fn insert(&mut self, insert: &Insert) -> Flow {
        match &insert.table {
            TableObject::TableName(name) => {
                self.targets.insert(ptr::from_ref(name));
            }
            _ => return UNKNOWN_TABLE,
        }
        let alias = insert.table_alias.iter().map(|alias| plain(&alias.alias, self.folds));
        self.aliases.extend(alias);
        self.output(insert.output.as_ref())
    }

    fn update(&mut self, update: &Update) -> Flow {
        self.change(&update.table)?;
        if let Some(UpdateTableFromKind::BeforeSet(tables)) = &update.from {
            tables.iter().try_for_each(|table| self.change(table))?;
        }
        for assignment in &update.assignments {
            if let AssignmentTarget::ColumnName(name) = &assignment.target
                && let Some(column) = name.0.last().and_then(|part| part.as_ident())
            {
                add(&mut self.facts.columns, plain(column, self.folds));
            }
        }
        self.keep_keys(update.selection.as_ref());
        self.output(update.output.as_ref())
    }

    fn delete(&mut self, delete: &Delete) -> Flow {
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        tables.iter().try_for_each(|table| self.change(table))?;
        for target in &delete.tables {
            let Some(name) = qualified(target, self.folds) else { return UNKNOWN_TABLE };
            add(&mut self.facts.writes, name);
        }
        self.keep_keys(delete.selection.as_ref());
        self.output(delete.output.as_ref())
    }

    fn merge(&mut self, merge: &Merge) -> Flow {
        self.target(&merge.table)?;
        self.keep_keys(None);
        self.output(merge.output.as_ref())
    }

    /// Tables that a statement changes, with those that are joined to them.
    fn change(&mut self, tables: &TableWithJoins) -> Flow {
        self.joined_columns(&tables.joins);
        self.target(&tables.relation)?;
        tables.joins.iter().try_for_each(|join| self.target(&join.relation))
    }

    fn target(&mut self, factor: &TableFactor) -> Flow {
        match factor {
            TableFactor::Table { name, args: None, .. } => {
                self.targets.insert(ptr::from_ref(name));
                CONTINUE
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.change(table_with_joins),
            _ => UNKNOWN_TABLE,
        }
    }

    /// Keeps the columns that all changes so far hold to constants.
    fn keep_keys(&mut self, selection: Option<&Expr>) {
        let mut keys = Vec::new();
        if let Some(selection) = selection {
            constant_columns(selection, self.folds, &mut keys);
        }
        match &mut self.facts.keys {
            Some(before) => before.retain(|key| keys.contains(key)),
            none => *none = Some(keys),
        }
    }
}

/// The condition of a join.
const fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::AsOf { constraint, .. }
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        JoinOperator::CrossApply
        | JoinOperator::OuterApply
        | JoinOperator::ArrayJoin
        | JoinOperator::LeftArrayJoin
        | JoinOperator::InnerArrayJoin => None,
    }
}

/// The columns that a condition holds to constants whatever else it says: `column = constant` and `column IN (constants)`, joined
/// by AND. A number 0 is no constant here, because MySQL finds it equal to most texts.
fn constant_columns(condition: &Expr, folds: bool, keys: &mut Vec<String>) {
    match condition {
        Expr::Nested(inner) => constant_columns(inner, folds, keys),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            constant_columns(left, folds, keys);
            constant_columns(right, folds, keys);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match (&**left, &**right) {
            (column, constant) | (constant, column) if is_constant(constant) => {
                keys.extend(column_name(column, folds));
            }
            _ => {}
        },
        Expr::In { expr, target: InTarget::List(list), negated: false, .. }
            if list.iter().all(is_constant) =>
        {
            keys.extend(column_name(expr, folds));
        }
        _ => {}
    }
}

fn column_name(column: &Expr, folds: bool) -> Option<String> {
    match column {
        Expr::Identifier(name) => Some(plain(name, folds)),
        Expr::CompoundIdentifier(names) => names.last().map(|name| plain(name, folds)),
        _ => None,
    }
}

fn is_constant(value: &Expr) -> bool {
    let Expr::Value(value) = value else { return false };
    match &value.value {
        Value::SingleQuotedString(_) | Value::Placeholder(_) => true,
        Value::Number(digits, _) => digits.chars().any(|digit| matches!(digit, '1'..='9')),
        _ => false,
    }
}

/// The name of a function that has a syntax of its own.
fn function_syntax(expr: &Expr) -> Option<&'static str> {
    Some(match expr {
        Expr::Cast { .. } | Expr::TypedString(_) => "cast",
        Expr::Convert { .. } => "convert",
        Expr::Extract { .. } => "extract",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::Position { .. } => "position",
        Expr::Substring { .. } => "substring",
        Expr::Trim { .. } => "trim",
        Expr::Overlay { .. } => "overlay",
        Expr::MatchAgainst { .. } => "match",
        // an operator that is a function of a schema
        Expr::BinaryOp {
            op: BinaryOperator::PGCustomBinaryOperator(_) | BinaryOperator::Custom(_), ..
        } => "operator",
        _ => return None,
    })
}

/// The kinds of statements.
pub(crate) const STATEMENT_KINDS: [&str; 17] = [
    "select",
    "replace",
    "insert",
    "update",
    "delete",
    "merge",
    "explain",
    "truncate",
    "drop",
    "create_table",
    "create_view",
    "alter_table",
    "grant",
    "copy",
    "call",
    "set",
    "other",
];

/// The kind of a statement. None for a query that only introduces a change (`WITH … DELETE`), which is a statement inside it.
fn kind(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Query(query) => match *query.body {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => return None,
            _ => "select",
        },
        Statement::Insert(insert) if insert.replace_into || insert.overwrite => "replace",
        Statement::Insert(_) => "insert",
        Statement::Update(_) => "update",
        Statement::Delete(_) => "delete",
        Statement::Merge(_) => "merge",
        Statement::Explain { .. } | Statement::ExplainTable { .. } => "explain",
        Statement::Truncate(_) => "truncate",
        Statement::Drop { .. } => "drop",
        Statement::CreateTable(_) => "create_table",
        Statement::CreateView(_) => "create_view",
        Statement::AlterTable(_) => "alter_table",
        Statement::Grant(_) => "grant",
        Statement::Copy { .. } => "copy",
        Statement::Call(_) => "call",
        Statement::Set(_) => "set",
        _ => "other",
    })
}

fn add(list: &mut Vec<String>, name: String) {
    if !list.contains(&name) {
        list.push(name);
    }
}
