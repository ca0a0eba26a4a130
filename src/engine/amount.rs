//! Amounts that counters add up, and what the turns of a model cost: decimals that are not negative, to the billionth.
//!
//! In: a number of the language or of JSON, or a decimal as text. Out: whole billionths, whose sums have no error. A double is taken
//! as the shortest decimal that stands for it, which is the one that somebody wrote: 0.1 is a tenth, and ten of them are one.
//! Its digits beyond the ninth behind the point round up, so that a sum is never too low. Sums of doubles would drift, and
//! would depend on the order in which calls are reported. A text is taken as it stands or not at all.

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Billionths of one.
const UNIT: u128 = 1_000_000_000;

/// Digits behind the point.
const DIGITS: usize = 9;

/// The largest single amount, in ones: sums of fewer than 300 billion such amounts are exact.
const MOST: u128 = 1_000_000_000_000_000_000;

/// An amount: a decimal that is not negative, to the billionth.
///
/// ```
/// use celador::{Amount, AmountError};
///
/// let tenth = Amount::from_double(0.1)?;
/// let one = (0..10).fold(Amount::ZERO, |sum, _| sum.plus(tenth));
/// assert_eq!(one, Amount::from_int(1)?);
/// assert_eq!((one.to_double(), one.to_string()), (1.0, "1".to_owned()));
///
/// // a computed double has more digits than anybody wrote: they round up
/// assert_eq!(Amount::from_double(0.1 + 0.2)?.to_string(), "0.300000001");
/// // who writes one as text is taken at their word
/// assert_eq!(Amount::from_decimal("0.0123")?.to_double(), 0.0123);
/// assert_eq!(Amount::from_decimal("0.0000000001"), Err(AmountError::TooFine));
/// assert_eq!(Amount::from_double(-0.5), Err(AmountError::Negative));
/// assert_eq!(Amount::from_double(f64::NAN), Err(AmountError::NotFinite));
/// # Ok::<(), AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

/// Why a number is no amount. It holds no value: numbers are data of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// An infinity, or no number.
    #[error("the amount is not finite")]
    NotFinite,
    /// A number below zero: it would give back what somebody else has spent.
    #[error("the amount is negative")]
    Negative,
    /// A number above a quintillion (10^18).
    #[error("the amount is above 10^18")]
    TooLarge,
    /// A text that is no decimal such as `12.5`.
    #[error("the text is no decimal")]
    NotDecimal,
    /// A text with more than nine digits behind the point.
    #[error("the amount has more than nine digits behind the point")]
    TooFine,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The least that is more than nothing: a billionth.
    pub const LEAST: Self = Self(1);

    /// The largest single amount: 10^18.
    pub const MOST: Self = Self(MOST.saturating_mul(UNIT));

    /// A whole number.
    ///
    /// # Errors
    /// [`AmountError::Negative`], [`AmountError::TooLarge`].
    pub fn from_int(number: i64) -> Result<Self, AmountError> {
        u64::try_from(number).map_err(|_| AmountError::Negative).and_then(Self::from_uint)
    }

    /// A whole number without a sign.
    ///
    /// # Errors
    /// [`AmountError::TooLarge`].
    pub fn from_uint(number: u64) -> Result<Self, AmountError> {
        let whole = u128::from(number);
        if whole > MOST {
            return Err(AmountError::TooLarge);
        }
        Ok(Self(whole.saturating_mul(UNIT)))
    }

    /// A double, as the shortest decimal that stands for it.
    ///
    /// # Errors
    /// [`AmountError::NotFinite`], [`AmountError::Negative`], [`AmountError::TooLarge`].
    pub fn from_double(number: f64) -> Result<Self, AmountError> {
        if !number.is_finite() {
            return Err(AmountError::NotFinite);
        }
        if number < 0.0 {
            return Err(AmountError::Negative);
        }
        // minus zero is written with its sign
        let amount = read(&number.abs().to_string())?;
        if amount.0 > MOST.saturating_mul(UNIT) { Err(AmountError::TooLarge) } else { Ok(amount) }
    }

    /// A decimal as somebody wrote it: digits, and perhaps a point with up to nine digits behind it.
    ///
    /// # Errors
    /// [`AmountError::NotDecimal`], [`AmountError::Negative`], [`AmountError::TooFine`], [`AmountError::TooLarge`].
    pub fn from_decimal(text: &str) -> Result<Self, AmountError> {
        let amount = read(text.strip_prefix('-').unwrap_or(text))?;
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction.trim_end_matches('0'));
        if text.starts_with('-') && amount != Self::ZERO {
            Err(AmountError::Negative)
        } else if fraction.len() > DIGITS {
            Err(AmountError::TooFine)
        } else if amount.0 > MOST.saturating_mul(UNIT) {
            Err(AmountError::TooLarge)
        } else {
            Ok(amount)
        }
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// The sum. It is exact below 3 · 10^29, which no number of calls comes to, and stays there.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference; nothing if `other` is more.
    #[must_use]
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The nearest double.
    #[must_use]
    pub fn to_double(self) -> f64 {
        // the digits are read as any number is, so that 0.3 is what an author writes as 0.3
        self.to_string().parse().unwrap_or(f64::INFINITY)
    }

    /// The whole number, a part of one counting as one; the largest whole number of the language if it is beyond that.
    #[must_use]
    pub fn to_int(self) -> i64 {
        i64::try_from(self.0.div_ceil(UNIT)).unwrap_or(i64::MAX)
    }
}

