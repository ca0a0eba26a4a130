//! An expression as what it asks: clauses about subjects, put together by `&&`, `||`, `!` and `? :`.
//!
//! In: a checked expression. Out: a tree of [`Node`]s over the clauses that a [`Questions`] collects, so that clauses of several
//! expressions meet at the same subjects. What is no known form of a question is a clause about itself, whose answer may be
//! anything. Linear in the expression.

use super::emptiness::List;
use super::listed::{Listed, With, listed};
use super::monotone::monotone;
use super::node::{Node, NodeKind};
use super::path::{asks_host, function, is_path, key, sized};
use super::predicate::Predicate;
use super::questions::{Clause, Elements, Form, Member, Questions, SECOND, VARIABLE};
use super::reach::is_root;
use super::sample::{Sample, constant};
use super::subject::{Presence, Subject};
use super::text::{MAX_COUNTED, Question};
use super::written::{as_exists, call, ident, not};
use crate::cel::{Checked, Comprehension, Expr, ExprId, ExprKind, Literal, Name, Reference, Timestamp, Type};
use crate::context::Root;
use std::mem::discriminant;

/// The most questions about one element.
const MAX_ASKED: usize = 16;

/// The most parts of a question that stands twice.
const MAX_REPEATED: usize = 64;

impl Questions {
    /// What an expression asks.
    pub(super) fn read(&mut self, checked: &Checked) -> Node {
        Reader { checked, questions: self }.node(&checked.expr, true)
    }

    /// The same of a part of one, which is no root of an assert.
    pub(super) fn read_part(&mut self, checked: &Checked, part: &Expr) -> Node {
        Reader { checked, questions: self }.node(part, false)
    }
}

struct Reader<'c, 'q> {
    checked: &'c Checked,
    questions: &'q mut Questions,
}

impl Reader<'_, '_> {
    fn node(&mut self, expr: &Expr, at_root: bool) -> Node {
        let kind = self.kind(expr, at_root);
        Node { span: expr.span, id: expr.id, kind }
    }

