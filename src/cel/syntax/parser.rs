//! Tokens to [`Expr`] in one pass: the CEL that people write, by precedence.
//!
//! In: the tokens of a text whose brackets match and whose depth is bounded. Out: the tree, each part with its exact
//! span, or nothing. Nothing means only that this parser does not vouch for the text: what is wrong with it, and whether
//! it is one of CEL's rare forms (messages, names with a dot in front, chains of signs), the grammar is asked. What this
//! parser accepts is the tree that the grammar would give, which the tests hold on every text they have.

use super::expr::{Element, Entry, Expr, ExprId, ExprKind, Name};
use super::outline::Outline;
use super::tokens::{Token, TokenKind};
use super::{RESERVED, literal, macros};
use crate::source::Span;
use cel::common::ast::operators;

/// The expression of all the tokens.
pub(super) fn expression(text: &str, tokens: &[Token], outline: &Outline) -> Option<Expr> {
    let mut parser = Parser { text, tokens, outline, at: 0 };
    let expr = parser.conditional()?.expr;
    (parser.at == tokens.len()).then_some(expr)
}

/// The operators between two operands that lean to the left, by how strongly they bind.
fn leaning(sign: &str) -> Option<(u8, &'static str)> {
    Some(match sign {
        "<" => (0, operators::LESS),
        "<=" => (0, operators::LESS_EQUALS),
        ">" => (0, operators::GREATER),
        ">=" => (0, operators::GREATER_EQUALS),
        "==" => (0, operators::EQUALS),
        "!=" => (0, operators::NOT_EQUALS),
        "in" => (0, operators::IN),
        "+" => (1, operators::ADD),
        "-" => (1, operators::SUBSTRACT),
        "*" => (2, operators::MULTIPLY),
        "/" => (2, operators::DIVIDE),
        "%" => (2, operators::MODULO),
        _ => return None,
    })
}

/// An expression with the positions of its first and last token, brackets around it included.
struct Placed {
    expr: Expr,
    first: usize,
    last: usize,
}

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    outline: &'t Outline,
    at: usize,
}

