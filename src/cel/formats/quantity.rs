//! Quantities, as Kubernetes writes them: a number with a suffix of the metric system, of powers of two, or an exponent.
//!
//! Whole billionths inside, so that sums and comparisons are exact. Where Kubernetes rounds a number that is finer than a billionth up,
//! or cuts one beyond 2^63 - 1 down to that, this is an error: a limit must not be another one than was written.

use crate::fault::{ErrorCode, Fault};
use std::fmt;
use std::str::FromStr;

const EXPECTED: &str = "a quantity is a number, then `n`, `u`, `m`, `k`, `M`, `G`, `T`, `P`, `E`, or `Ki` to `Ei`, or an exponent such as `e3`";
const FINEST: &str = "a quantity is no finer than a billionth";

/// Bytes of the longest quantity that is looked at, so that asking has one price.
const LONGEST: usize = 256;

/// Billionths of one.
const ONE: i128 = 1_000_000_000;
const PARTS: u128 = ONE.unsigned_abs();
/// The greatest quantity either way, in billionths.
const MOST: i128 = 9_223_372_036_854_775_807_000_000_000;

/// The metric suffixes with their powers of ten.
const METRIC: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// The suffixes of powers of two with their powers.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// A quantity: an exact number of billionths, at most 2^63 - 1 units either way.
///
/// ```
/// use celador_cel::Quantity;
///
/// let (memory, half): (Quantity, Quantity) = ("1.5Gi".parse()?, "500m".parse()?);
/// assert_eq!(memory.as_integer(), Some(1_610_612_736));
/// assert_eq!((half.as_integer(), half.as_approximate_float()), (None, 0.5));
/// assert_eq!(half.plus(half)?, Quantity::whole(1)?);
/// assert!("200K".parse::<Quantity>().is_err());
/// # Ok::<(), celador_cel::Fault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    billionths: i128,
}

impl FromStr for Quantity {
    type Err = Fault;

    /// Reads a quantity. Linear in the text, which has at most 256 bytes.
    ///
    /// # Errors
    /// `invalid_argument` for another text and for a number that is finer than a billionth, `overflow` beyond 2^63 - 1.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (digits, suffix) = rest.split_at_checked(end).ok_or(Fault::refused(EXPECTED))?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if text.len() > LONGEST || whole.len().saturating_add(fraction.len()) == 0 || fraction.contains('.') {
            return Err(Fault::refused(EXPECTED));
        }
        let (tens, twos) = scale(suffix).ok_or(Fault::refused(EXPECTED))?;
        // zeros at either end say nothing
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let digits = [whole, fraction].concat();
        if digits.trim_start_matches('0').is_empty() {
            return Ok(Self { billionths: 0 });
        }
        let zeros = digits.len().saturating_sub(digits.trim_end_matches('0').len());
        let digits = digits.trim_end_matches('0');
        let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
        let tens =
            tens.saturating_sub(length(fraction.len())).saturating_add(length(zeros)).saturating_add(9);
        let billionths = scaled(digits, tens, twos)?;
        Self::of(if negative { billionths.saturating_neg() } else { billionths })
    }
}

impl Quantity {
    fn of(billionths: i128) -> Result<Self, Fault> {
        let fits = (-MOST..=MOST).contains(&billionths);
        if fits { Ok(Self { billionths }) } else { Err(ErrorCode::Overflow.into()) }
    }

    /// So many units.
    ///
    /// # Errors
    /// `overflow` for -2^63.
    pub fn whole(units: i64) -> Result<Self, Fault> {
        Self::of(i128::from(units).saturating_mul(ONE))
    }

    /// The sum.
    ///
    /// # Errors
    /// `overflow` beyond 2^63 - 1.
    pub fn plus(self, other: Self) -> Result<Self, Fault> {
        Self::of(self.billionths.saturating_add(other.billionths))
    }

    /// The difference.
    ///
    /// # Errors
    /// `overflow` beyond 2^63 - 1.
    pub fn minus(self, other: Self) -> Result<Self, Fault> {
        Self::of(self.billionths.saturating_sub(other.billionths))
    }

    /// -1, 0 or 1.
    #[must_use]
    pub fn sign(self) -> i64 {
        match self.billionths {
            ..0 => -1,
            0 => 0,
            1.. => 1,
        }
    }

    /// The number of units, if it is whole.
    #[must_use]
    pub fn as_integer(self) -> Option<i64> {
        let whole = self.billionths.checked_rem(ONE)? == 0;
        i64::try_from(self.billionths / ONE).ok().filter(|_| whole)
    }

    /// The nearest double.
    #[must_use]
    pub fn as_approximate_float(self) -> f64 {
        let (sign, size) = (if self.billionths < 0 { "-" } else { "" }, self.billionths.unsigned_abs());
        // decimals are rounded once, a division of rounded numbers would round again
        format!("{sign}{}.{:09}", size / PARTS, size % PARTS).parse().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Quantity {
    /// Whole numbers of the largest metric unit that leaves no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.billionths == 0 {
            return f.write_str("0");
        }
        let in_units = METRIC.iter().rev().find_map(|(suffix, tens)| {
            let unit = power(10, tens.checked_add(9)?)?;
            let whole = self.billionths.checked_rem(unit)? == 0;
            whole.then(|| Some((self.billionths.checked_div(unit)?, suffix)))?
        });
        let (number, suffix) = in_units.ok_or(fmt::Error)?;
        write!(f, "{number}{suffix}")
    }
}

/// The powers of ten and of two that a suffix stands for.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    let metric = METRIC.iter().find(|(name, _)| *name == suffix).map(|&(_, tens)| (tens, 0));
    let binary = || BINARY.iter().find(|(name, _)| *name == suffix).map(|&(_, twos)| (0, twos));
    let exponent = || {
        let digits = suffix.strip_prefix(['e', 'E'])?;
        let bare = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        let plain = (1..=4).contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| plain).map(|tens| (tens, 0))
    };
    metric.or_else(binary).or_else(exponent)
}

fn power(base: i128, exponent: i32) -> Option<i128> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

/// `digits * 10^tens * 2^twos`, which must be whole. The digits end in no zero.
fn scaled(digits: &str, tens: i32, twos: u32) -> Result<i128, Fault> {
    let fine = || Fault::refused(FINEST);
    if tens >= 0 {
        let factor = power(10, tens)
            .ok_or(ErrorCode::Overflow)?
            .checked_mul(power(2, twos.cast_signed()).ok_or(ErrorCode::Overflow)?);
        let number: i128 = digits.parse().map_err(|_| ErrorCode::Overflow)?;
        return number
            .checked_mul(factor.ok_or(ErrorCode::Overflow)?)
            .ok_or_else(|| ErrorCode::Overflow.into());
    }
    // of the twos in ten as many are there as the suffix has, the fives have to come from the digits
    let number: i128 = digits.parse().map_err(|_| fine())?;
    let unit = power(10, tens.saturating_neg()).ok_or_else(fine)?;
    let number = number.checked_mul(power(2, twos.cast_signed()).ok_or_else(fine)?).ok_or_else(fine)?;
    if number.checked_rem(unit) == Some(0) { number.checked_div(unit).ok_or_else(fine) } else { Err(fine()) }
}