    fn kind(&mut self, expr: &Expr, at_root: bool) -> NodeKind {
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => NodeKind::Constant(*value),
            ExprKind::Has { operand, field } => match Subject::of_field(self.checked, operand, field) {
                Some(subject) => self.clause(expr, subject, Form::Has, |_| {}),
                None => self.open(expr),
            },
            ExprKind::Call { target, args, .. } => {
                let name = function(self.checked, expr).map_or("", |(name, _)| name);
                let operands: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
                if let Some(kind) = self.of_few_values(expr, &operands) {
                    return kind;
                }
                match (name, operands.as_slice()) {
                    ("_&&_", [left, right]) => {
                        NodeKind::And(Box::new([self.node(left, false), self.node(right, false)]))
                    }
                    ("_||_", [left, right]) => {
                        NodeKind::Or(Box::new([self.node(left, false), self.node(right, false)]))
                    }
                    ("!_", [operand]) => NodeKind::Not(Box::new(self.node(operand, false))),
                    ("_?_:_", [condition, yes, no]) => NodeKind::If(Box::new([
                        self.node(condition, false),
                        self.node(yes, at_root),
                        self.node(no, at_root),
                    ])),
                    ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                        self.comparison(expr, name, left, right)
                    }
                    ("@in", [item, of]) => self.membership(expr, item, of),
                    ("sets.contains" | "sets.intersects", [.., list, constants]) => self
                        .of_set(expr, name == "sets.contains", list, constants)
                        .unwrap_or_else(|| self.truth(expr, at_root)),
                    ("startsWith" | "endsWith" | "contains" | "matches", [text, part]) => {
                        self.of_text(expr, name, text, part)
                    }
                    _ => self.truth(expr, at_root),
                }
            }
            ExprKind::Comprehension(_) => match self.of_listed(expr).or_else(|| self.of_member(expr)) {
                Some(kind) => kind,
                None => self.truth(expr, at_root),
            },
            _ => self.truth(expr, at_root),
        }
    }

    /// What a macro asks about one path with each constant of a list.
    fn of_listed(&mut self, expr: &Expr) -> Option<NodeKind> {
        let Listed { variable, path, with } = listed(self.checked, expr)?;
        if [VARIABLE, SECOND].contains(&variable) {
            return None;
        }
        let subject = Subject::of(self.checked, path)?;
        let form = match with {
            With::Constants(constants) => Form::Constants(constants),
            With::Text(question) => Form::Text(question),
        };
        let path = path.id;
        Some(self.clause(expr, subject, form, |asked| path_becomes_variable(asked, path)))
    }

    /// Whether a path has an element, asked by a macro: `p.exists(x, x == 'a')` is `'a' in p`.
    fn of_member(&mut self, expr: &Expr) -> Option<NodeKind> {
        let (exists, is_negated) = as_exists(expr)?;
        let ExprKind::Comprehension(comprehension) = exists.kind else { return None };
        let Comprehension { range, variable, second: None, body, .. } = *comprehension else { return None };
        let ExprKind::Call { function, target: None, args } = &body.kind else { return None };
        let is_element =
            |expr: &Expr| matches!(&expr.kind, ExprKind::Ident { name, .. } if *name == variable.text);
        let item = match (function.text.as_str(), args.as_slice()) {
            ("_==_", [element, item] | [item, element]) if is_element(element) => item,
            _ => return None,
        };
        let (true, Some(Sample::Text(_))) = (is_path(self.checked, &range), constant(item)) else {
            return None;
        };
        let member = call(expr, "@in", vec![item.clone(), range.clone()]);
        let kind = self.holds(&member, item, &range)?;
        Some(match is_negated {
            true => NodeKind::Not(Box::new(Node { span: expr.span, id: expr.id, kind })),
            false => kind,
        })
    }

    /// A question whose answer may be anything.
    fn open(&mut self, expr: &Expr) -> NodeKind {
        self.questions.clauses.push(Clause {
            subject: usize::MAX,
            form: Form::Truth { at_root: false },
            span: expr.span,
            id: expr.id,
            asked: expr.clone(),
            is_open: true,
        });
        NodeKind::Clause(self.questions.clauses.len().saturating_sub(1))
    }

    fn truth(&mut self, expr: &Expr, at_root: bool) -> NodeKind {
        let form = Form::Truth { at_root };
        match Subject::of(self.checked, expr) {
            Some(mut subject) => {
                let is_open = subject.is_computed;
                let exists = as_exists(expr);
                if let Some((exists, _)) = &exists {
                    subject.key = key(self.checked, exists);
                }
                let kind = self.clause(expr, subject, form, |asked| {
                    become_variable(asked, VARIABLE);
                    if exists.is_some_and(|(_, is_negated)| is_negated) {
                        *asked = not(asked.clone());
                    }
                });
                if is_open && let Some(clause) = self.questions.clauses.last_mut() {
                    clause.is_open = true;
                }
                kind
            }
            None => self.open(expr),
        }
    }

    /// The position of a subject, under the name that it has now.
    fn subject(&mut self, mut subject: Subject) -> usize {
        let questions = &mut *self.questions;
        if questions.given.contains(&subject.key) && subject.presence == Presence::MayLack {
            subject.presence = Presence::Sure;
        }
        let lasts = questions.lasts(&subject.reach);
        for key in [&mut subject.key].into_iter().chain(&mut subject.beginnings) {
            *key = questions.named(key, &subject.reach, lasts);
        }
        for list in subject.emptiness.iter_mut().flat_map(|said| &mut said.lists) {
            list.key = questions.named(&list.key, &list.reach, questions.lasts(&list.reach));
        }
        for said in &subject.emptiness {
            for (at, own) in said.lists.iter().enumerate() {
                if questions.elements.iter().all(|known| known.key != own.key) {
                    let lists = said.lists.get(at..).unwrap_or_default();
                    questions.elements.extend(elements_of(self.checked, lists, questions.time()));
                }
            }
        }
        questions.known(subject)
    }

    /// A clause in which `substitute` puts the variable in the place of the subject.
    fn clause(
        &mut self,
        expr: &Expr,
        subject: Subject,
        form: Form,
        substitute: impl FnOnce(&mut Expr),
    ) -> NodeKind {
        let subject = self.subject(subject);
        let mut asked = expr.clone();
        substitute(&mut asked);
        self.questions.clauses.push(Clause {
            subject,
            form,
            span: expr.span,
            id: expr.id,
            asked,
            is_open: false,
        });
        NodeKind::Clause(self.questions.clauses.len().saturating_sub(1))
    }

    fn comparison(&mut self, expr: &Expr, name: &str, left: &Expr, right: &Expr) -> NodeKind {
        let (subject, constant, at) = match (constant(left), constant(right)) {
            (None, Some(constant)) => (left, constant, 0),
            (Some(constant), None) => (right, constant, 1),
            (None, None) => {
                return self
                    .of_type(expr, left, right)
                    .or_else(|| self.of_truths(name, left, right))
                    .unwrap_or_else(|| self.of_two(expr, name, left, right));
            }
            (Some(_), Some(_)) => return self.open(expr),
        };
        if let Some(truth) = self.truth_of_question(name, subject, &constant) {
            return truth;
        }
        if let Some(kind) = self.of_size(expr, name, (subject, at), &constant) {
            return kind;
        }
        if let Some(kind) = self.of_now(expr, name, (subject, at), &constant) {
            return kind;
        }
        if let Some((path, points)) = monotone(self.checked, subject, &constant)
            && let Some(subject) = Subject::of(self.checked, path)
        {
            let path = path.id;
            return self
                .clause(expr, subject, Form::Arithmetic(points), |asked| path_becomes_variable(asked, path));
        }
        let Some(subject) = Subject::of(self.checked, subject) else { return self.open(expr) };
        let form = match (name, &constant) {
            ("_==_" | "_!=_", Sample::Text(text)) => Form::Text(Question::Is(text.to_string())),
            // `x <= 'b'` and `x > 'b'` ask whether it stands before `b` or is it
            // a text of the engine that is a time stands before another one as times do
            (_, Sample::Text(text)) if subject.is_validated || text.parse::<Timestamp>().is_err() => {
                let or_equal = matches!((name, at), ("_<=_" | "_>_", 0) | ("_<_" | "_>=_", 1));
                Form::Text(Question::Before(text.to_string(), or_equal))
            }
            _ => Form::Constants(vec![constant]),
        };
        self.clause(expr, subject, form, |asked| operand_becomes_variable(asked, at, VARIABLE))
    }

    /// `now < '2027-12-31T00:00:00Z'`, which compares times: the same question as `timestamp(now) < timestamp('2027-12-31T00:00:00Z')`.
    fn of_now(
        &mut self,
        expr: &Expr,
        name: &str,
        (subject, at): (&Expr, usize),
        constant: &Sample,
    ) -> Option<NodeKind> {
        let Sample::Text(text) = constant else { return None };
        let time: Timestamp = text.parse().ok()?;
        let is_order = matches!(name, "_<_" | "_<=_" | "_>_" | "_>=_");
        if !is_order || !is_root(self.checked, subject, Root::Now) {
            return None;
        }
        let now = Subject::of(self.checked, subject)?;
        let moment = Subject {
            key: format!("timestamp({})", now.key),
            ty: Type::Timestamp,
            answers: Vec::new(),
            is_computed: true,
            ..now
        };
        let form = Form::Constants(vec![Sample::Time(time)]);
        Some(self.clause(expr, moment, form, |asked| {
            operand_becomes_variable(asked, at, VARIABLE);
            if let ExprKind::Call { args, .. } = &mut asked.kind
                && let Some(bound) = args.get_mut(1_usize.saturating_sub(at))
            {
                let function = Name { text: "timestamp".to_owned(), span: bound.span };
                let text = bound.clone();
                bound.kind = ExprKind::Call { function, target: None, args: vec![text] };
            }
        }))
    }

    /// The type of a path compared with a type, which all values of one kind answer alike.
    fn of_type(&mut self, expr: &Expr, left: &Expr, right: &Expr) -> Option<NodeKind> {
        let named = |expr: &Expr| match self.checked.reference(expr.id) {
            Some(Reference::Type(ty)) => Some(discriminant(ty)),
            _ => None,
        };
        let (asked, ty) = match [named(left), named(right)] {
            [None, Some(ty)] => (left, ty),
            [Some(ty), None] => (right, ty),
            _ => return None,
        };
        let ExprKind::Call { target: None, args, .. } = &asked.kind else { return None };
        let ("type", [path]) = (function(self.checked, asked)?.0, args.as_slice()) else { return None };
        let subject = Subject::of(self.checked, path).filter(|_| is_path(self.checked, path))?;
        // to make sure of a type that is known is careful
        if discriminant(&subject.ty) == ty {
            return None;
        }
        let of = path.id;
        Some(
            self.clause(expr, subject, Form::Constants(Vec::new()), |asked| path_becomes_variable(asked, of)),
        )
    }

    /// What a question is if its answer is compared with a truth: `(a < b) == true` is `a < b`.
    fn truth_of_question(&mut self, name: &str, question: &Expr, constant: &Sample) -> Option<NodeKind> {
        let (Sample::Bool(truth), Type::Bool) = (constant, self.checked.type_of(question.id)) else {
            return None;
        };
        let is_same = match name {
            "_==_" => *truth,
            "_!=_" => !*truth,
            _ => return None,
        };
        if !matches!(question.kind, ExprKind::Call { .. } | ExprKind::Has { .. }) {
            return None;
        }
        let question = self.node(question, false);
        Some(if is_same { NodeKind::Same(Box::new(question)) } else { NodeKind::Not(Box::new(question)) })
    }

    /// Two questions whose answers are compared: `a == b` is `a ? b : !b`, and fails where one of them does.
    fn of_truths(&mut self, name: &str, one: &Expr, other: &Expr) -> Option<NodeKind> {
        let is_equality = match name {
            "_==_" => true,
            "_!=_" => false,
            _ => return None,
        };
        if [one, other].iter().any(|it| *self.checked.type_of(it.id) != Type::Bool)
            || key(self.checked, one) == key(self.checked, other)
        {
            return None;
        }
        let before = self.questions.clauses.len();
        let right = self.node(other, false);
        // the second one stands there twice, and so do those in it
        if right.size() > MAX_REPEATED {
            self.questions.clauses.truncate(before);
            return None;
        }
        let opposite = Node { span: right.span, id: right.id, kind: NodeKind::Not(Box::new(right.clone())) };
        let [yes, no] = if is_equality { [right, opposite] } else { [opposite, right] };
        Some(NodeKind::If(Box::new([self.node(one, false), yes, no])))
    }

    /// A question about what is computed of one path that has few values, such as a truth or a constant of a schema: each value is tried.
    fn of_few_values(&mut self, expr: &Expr, operands: &[&Expr]) -> Option<NodeKind> {
        if *self.checked.type_of(expr.id) != Type::Bool || operands.iter().any(|it| is_path(self.checked, it))
        {
            return None;
        }
        let path = the_path(self.checked, expr)?;
        let subject = Subject::of(self.checked, path)?;
        let values = subject.few_values()?;
        let of = key(self.checked, path);
        let checked = self.checked;
        Some(
            self.clause(expr, subject, Form::Exact(values), |asked| {
                paths_become_variable(checked, asked, &of)
            }),
        )
    }

    /// A comparison of the number of characters of a text, which is a question about the text.
    fn of_size(
        &mut self,
        expr: &Expr,
        name: &str,
        (size, at): (&Expr, usize),
        constant: &Sample,
    ) -> Option<NodeKind> {
        let Sample::Int(count) = constant else { return None };
        let text = sized(self.checked, size).filter(|of| is_path(self.checked, of))?;
        if *self.checked.type_of(text.id) != Type::String {
            return None;
        }
        let count = u64::try_from(*count).ok().filter(|count| *count <= MAX_COUNTED)?;
        let (least, most) = match (name, at) {
            ("_==_" | "_!=_", _) => (count, Some(count)),
            // fewer: of these and of those that are not, the question is the same
            ("_<_" | "_>=_", 0) | ("_>_" | "_<=_", 1) => (0, Some(count.checked_sub(1)?)),
            _ => (0, Some(count)),
        };
        let subject = Subject::of(self.checked, text)?;
        let of = text.id;
        let form = Form::Text(Question::Sized(least, most));
        Some(self.clause(expr, subject, form, |asked| path_becomes_variable(asked, of)))
    }

    /// Two things compared: they may be one, or two paths, of which one is less, the other, or none.
    fn of_two(&mut self, expr: &Expr, name: &str, left: &Expr, right: &Expr) -> NodeKind {
        let subjects = (Subject::of(self.checked, left), Subject::of(self.checked, right));
        let (Some(one), Some(two)) = subjects else { return self.open(expr) };
        if one.key == two.key {
            return self.clause(expr, one, Form::Itself, |asked| {
                operand_becomes_variable(asked, 0, VARIABLE);
                operand_becomes_variable(asked, 1, VARIABLE);
            });
        }
        let swapped = two.key < one.key;
        let (first, second) = if swapped { (right, left) } else { (left, right) };
        let Some(pair) = Subject::pair(self.checked, first, second) else { return self.truth(expr, false) };
        if one.ty == Type::String && two.ty == Type::String {
            // what is asked of one of them is asked of the other one
            for text in [one, two] {
                self.subject(text);
            }
        }
        let form = Form::Two { of_order: !matches!(name, "_==_" | "_!=_") };
        self.clause(expr, pair, form, |asked| {
            operand_becomes_variable(asked, usize::from(swapped), VARIABLE);
            operand_becomes_variable(asked, usize::from(!swapped), SECOND);
        })
    }

    fn membership(&mut self, expr: &Expr, item: &Expr, of: &Expr) -> NodeKind {
        if let ExprKind::List(elements) = &of.kind
            && constant(item).is_none()
        {
            let constants: Option<Vec<Sample>> =
                elements.iter().map(|it| constant(&it.value).filter(|_| !it.optional)).collect();
            let subject = Subject::of(self.checked, item);
            let (Some(constants), Some(subject)) = (constants, subject) else {
                return self.truth(expr, false);
            };
            return self.clause(expr, subject, Form::Constants(constants), |asked| {
                operand_becomes_variable(asked, 0, VARIABLE);
            });
        }
        let holds = if is_path(self.checked, of) { self.holds(expr, item, of) } else { None };
        holds.unwrap_or_else(|| self.truth(expr, false))
    }

    /// Whether a list has all constants of another one, or some of them.
    fn of_set(&mut self, expr: &Expr, has_all: bool, list: &Expr, constants: &Expr) -> Option<NodeKind> {
        let ExprKind::List(elements) = &constants.kind else { return None };
        let is_known = elements.iter().all(|it| !it.optional && constant(&it.value).is_some());
        if !is_known
            || !is_path(self.checked, list)
            || !matches!(self.checked.type_of(list.id), Type::List(_))
        {
            return None;
        }
        let before = self.questions.clauses.len();
        let mut all = Vec::new();
        for element in elements {
            // one constant is asked for by the whole
            let at = if elements.len() == 1 { expr } else { &element.value };
            let member = call(at, "@in", vec![element.value.clone(), list.clone()]);
            let Some(kind) = self.holds(&member, &element.value, list) else {
                self.questions.clauses.truncate(before);
                return None;
            };
            all.push(Node { span: at.span, id: at.id, kind });
        }
        let whole = all.into_iter().reduce(|one, other| {
            let both = Box::new([one, other]);
            let kind = if has_all { NodeKind::And(both) } else { NodeKind::Or(both) };
            Node { span: expr.span, id: expr.id, kind }
        });
        whole.map(|whole| whole.kind)
    }

    /// Whether a path has a constant among its elements or keys.
    fn holds(&mut self, member: &Expr, item: &Expr, of: &Expr) -> Option<NodeKind> {
        let constant = constant(item)?;
        let is_text = matches!(constant, Sample::Text(_));
        let subject = Subject::of(self.checked, of)?;
        let whole = self.questions.named(&subject.key, &subject.reach, self.questions.lasts(&subject.reach));
        let clause = self.questions.clauses.len();
        let kind =
            self.clause(member, subject, Form::Holds, |asked| operand_becomes_variable(asked, 1, VARIABLE));
        let asked = call(member, "_==_", vec![ident(member, VARIABLE), item.clone()]);
        let (key, time) = (format!("{item} in {whole}"), self.questions.time());
        // others are equal to what is written in another way
        if is_text {
            self.questions.members.push(Member { key, whole, time, clause, constant, asked });
        }
        Some(kind)
    }

    fn of_text(&mut self, expr: &Expr, name: &str, text: &Expr, part: &Expr) -> NodeKind {
        let Some(Sample::Text(part)) = constant(part) else { return self.truth(expr, false) };
        let Some(subject) = Subject::of(self.checked, text) else { return self.open(expr) };
        let part = part.to_string();
        let question = match name {
            "startsWith" => Question::Starts(vec![part]),
            "endsWith" => Question::Ends(vec![part]),
            "contains" => Question::Contains(vec![part]),
            _ => Question::Matches(part),
        };
        self.clause(expr, subject, Form::Text(question), |asked| operand_becomes_variable(asked, 0, VARIABLE))
    }
}