impl<'t> Parser<'t> {
    /// The sign that is next, or an empty text.
    fn sign(&self) -> &'static str {
        self.tokens.get(self.at).map_or("", |token| token.sign())
    }

    /// Goes past the next token, and says which it was.
    fn advance(&mut self) -> usize {
        let at = self.at;
        self.at = at.saturating_add(1);
        at
    }

    /// Goes past a sign if it is next.
    fn takes(&mut self, sign: &str) -> Option<usize> {
        (self.sign() == sign).then(|| self.advance())
    }

    fn span(&self, at: usize) -> Span {
        self.tokens.get(at).map(|token| token.span).unwrap_or_default()
    }

    fn word(&self, at: usize) -> &'t str {
        self.text.get(self.span(at).range()).unwrap_or_default()
    }

    fn name(&self, text: &str, at: usize) -> Name {
        Name { text: text.to_owned(), span: self.span(at) }
    }

    fn place(&self, kind: ExprKind, first: usize, last: usize) -> Placed {
        let span = self.span(first).to(self.span(last));
        Placed { expr: Expr { id: ExprId(0), span, kind }, first, last }
    }

    fn call(&self, function: &str, at: usize, args: Vec<Placed>) -> Placed {
        let first = args.first().map_or(at, |arg| arg.first.min(at));
        let last = args.last().map_or(at, |arg| arg.last);
        let args = args.into_iter().map(|arg| arg.expr).collect();
        self.place(ExprKind::Call { function: self.name(function, at), target: None, args }, first, last)
    }

    /// `a ? b : c`, or what binds more strongly.
    fn conditional(&mut self) -> Option<Placed> {
        let condition = self.or()?;
        let Some(at) = self.takes("?") else { return Some(condition) };
        let then = self.or()?;
        self.takes(":")?;
        let otherwise = self.conditional()?;
        Some(self.call(operators::CONDITIONAL, at, vec![condition, then, otherwise]))
    }

    fn or(&mut self) -> Option<Placed> {
        self.balanced("||", operators::LOGICAL_OR, Self::and)
    }

    fn and(&mut self) -> Option<Placed> {
        self.balanced("&&", operators::LOGICAL_AND, |parser| parser.binary(0))
    }

    /// A chain of one logical operator, whose order does not matter: a balanced tree, as the grammar makes it.
    fn balanced(
        &mut self,
        sign: &str,
        function: &str,
        term: impl Fn(&mut Self) -> Option<Placed>,
    ) -> Option<Placed> {
        let first = term(self)?;
        if self.sign() != sign {
            return Some(first);
        }
        let (mut terms, mut signs) = (vec![first], Vec::new());
        while let Some(at) = self.takes(sign) {
            signs.push(at);
            terms.push(term(self)?);
        }
        self.balance(function, &signs, &mut terms.into_iter())
    }

    /// The tree over the terms that stand around these signs; they are used up from the left.
    fn balance(
        &self,
        function: &str,
        signs: &[usize],
        terms: &mut impl Iterator<Item = Placed>,
    ) -> Option<Placed> {
        if signs.is_empty() {
            return terms.next();
        }
        let (left, rest) = signs.split_at_checked(signs.len() / 2)?;
        let (at, right) = rest.split_first()?;
        let left = self.balance(function, left, terms)?;
        let right = self.balance(function, right, terms)?;
        Some(self.call(function, *at, vec![left, right]))
    }

    /// A chain of operators that bind at least so strongly.
    fn binary(&mut self, strength: u8) -> Option<Placed> {
        let mut left = self.unary()?;
        while let Some((own, function)) = leaning(self.sign()).filter(|(own, _)| *own >= strength) {
            let at = self.advance();
            let right = self.binary(own.saturating_add(1))?;
            left = self.call(function, at, vec![left, right]);
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Placed> {
        let function = match self.sign() {
            "!" => operators::LOGICAL_NOT,
            "-" => operators::NEGATE,
            _ => return self.member(),
        };
        let at = self.advance();
        if function == operators::NEGATE
            && self.tokens.get(self.at).is_some_and(|token| token.kind == TokenKind::Number)
        {
            let number = self.advance();
            // what a sign in front of a number with a selection binds to is for the grammar to say
            let alone = !matches!(self.sign(), "." | "[");
            let literal = literal::negative(self.word(number)).filter(|_| alone)?;
            return Some(self.place(ExprKind::Literal(literal), at, number));
        }
        if matches!(self.sign(), "!" | "-") {
            return None;
        }
        let operand = self.member()?;
        Some(self.call(function, at, vec![operand]))
    }

    /// An operand with the selections, calls and indices behind it.
    fn member(&mut self) -> Option<Placed> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.sign() {
                "." => self.dot(operand)?,
                "[" => self.index(operand)?,
                _ => return Some(operand),
            };
        }
    }

    fn dot(&mut self, operand: Placed) -> Option<Placed> {
        self.advance();
        let optional = self.takes("?").is_some();
        let at = self.advance();
        let name = match self.tokens.get(at)?.kind {
            TokenKind::Name => self.word(at),
            TokenKind::QuotedName => self.word(at).strip_prefix('`')?.strip_suffix('`')?,
            _ => return None,
        };
        let first = operand.first;
        if self.sign() != "(" {
            let operand = Box::new(operand.expr);
            return Some(self.place(
                ExprKind::Select { operand, field: self.name(name, at), optional },
                first,
                at,
            ));
        }
        self.arguments(at, Some(operand)).filter(|_| !optional)
    }

    fn index(&mut self, operand: Placed) -> Option<Placed> {
        let open = self.advance();
        let optional = self.takes("?").is_some();
        let index = Box::new(self.conditional()?.expr);
        let close = self.closes(open)?;
        let first = operand.first;
        Some(self.place(ExprKind::Index { operand: Box::new(operand.expr), index, optional }, first, close))
    }

    /// The call of the name at a position, whose opening bracket is next.
    fn arguments(&mut self, at: usize, target: Option<Placed>) -> Option<Placed> {
        if !self.is_plain_name(at) {
            return None;
        }
        let open = self.advance();
        let mut args = Vec::new();
        if self.outline.partner(open)? != self.at {
            args.push(self.conditional()?.expr);
            while self.takes(",").is_some() {
                args.push(self.conditional()?.expr);
            }
        }
        let close = self.closes(open)?;
        let first = target.as_ref().map_or(at, |target| target.first);
        let target = target.map(|target| Box::new(target.expr));
        let mut issues = Vec::new();
        let kind = macros::expand(self.name(self.word(at), at), target, args, &mut issues);
        issues.is_empty().then(|| self.place(kind, first, close))
    }

    /// Whether a name may be a variable or function: it is not quoted, and CEL does not keep it for itself.
    fn is_plain_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Name)
            && !RESERVED.contains(&self.word(at))
    }

    /// Goes past the bracket that closes the one at a position, if it is next.
    fn closes(&mut self, open: usize) -> Option<usize> {
        (self.outline.partner(open)? == self.at).then(|| self.advance())
    }

    fn primary(&mut self) -> Option<Placed> {
        let at = self.advance();
        let literal = match self.tokens.get(at)?.kind {
            TokenKind::Sign("(") => {
                let inside = self.conditional()?;
                let close = self.closes(at)?;
                return Some(Placed { first: at, last: close, ..inside });
            }
            TokenKind::Sign("[") => return self.list(at),
            TokenKind::Sign("{") => return self.map(at),
            TokenKind::Sign(_) | TokenKind::QuotedName => return None,
            TokenKind::Name if self.sign() == "(" => return self.arguments(at, None),
            TokenKind::Name => {
                let name = self.is_plain_name(at).then(|| self.word(at).to_owned())?;
                return Some(self.place(ExprKind::Ident { name, absolute: false }, at, at));
            }
            TokenKind::Constant => literal::constant(self.word(at))?,
            TokenKind::Number => literal::number(self.word(at))?,
            TokenKind::Text => literal::text(self.word(at))?,
        };
        Some(self.place(ExprKind::Literal(literal), at, at))
    }

    fn list(&mut self, open: usize) -> Option<Placed> {
        let mut elements = Vec::new();
        while self.outline.partner(open)? != self.at {
            let optional = self.takes("?").is_some();
            elements.push(Element { value: self.conditional()?.expr, optional });
            if self.takes(",").is_none() {
                break;
            }
        }
        let close = self.closes(open)?;
        Some(self.place(ExprKind::List(elements), open, close))
    }

    fn map(&mut self, open: usize) -> Option<Placed> {
        let mut entries = Vec::new();
        while self.outline.partner(open)? != self.at {
            let optional = self.takes("?").is_some();
            let key = self.conditional()?.expr;
            self.takes(":")?;
            entries.push(Entry { key, value: self.conditional()?.expr, optional });
            if self.takes(",").is_none() {
                break;
            }
        }
        let close = self.closes(open)?;
        Some(self.place(ExprKind::Map(entries), open, close))
    }
}