/// A decimal of either sign, to the billionth: what a call adds to a counter or takes away from it, and what a counter holds.
///
/// ```
/// use celador::{Amount, AmountError, Decimal};
///
/// let refund = Decimal::from_double(-12.5)?;
/// assert_eq!((refund.to_string(), refund.to_double(), refund.is_negative()), ("-12.5".to_owned(), -12.5, true));
/// assert_eq!(refund.plus(Amount::from_int(20)?.into()), Decimal::from_double(7.5)?);
/// assert_eq!((refund.amount(), refund.negated().amount()), (None, Some(Amount::from_double(12.5)?)));
/// assert_eq!("-12.5".parse::<Decimal>()?, refund);
/// assert_eq!(Decimal::from_double(f64::NEG_INFINITY), Err(AmountError::NotFinite));
/// # Ok::<(), AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(i128);

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// A whole number.
    ///
    /// # Errors
    /// [`AmountError::TooLarge`].
    pub fn from_int(number: i64) -> Result<Self, AmountError> {
        Self::signed(number.is_negative(), Amount::from_uint(number.unsigned_abs()))
    }

    /// A double, as the shortest decimal that stands for it. Digits beyond the ninth behind the point round up, so that a sum is never
    /// too low: those of a negative one are dropped.
    ///
    /// # Errors
    /// [`AmountError::NotFinite`], [`AmountError::TooLarge`].
    pub fn from_double(number: f64) -> Result<Self, AmountError> {
        if number < 0.0 && number.is_finite() {
            let (kept, _) = digits(&number.abs().to_string())?;
            return Self::signed(
                true,
                if kept > Amount::MOST { Err(AmountError::TooLarge) } else { Ok(kept) },
            );
        }
        Amount::from_double(number).map(Self::from)
    }

    fn signed(is_negative: bool, amount: Result<Amount, AmountError>) -> Result<Self, AmountError> {
        amount.map(|amount| if is_negative { Self::from(amount).negated() } else { amount.into() })
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum; it stays at the largest or smallest decimal, which no number of calls comes to.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The same number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self(self.0.saturating_neg())
    }

    /// The amount, if it is not negative.
    #[must_use]
    pub fn amount(self) -> Option<Amount> {
        u128::try_from(self.0).ok().map(Amount)
    }

    /// The amount; nothing of it below zero.
    #[must_use]
    pub fn or_zero(self) -> Amount {
        self.amount().unwrap_or_default()
    }

    /// The nearest double.
    #[must_use]
    pub fn to_double(self) -> f64 {
        let size = Amount(self.0.unsigned_abs()).to_double();
        if self.is_negative() { -size } else { size }
    }

    /// The next whole number that is not less; the largest or smallest whole number of the language if it is beyond that.
    #[must_use]
    pub fn to_int(self) -> i64 {
        match self.amount() {
            Some(amount) => amount.to_int(),
            // towards zero is up
            None => self
                .0
                .checked_div(UNIT.cast_signed())
                .and_then(|it| i64::try_from(it).ok())
                .unwrap_or(i64::MIN),
        }
    }
}

impl From<Amount> for Decimal {
    fn from(amount: Amount) -> Self {
        Self(i128::try_from(amount.0).unwrap_or(i128::MAX))
    }
}

impl PartialEq<Amount> for Decimal {
    fn eq(&self, other: &Amount) -> bool {
        *self == Self::from(*other)
    }
}

impl FromStr for Decimal {
    type Err = AmountError;

    /// As [`fmt::Display`] writes it.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        match text.strip_prefix('-') {
            Some(size) => Self::signed(true, read(size)),
            None => Self::signed(false, read(text)),
        }
    }
}

impl fmt::Display for Decimal {
    /// A decimal with as many digits behind the point as it has: `-12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        write!(f, "{sign}{}", Amount(self.0.unsigned_abs()))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Digits, and perhaps a point with digits behind it. Digits beyond the ninth round up.
fn read(text: &str) -> Result<Amount, AmountError> {
    let (kept, is_more) = digits(text)?;
    let sum = kept.0.checked_add(u128::from(is_more));
    sum.map(Amount).ok_or(AmountError::TooLarge)
}

/// The same without the digits beyond the ninth, and whether one of these is not 0.
fn digits(text: &str) -> Result<(Amount, bool), AmountError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(AmountError::NotDecimal);
    }
    let number = |digits: &str| digits.parse::<u128>().map_err(|_| AmountError::TooLarge);
    let (kept, beyond) = fraction.split_at_checked(DIGITS).unwrap_or((fraction, ""));
    let billionths = number(&format!("{kept:0<DIGITS$}"))?;
    let whole = number(whole)?.checked_mul(UNIT);
    let kept =
        whole.and_then(|whole| whole.checked_add(billionths)).map(Amount).ok_or(AmountError::TooLarge)?;
    Ok((kept, beyond.bytes().any(|digit| digit != b'0')))
}

impl FromStr for Amount {
    type Err = AmountError;

    /// As [`fmt::Display`] writes it.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        read(text)
    }
}

impl fmt::Display for Amount {
    /// A decimal with as many digits behind the point as it has: `12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / UNIT, self.0 % UNIT);
        let fraction = format!("{fraction:0>DIGITS$}");
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// What a report may have in the place of an amount.
const REPORTED: &str =
    "a number from 0 to 10^18, or such a decimal as text with up to nine digits behind the point";

/// An amount as somebody outside reports it: a number of JSON, or a decimal as text.
pub(crate) fn reported<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    deserializer.deserialize_any(Reported)
}

struct Reported;

impl Visitor<'_> for Reported {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REPORTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Amount, E> {
        Amount::from_decimal(text).map_err(refused)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Amount, E> {
        Amount::from_uint(number).map_err(refused)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Amount, E> {
        Amount::from_int(number).map_err(refused)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Amount, E> {
        Amount::from_double(number).map_err(refused)
    }
}

fn refused<E: serde::de::Error>(why: AmountError) -> E {
    E::custom(format_args!("{why}, expected {REPORTED}"))
}