/// What is so of the elements of a list, if that is not too much.
fn elements_of(checked: &Checked, lists: &[List], time: [usize; 3]) -> Option<Elements> {
    let own = lists.first()?;
    let whole = lists.get(own.predicates.len())?;
    let mut questions = Questions::default();
    let mut ask = |Predicate { expr, answer }: &Predicate| {
        let node = questions.read_part(checked, expr);
        match answer {
            true => node,
            false => Node { span: node.span, id: node.id, kind: NodeKind::Not(Box::new(node)) },
        }
    };
    let asked: Vec<Node> = own.predicates.iter().map(&mut ask).collect();
    let node = asked.into_iter().reduce(|all, one| {
        let (span, id) = (all.span, all.id);
        Node { span, id, kind: NodeKind::And(Box::new([all, one])) }
    })?;
    let Questions { subjects, clauses, .. } = questions;
    let (key, whole) = (own.key.clone(), whole.key.clone());
    let is_chain = own.predicates.len() > 1 || own.is_made;
    (clauses.len() <= MAX_ASKED).then_some(Elements { key, whole, time, node, subjects, clauses, is_chain })
}

fn become_variable(expr: &mut Expr, name: &str) {
    expr.kind = ExprKind::Ident { name: name.to_owned(), absolute: false };
    expr.in_place_of = None;
}

