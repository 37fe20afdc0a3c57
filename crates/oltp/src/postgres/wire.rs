//! Values in PostgreSQL's binary form: whole numbers, exact decimals, times, text.
//!
//! A `numeric` is a list of digits to the base 10 000: their number, the weight of the first, sign,
//! digits behind the decimal point (`src/backend/utils/adt/numeric.c`, `numeric_send`). No float is
//! ever in between.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use rookery_cast::count_u16;
use rookery_workload::orderentry::{Decimal, Timestamp, transaction::Value};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Failed = Box<dyn Error + Sync + Send>;

/// A parameter of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter<'a>(pub(super) Value<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Int(number) => match *ty {
                Type::INT2 => out.put_i16(number.try_into()?),
                Type::INT4 => out.put_i32(number.try_into()?),
                Type::INT8 => out.put_i64(number),
                Type::NUMERIC => put_numeric(
                    Decimal {
                        unscaled: number,
                        scale: 0,
                    },
                    out,
                ),
                _ => return Err(format!("a whole number for a parameter of type {ty}").into()),
            },
            Value::Decimal(decimal) if *ty == Type::NUMERIC => put_numeric(decimal, out),
            // Without a time zone, so it is the same number for both types where the session keeps
            // UTC, and the server converts else.
            Value::Time(time) if matches!(*ty, Type::TIMESTAMP | Type::TIMESTAMPTZ) => {
                out.put_i64(microseconds(time))
            }
            Value::Text(text) if matches!(*ty, Type::VARCHAR | Type::TEXT | Type::BPCHAR) => {
                out.put_slice(text)
            }
            other => return Err(format!("{other:?} for a parameter of type {ty}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        // The type decides about the form, and `to_sql` refuses what has none.
        true
    }

    to_sql_checked!();
}

/// Microseconds since 2000-01-01.
fn microseconds(time: Timestamp) -> i64 {
    (time.0 - Timestamp::DEFAULT_LOAD.0) * 1_000_000
}

const NEGATIVE: u16 = 0x4000;

fn put_numeric(decimal: Decimal, out: &mut BytesMut) {
    // Digits to the base 10 000 begin and end at the decimal point.
    let pad = (4 - u32::from(decimal.scale) % 4) % 4;
    let mut rest = u128::from(decimal.unscaled.unsigned_abs()) * 10u128.pow(pad);
    let behind = u16::from(decimal.scale).div_ceil(4);
    let mut digits = [0u16; 10];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    out.put_u16(count_u16(count));
    // The weight of the first digit, signed in 16 bits.
    out.put_u16(count_u16(count).wrapping_sub(behind + 1));
    out.put_u16(if decimal.unscaled < 0 { NEGATIVE } else { 0 });
    out.put_u16(u16::from(decimal.scale));
    for digit in digits[..count].iter().rev() {
        out.put_u16(*digit);
    }
}

fn numeric(raw: &[u8]) -> Option<Decimal> {
    let word = |index: usize| {
        Some(u16::from_be_bytes(
            raw.get(2 * index..2 * index + 2)?.try_into().ok()?,
        ))
    };
    let (count, weight, sign, scale) = (
        usize::from(word(0)?),
        word(1)?.cast_signed(),
        word(2)?,
        u8::try_from(word(3)?).ok()?,
    );
    if sign & !NEGATIVE != 0 || scale > 9 {
        return None; // not a number, infinite, or too fine
    }
    // The place of a digit in units of 10^-scale.
    let mut unscaled: i128 = 0;
    for index in 0..count {
        let digit = i128::from(word(4 + index)?);
        let exponent = 4 * (i32::from(weight) - i32::try_from(index).ok()?) + i32::from(scale);
        unscaled += if exponent >= 0 {
            digit.checked_mul(10i128.checked_pow(exponent.unsigned_abs())?)?
        } else {
            // Digits behind the last place are zeros.
            digit / 10i128.checked_pow(exponent.unsigned_abs())?
        };
    }
    let unscaled = i64::try_from(unscaled).ok()?;
    Some(Decimal {
        unscaled: if sign == NEGATIVE {
            -unscaled
        } else {
            unscaled
        },
        scale,
    })
}

/// A column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column<'a> {
    Null,
    /// Also a time, in microseconds since 2000: of times the transactions only ask whether they are
    /// there.
    Int(i64),
    Decimal(Decimal),
    Text(&'a [u8]),
}

impl<'a> FromSql<'a> for Column<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(match *ty {
            Type::INT2 => Self::Int(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => Self::Int(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 | Type::TIMESTAMP | Type::TIMESTAMPTZ => {
                Self::Int(i64::from_be_bytes(raw.try_into()?))
            }
            Type::NUMERIC => Self::Decimal(numeric(raw).ok_or("a numeric that is no amount")?),
            _ => Self::Text(raw),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self::Null)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(
            *ty,
            Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::TIMESTAMP
                | Type::TIMESTAMPTZ
                | Type::NUMERIC
                | Type::VARCHAR
                | Type::TEXT
                | Type::BPCHAR
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(decimal: Decimal) -> Vec<u8> {
        let mut out = BytesMut::new();
        put_numeric(decimal, &mut out);
        out.to_vec()
    }

    #[test]
    fn a_numeric_is_written_as_the_server_writes_it() {
        // 12345.67: digits 1, 2345, 6700; the first counts ten-thousands.
        let bytes = [0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 0x09, 0x29, 0x1a, 0x2c];
        assert_eq!(written(Decimal::cents(1_234_567)), bytes);
        assert_eq!(written(Decimal::cents(-7))[4..6], [0x40, 0]);
    }

    #[test]
    fn numerics_come_back_exactly() {
        for unscaled in [
            0,
            1,
            -1,
            7,
            99,
            100,
            10_000,
            -1000,
            499_999_999,
            1_234_567,
            i64::MAX,
            -i64::MAX,
        ] {
            for scale in [0, 1, 2, 4, 9] {
                let decimal = Decimal { unscaled, scale };
                assert_eq!(numeric(&written(decimal)), Some(decimal));
            }
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        assert_eq!(numeric(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), None, "not a number");
        assert_eq!(
            numeric(&[0, 1, 0, 0, 0, 0, 0, 2]),
            None,
            "a digit is missing"
        );
        assert_eq!(numeric(&[]), None);
        // 0.5 without the zeros behind it.
        assert_eq!(
            numeric(&[0, 1, 0xff, 0xff, 0, 0, 0, 1, 0x13, 0x88]),
            Some(Decimal {
                unscaled: 5,
                scale: 1
            })
        );
    }

    #[test]
    fn numbers_take_the_width_of_their_parameter() {
        let put = |value, ty: &Type| {
            let mut out = BytesMut::new();
            Parameter(value)
                .to_sql(ty, &mut out)
                .map(|_| out.to_vec())
                .ok()
        };
        assert_eq!(put(Value::Int(-2), &Type::INT2), Some(vec![0xff, 0xfe]));
        assert_eq!(put(Value::Int(70_000), &Type::INT2), None);
        assert_eq!(put(Value::Int(1), &Type::INT4), Some(vec![0, 0, 0, 1]));
        assert_eq!(put(Value::Int(1), &Type::BOOL), None);
        let hour = Value::Time(Timestamp(Timestamp::DEFAULT_LOAD.0 + 1));
        assert_eq!(
            put(hour, &Type::TIMESTAMP),
            Some(1_000_000i64.to_be_bytes().to_vec())
        );
        assert_eq!(put(Value::Text(b"ab"), &Type::TEXT), Some(b"ab".to_vec()));
    }
}
