//! The databases whose SQL is read, and the bounds of a text before and while it is parsed.

use super::facts::StatementFacts;
#[cfg(not(target_family = "wasm"))]
use crate::cel::ErrorCode;
use crate::cel::Fault;
use sqlparser::dialect::{Dialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

/// A database and how it reads SQL.
pub(super) struct Reading {
    /// Its name in expressions.
    pub(super) name: &'static str,
    dialect: &'static (dyn Dialect + Sync),
    /// Whether it reads names without quotes in small letters. MySQL and SQL Server ask their settings.
    folds_names: bool,
}

/// The rows of all databases.
pub(super) const DIALECTS: &[Reading] = &[
    Reading { name: "postgres", dialect: &PostgreSqlDialect {}, folds_names: true },
    Reading { name: "mysql", dialect: &MySqlDialect {}, folds_names: false },
    Reading { name: "sqlite", dialect: &SQLiteDialect {}, folds_names: true },
    Reading { name: "mssql", dialect: &MsSqlDialect {}, folds_names: false },
];

/// Nesting that the parser follows.
const MAX_RECURSION: usize = 40;

/// Brackets in brackets: the parser tries several readings of each.
const MAX_BRACKETS: usize = 12;

/// Operators of one statement: a chain of them (`1 + 1 + …`) becomes a tree that is as deep as the chain is long.
const MAX_OPERATORS: usize = 160;

/// Joins of one statement: the parser follows joins without a condition inward.
const MAX_JOINS: usize = 20;

/// Keywords that make no tree deeper, of which a long query has many.
const FLAT: &[Keyword] = &[
    Keyword::SELECT,
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::AS,
    Keyword::ON,
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::BY,
    Keyword::ASC,
    Keyword::DESC,
    Keyword::NULL,
    Keyword::TRUE,
    Keyword::FALSE,
];

impl Reading {
    /// Reads the statements of a text. `is_named`: the author has named this database, so its own rules about names hold.
    ///
    /// # Errors
    /// `invalid_argument` for a text that cannot be parsed, or that is nested too deeply.
    pub(super) fn read(&self, text: &str, is_named: bool) -> Result<Vec<StatementFacts>, Fault> {
        if text.chars().any(is_read_differently) {
            return Err(Fault::refused("SQL whose blanks are spaces, tabs and line ends"));
        }
        // MySQL and MariaDB run what is written in such a comment, depending on their version
        if text.contains("/*!") || text.contains("/*M!") {
            return Err(Fault::refused("SQL without comments that a database runs"));
        }
        if !is_named && text.contains('\\') {
            return Err(Fault::refused("SQL without `\\`, or a dialect"));
        }
        on_own_stack(|| self.parse(text, is_named))
    }

    fn parse(&self, text: &str, is_named: bool) -> Result<Vec<StatementFacts>, Fault> {
        let tokens = Tokenizer::new(self.dialect, text).tokenize_with_location().map_err(|_| unparsed())?;
        check_nesting(tokens.iter().map(|token| &token.token))?;
        let mut parser =
            Parser::new(self.dialect).with_recursion_limit(MAX_RECURSION).with_tokens_with_locations(tokens);
        let statements = parser.parse_statements().map_err(|_| unparsed())?;
        let folds_names = is_named && self.folds_names;
        statements.iter().map(|statement| StatementFacts::from_statement(statement, folds_names)).collect()
    }
}

fn unparsed() -> Fault {
    Fault::refused("SQL that can be parsed")
}

/// Stack of a thread that parses. The parser and the walk over its tree recurse as deeply as [`check_nesting`] allows, whatever the stack of
/// the caller; a build for tests needs a quarter of it.
#[cfg(not(target_family = "wasm"))]
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Runs the parser on a thread of its own. A panic in it is a text that cannot be parsed.
#[cfg(not(target_family = "wasm"))]
fn on_own_stack<T: Send>(parse: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(parsed)) => parsed,
            Ok(Err(_)) => Err(unparsed()),
            Err(_) => Err(ErrorCode::HostFailed.into()),
        }
    })
}

/// A module has one thread, and its host ends it at the end of its stack.
#[cfg(target_family = "wasm")]
fn on_own_stack<T>(parse: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    parse()
}

/// Whether databases disagree about this character outside of texts: a blank for one is a letter for another.
fn is_read_differently(letter: char) -> bool {
    let is_blank = matches!(letter, ' ' | '\t' | '\n' | '\r');
    !is_blank && (letter.is_whitespace() || letter.is_control())
}

/// Bounds the depth of the tree that the tokens of a text can become.
fn check_nesting<'t>(tokens: impl Iterator<Item = &'t Token>) -> Result<(), Fault> {
    let too_deep = || Fault::refused("SQL with fewer nested brackets and operators");
    let (mut brackets, mut operators, mut joins) = (0_usize, 0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => brackets = brackets.saturating_add(1),
            Token::RParen | Token::RBracket | Token::RBrace => brackets = brackets.saturating_sub(1),
            Token::SemiColon => (brackets, operators, joins) = (0, 0, 0),
            Token::Word(word)
                if matches!(word.keyword, Keyword::JOIN | Keyword::APPLY | Keyword::STRAIGHT_JOIN) =>
            {
                joins = joins.saturating_add(1);
            }
            Token::Word(word) if word.keyword == Keyword::NoKeyword || FLAT.contains(&word.keyword) => {}
            Token::Whitespace(_) | Token::Comma | Token::Period | Token::Number(..) | Token::EOF => {}
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => {}
            _ => operators = operators.saturating_add(1),
        }
        if brackets > MAX_BRACKETS || operators > MAX_OPERATORS || joins > MAX_JOINS {
            return Err(too_deep());
        }
    }
    Ok(())
}