/// Puts the variable in the place of the part of this number.
fn path_becomes_variable(asked: &mut Expr, path: ExprId) {
    if asked.id == path {
        become_variable(asked, VARIABLE);
    } else {
        asked.for_each_part_mut(&mut |part| path_becomes_variable(part, path));
    }
}

/// Puts the variable in the place of a path wherever it stands.
fn paths_become_variable(checked: &Checked, asked: &mut Expr, path: &str) {
    if is_path(checked, asked) && key(checked, asked) == path {
        become_variable(asked, VARIABLE);
    } else {
        asked.for_each_part_mut(&mut |part| paths_become_variable(checked, part, path));
    }
}

/// The one path that an expression reads, if it asks nobody and fails where the path does: it has no macro and no `&&`, `||`, `? :` or `has` in it.
fn the_path<'e>(checked: &Checked, expr: &'e Expr) -> Option<&'e Expr> {
    let mut paths = Vec::new();
    (!asks_host(checked, expr) && all_paths(checked, expr, &mut paths)).then_some(())?;
    let (first, others) = paths.split_first()?;
    let of = key(checked, first);
    others.iter().all(|other| key(checked, other) == of).then_some(*first)
}

fn all_paths<'e>(checked: &Checked, expr: &'e Expr, found: &mut Vec<&'e Expr>) -> bool {
    if is_path(checked, expr) {
        found.push(expr);
        return true;
    }
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Call { .. }
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Index { optional: false, .. } => {
            let is_lazy =
                matches!(function(checked, expr).map_or("", |(name, _)| name), "_&&_" | "_||_" | "_?_:_");
            let mut plain = !is_lazy;
            expr.for_each_part(&mut |part| plain = plain && all_paths(checked, part, found));
            plain
        }
        _ => false,
    }
}

/// Puts a variable in the place of an operand, the receiver first.
fn operand_becomes_variable(call: &mut Expr, at: usize, name: &str) {
    let ExprKind::Call { target, args, .. } = &mut call.kind else { return };
    let mut operands = target.as_deref_mut().into_iter().chain(args);
    if let Some(operand) = operands.nth(at) {
        become_variable(operand, name);
    }
}
