//! The bounds of the language, one row each: name, default, unit, what it protects. And how such rows are written.
//!
//! A bound is named in its message (`max_depth` 64 exceeded), so the row is where a reader looks first. All are on by
//! default.

/// A struct of bounds, made of its rows: documentation, name, type, default, unit. One that goes over another has its bounds
/// found by their names as well.
#[macro_export]
macro_rules! bounds {
    (#[doc = $about:literal] $limits:ident $(over $(#[doc = $inner_doc:literal])+ $inner:ident: $inner_type:ty;)?
     $($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $default:literal, $unit:literal;)+) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $limits {
            $($(#[doc = $inner_doc])+ pub $inner: $inner_type,)?
            $($(#[doc = $doc])+ #[doc = concat!("\n\nDefault ", stringify!($default), " ", $unit, ".")] pub $name: $kind,)+
        }

        impl Default for $limits {
            fn default() -> Self {
                Self { $($inner: <$inner_type>::default(),)? $($name: $default,)+ }
            }
        }

        impl $limits {
            /// The rows: name, default, unit, and purpose of each bound.
            pub const ROWS: &'static [$crate::LimitRow] = &[
                $($crate::LimitRow {
                    name: stringify!($name),
                    default: $default as u64,
                    unit: $unit,
                    protects: concat!($($doc),+),
                },)+
            ];

            /// Changes a bound by its name. False if no bound has this name, or if the bound cannot have this value.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => match value.try_into() {
                        Ok(value) => {
                            self.$name = value;
                            true
                        }
                        // `u64` in `u64` cannot fail, and what is larger than the machine is no bound
                        Err(_) => false,
                    },)+
                    _ => false $(|| self.$inner.set(name, value))?,
                }
            }

            /// The value of a bound by its name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => u64::try_from(self.$name).ok(),)+
                    _ => None $(.or_else(|| self.$inner.get(name)))?,
                }
            }
        }
    };
}

/// One bound as documentation shows it.
///
/// ```
/// use celador_cel::{EvalLimits, LimitRow};
///
/// // an operator sets a bound by its name, which is in the row and in the message that names the bound
/// let LimitRow { name, default, unit, .. } =
///     EvalLimits::ROWS.iter().find(|row| row.unit == "cost units").ok_or("evaluation is bounded")?;
/// assert_eq!((*name, *unit), ("max_cost", "cost units"));
/// let mut limits = EvalLimits::default();
/// assert!(limits.set(name, default / 2));
/// assert_eq!(limits.max_cost, default / 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LimitRow {
    /// The field's name.
    pub name: &'static str,
    /// The default.
    pub default: u64,
    /// The unit that is counted.
    pub unit: &'static str,
    /// The purpose of the bound.
    pub protects: &'static str,
}

bounds! {
    /// The bounds of the language. Start from [`EvalLimits::default`] and change what must differ.
    EvalLimits
    /// Length of one expression or template, before anything reads it.
    max_source_bytes: usize = 32_768, "bytes";
    /// Words and signs in one expression: what the parser works on.
    max_tokens: usize = 4_096, "tokens";
    /// Nesting of one expression, operators of a chain included: what every walk over it recurses on.
    max_depth: usize = 96, "levels";
    /// Steps of one compiled expression.
    max_plan_nodes: usize = 8_192, "nodes";
    /// Work of one evaluation; a step costs one or more, a loop its elements, text its length.
    max_cost: u64 = 1_000_000, "cost units";
    /// What one evaluation may build: strings, lists and maps.
    max_built_bytes: u64 = 16_777_216, "bytes";
    /// Loops over growing lists whose outcomes are kept from one evaluation to the next.
    max_folds: usize = 64, "loops";
    /// What is kept to find the elements of growing lists by a value, so that a loop need not ask each of them.
    max_index_bytes: usize = 16_777_216, "bytes";
    /// Size of one compiled regular expression.
    max_regex_bytes: usize = 262_144, "bytes";
    /// The compiled regular expressions of one expression together.
    max_patterns_bytes: usize = 4_194_304, "bytes";
    /// Nesting of a value that comes in as JSON.
    max_json_depth: usize = 100, "levels";
    /// One JSON value that comes in: arguments, a result, a message.
    max_json_bytes: usize = 33_554_432, "bytes";
    /// A text in another language that a function parses: SQL, a list of addresses, Markdown, HTML.
    max_parsed_bytes: usize = 65_536, "bytes";
    /// What the compiled-expression cache may hold.
    max_cache_bytes: u64 = 33_554_432, "bytes";
}
