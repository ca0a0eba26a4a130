//! Tokens to [`Expr`]: the grammar of CEL, each rule one function, operators by how strongly they bind.
//!
//! Every node gets its exact characters, and macros are put in the place of the calls that were written. The trees are
//! those of cel-go: signs of a row cancel out, `&&` and `||` are balanced. Reading stops at the first token that no
//! expression can have there. It recurses on brackets and conditions, whose depth the outline has bounded.

use super::expr::{Element, Expr, ExprId, ExprKind, Literal, MapEntry, Name, StructField};
use super::tokens::{Token, TokenKind};
use super::{RESERVED, literal, macros, messages};
use crate::issue::Issue;
use crate::source::Span;

/// Why there is no tree.
pub(super) enum Misread {
    /// The token at this position cannot stand there; the end cannot, if it is behind the last.
    Unexpected(usize),
    /// Words that name nothing, numbers beyond their types, or macros that are written wrongly.
    Faults(Vec<Issue>),
}

/// The expression that all tokens of a text are.
pub(super) fn read(text: &str, tokens: &[Token]) -> Result<Expr, Misread> {
    let mut reader = Reader { text, tokens, at: 0, words: Vec::new(), macros: Vec::new() };
    let placed = reader.expr().map_err(|Unexpected(at)| Misread::Unexpected(at))?;
    if reader.at < tokens.len() {
        return Err(Misread::Unexpected(reader.at));
    }
    // a macro that is made of a wrong word is no further fault
    let mut faults = if reader.words.is_empty() { reader.macros } else { reader.words };
    if faults.is_empty() {
        return Ok(placed.expr);
    }
    faults.sort_by_key(|issue| issue.span);
    Err(Misread::Faults(faults))
}

/// The position of a token that cannot stand where it stands.
struct Unexpected(usize);

type Read<T> = Result<T, Unexpected>;

/// An expression with the positions of its first and last token, brackets and signs that are no part of it included.
struct Placed {
    expr: Expr,
    first: usize,
    last: usize,
}

struct Reader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    /// The position of the token that is next.
    at: usize,
    words: Vec<Issue>,
    macros: Vec<Issue>,
}

/// How strongly `||` binds, and what stands above it.
const OR: u8 = 0;
const AND: u8 = 1;
const RELATION: u8 = 2;
const SUM: u8 = 3;
const PRODUCT: u8 = 4;

/// The function of a sign between two operands, and how strongly it binds.
fn infix(sign: &str) -> Option<(&'static str, u8)> {
    Some(match sign {
        "||" => ("_||_", OR),
        "&&" => ("_&&_", AND),
        "<" => ("_<_", RELATION),
        "<=" => ("_<=_", RELATION),
        ">" => ("_>_", RELATION),
        ">=" => ("_>=_", RELATION),
        "==" => ("_==_", RELATION),
        "!=" => ("_!=_", RELATION),
        "in" => ("@in", RELATION),
        "+" => ("_+_", SUM),
        "-" => ("_-_", SUM),
        "*" => ("_*_", PRODUCT),
        "/" => ("_/_", PRODUCT),
        "%" => ("_%_", PRODUCT),
        _ => return None,
    })
}

impl<'t> Reader<'t> {
    fn kind(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    /// The sign at a position, or an empty text.
    fn sign_at(&self, at: usize) -> &'static str {
        self.tokens.get(at).map_or("", |token| token.sign())
    }

    fn sign(&self) -> &'static str {
        self.sign_at(self.at)
    }

    fn span(&self, first: usize, last: usize) -> Span {
        let span = |at: usize| self.tokens.get(at).map(|token| token.span).unwrap_or_default();
        span(first).to(span(last))
    }

    fn word(&self, at: usize) -> &'t str {
        self.text.get(self.span(at, at).range()).unwrap_or_default()
    }

    /// Goes past a token and gives its position.
    fn take(&mut self) -> usize {
        let at = self.at;
        self.at = at.saturating_add(1);
        at
    }

    /// Goes past a sign, if it is there.
    fn takes(&mut self, sign: &str) -> bool {
        let there = self.sign() == sign;
        if there {
            self.take();
        }
        there
    }

    fn expect(&mut self, sign: &str) -> Read<usize> {
        if self.sign() == sign { Ok(self.take()) } else { Err(Unexpected(self.at)) }
    }

    fn place(&self, kind: ExprKind, first: usize, last: usize) -> Placed {
        Placed {
            expr: Expr { id: ExprId(0), span: self.span(first, last), kind, in_place_of: None },
            first,
            last,
        }
    }

    fn name(&self, text: impl Into<String>, at: usize) -> Name {
        Name { text: text.into(), span: self.span(at, at) }
    }

    /// `a ? b : c`, or something that binds more strongly.
    fn expr(&mut self) -> Read<Placed> {
        let condition = self.binary(OR)?;
        if self.sign() != "?" {
            return Ok(condition);
        }
        let at = self.take();
        let then = self.binary(OR)?;
        self.expect(":")?;
        let otherwise = self.expr()?;
        Ok(self.operator("_?_:_", at, vec![condition, then, otherwise]))
    }

    /// Operands with signs between them that bind at least so strongly.
    fn binary(&mut self, least: u8) -> Read<Placed> {
        let mut left = self.unary()?;
        while let Some((function, strength)) = infix(self.sign()).filter(|(_, strength)| *strength >= least) {
            let tighter = strength.saturating_add(1);
            left = if strength <= AND {
                let (mut signs, mut clauses) = (Vec::new(), vec![left]);
                while infix(self.sign()).is_some_and(|(_, other)| other == strength) {
                    signs.push(self.take());
                    clauses.push(self.binary(tighter)?);
                }
                self.balanced(function, &signs, &mut clauses.into_iter()).ok_or(Unexpected(self.at))?
            } else {
                let at = self.take();
                let right = self.binary(tighter)?;
                self.operator(function, at, vec![left, right])
            };
        }
        Ok(left)
    }

    /// A chain of `&&` or `||` as a tree of which no branch is much longer than another.
    fn balanced(
        &self,
        function: &str,
        signs: &[usize],
        clauses: &mut impl Iterator<Item = Placed>,
    ) -> Option<Placed> {
        let (before, rest) = signs.split_at_checked(signs.len() / 2)?;
        let Some((at, behind)) = rest.split_first() else { return clauses.next() };
        let left = self.balanced(function, before, clauses)?;
        let right = self.balanced(function, behind, clauses)?;
        Some(self.operator(function, *at, vec![left, right]))
    }

    fn operator(&self, function: &str, at: usize, operands: Vec<Placed>) -> Placed {
        let first = operands.iter().fold(at, |first, operand| first.min(operand.first));
        let last = operands.iter().fold(at, |last, operand| last.max(operand.last));
        let args = operands.into_iter().map(|operand| operand.expr).collect();
        self.place(ExprKind::Call { function: self.name(function, at), target: None, args }, first, last)
    }

    /// `!a`, `-a`; two signs of a kind cancel out. The minus of a number is part of it.
    fn unary(&mut self) -> Read<Placed> {
        let function = match self.sign() {
            "!" => "!_",
            "-" if self.signed_number().is_none() => "-_",
            _ => return self.member(),
        };
        let (first, sign) = (self.at, self.sign());
        while self.takes(sign) {}
        let count = self.at.saturating_sub(first);
        let operand = self.member()?;
        if count % 2 == 0 {
            return Ok(Placed { first, ..operand });
        }
        Ok(self.operator(function, first, vec![operand]))
    }

    /// The position of the number behind a minus, if one is there that may have it: a `uint` may not.
    fn signed_number(&self) -> Option<usize> {
        let at = self.at.checked_add(1)?;
        let is_number = self.tokens.get(at)?.kind == TokenKind::Number;
        (is_number && !self.word(at).ends_with(['u', 'U'])).then_some(at)
    }

    /// An operand with all that is selected, called and indexed on it.
    fn member(&mut self) -> Read<Placed> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.sign() {
                "." => self.dotted(operand)?,
                "[" => self.indexed(operand)?,
                _ => return Ok(operand),
            };
        }
    }

    /// `a.b`, `a.?b`, `a.b(c)`
    fn dotted(&mut self, operand: Placed) -> Read<Placed> {
        self.take();
        let optional = self.takes("?");
        let quoted = self.kind() == Some(TokenKind::QuotedName);
        let field = self.field()?;
        let at = self.at.saturating_sub(1);
        if self.sign() == "(" && !optional && !quoted {
            return self.call(operand.first, field, Some(Box::new(operand.expr)));
        }
        let kind = ExprKind::Select { operand: Box::new(operand.expr), field, optional };
        Ok(self.place(kind, operand.first, at))
    }

    /// The name of a field, which may be any word, and anything in quotes.
    fn field(&mut self) -> Read<Name> {
        let text = match self.kind() {
            Some(TokenKind::Name) => self.word(self.at).to_owned(),
            Some(TokenKind::QuotedName) => self.word(self.at).trim_matches('`').to_owned(),
            _ => return Err(Unexpected(self.at)),
        };
        let at = self.take();
        Ok(self.name(text, at))
    }

    /// `a[b]`, `a[?b]`
    fn indexed(&mut self, operand: Placed) -> Read<Placed> {
        self.take();
        let optional = self.takes("?");
        let index = Box::new(self.expr()?.expr);
        let last = self.expect("]")?;
        let kind = ExprKind::Index { operand: Box::new(operand.expr), index, optional };
        Ok(self.place(kind, operand.first, last))
    }

    /// A call from its bracket on, which may be a macro.
    fn call(&mut self, first: usize, function: Name, target: Option<Box<Expr>>) -> Read<Placed> {
        self.take();
        let mut args = Vec::new();
        if self.sign() != ")" {
            args.push(self.expr()?.expr);
            while self.takes(",") {
                args.push(self.expr()?.expr);
            }
        }
        let last = self.expect(")")?;
        let kind = macros::expand(function, target, args, &mut self.macros);
        Ok(self.place(kind, first, last))
    }

    /// A literal, a name, a call, a message, or something in brackets.
    fn primary(&mut self) -> Read<Placed> {
        let first = self.at;
        match self.kind() {
            Some(TokenKind::Number | TokenKind::Text | TokenKind::Constant) => Ok(self.literal(first, first)),
            Some(TokenKind::Name) => self.named(first),
            Some(TokenKind::Sign("-")) => {
                let number = self.signed_number().ok_or(Unexpected(first.saturating_add(1)))?;
                Ok(self.literal(first, number))
            }
            Some(TokenKind::Sign(".")) => {
                self.take();
                match self.kind() {
                    Some(TokenKind::Name) => self.named(first),
                    _ => Err(Unexpected(self.at)),
                }
            }
            Some(TokenKind::Sign("(")) => {
                self.take();
                let inside = self.expr()?;
                let last = self.expect(")")?;
                Ok(Placed { first, last, ..inside })
            }
            Some(TokenKind::Sign("[")) => self.list(),
            Some(TokenKind::Sign("{")) => self.map(),
            _ => Err(Unexpected(first)),
        }
    }

    /// A literal, whose minus may be the token before it.
    fn literal(&mut self, first: usize, at: usize) -> Placed {
        let word = self.word(at);
        let literal = match self.tokens.get(at).map(|token| token.kind) {
            Some(TokenKind::Number) => literal::number(word, first < at),
            Some(TokenKind::Text) => Some(literal::text(word)),
            _ => Some(literal::constant(word)),
        };
        if literal.is_none() {
            self.words.push(messages::number_out_of_range(self.span(at, at), word));
        }
        self.at = at.saturating_add(1);
        self.place(ExprKind::Literal(literal.unwrap_or(Literal::Null)), first, at)
    }

    /// What begins with a name, a dot possibly in front of it.
    fn named(&mut self, first: usize) -> Read<Placed> {
        let at = self.at;
        if let Some(open) = self.message_ahead() {
            return self.message(first, open);
        }
        let word = self.word(at);
        let (text, absolute) = (word.to_owned(), first < at);
        if RESERVED.contains(&word) {
            let issue = messages::reserved_word(self.span(at, at), word);
            self.words.push(issue);
        }
        self.take();
        if self.sign() == "(" {
            let text = if absolute { format!(".{text}") } else { text };
            return self.call(first, self.name(text, at), None);
        }
        Ok(self.place(ExprKind::Ident { name: text, absolute }, first, at))
    }

    /// The bracket behind the name of a message: `a.b.C{`.
    fn message_ahead(&self) -> Option<usize> {
        let mut at = self.at;
        loop {
            let name = self.tokens.get(at)?;
            let behind = at.checked_add(1)?;
            match (name.kind, self.sign_at(behind)) {
                (TokenKind::Name, "{") => return Some(behind),
                (TokenKind::Name, ".") => at = behind.checked_add(1)?,
                _ => return None,
            }
        }
    }

    fn message(&mut self, first: usize, open: usize) -> Read<Placed> {
        let name = (first..open).map(|at| self.word(at)).collect();
        self.at = open.saturating_add(1);
        let mut fields = Vec::new();
        let last = self.listed("}", |reader| {
            let optional = reader.takes("?");
            let name = reader.field()?;
            reader.expect(":")?;
            fields.push(StructField { name, value: reader.expr()?.expr, optional });
            Ok(())
        })?;
        Ok(self.place(ExprKind::Struct { name, fields }, first, last))
    }

    fn list(&mut self) -> Read<Placed> {
        let first = self.take();
        let mut elements = Vec::new();
        let last = self.listed("]", |reader| {
            let optional = reader.takes("?");
            elements.push(Element { value: reader.expr()?.expr, optional });
            Ok(())
        })?;
        Ok(self.place(ExprKind::List(elements), first, last))
    }

    fn map(&mut self) -> Read<Placed> {
        let first = self.take();
        let mut entries = Vec::new();
        let last = self.listed("}", |reader| {
            let optional = reader.takes("?");
            let key = reader.expr()?.expr;
            reader.expect(":")?;
            entries.push(MapEntry { key, value: reader.expr()?.expr, optional });
            Ok(())
        })?;
        Ok(self.place(ExprKind::Map(entries), first, last))
    }

    /// Parts with commas between them, up to the closing bracket, before which one more comma may stand.
    fn listed(&mut self, closing: &str, mut part: impl FnMut(&mut Self) -> Read<()>) -> Read<usize> {
        if ![",", closing].contains(&self.sign()) {
            part(self)?;
            while self.sign() == "," && self.sign_at(self.at.saturating_add(1)) != closing {
                self.take();
                part(self)?;
            }
        }
        self.takes(",");
        self.expect(closing)
    }
}
