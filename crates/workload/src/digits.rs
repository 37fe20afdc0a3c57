//! Whole numbers in decimal, written without the formatting machinery: bulk loads spend their time
//! here.

use rookery_cast::count_u8;

/// The two digits of every number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + count_u8(number / 10), b'0' + count_u8(number % 10)];
        number += 1;
    }
    pairs
};

/// Writes the last digits of `number` so that they fill `field`.
#[inline]
pub(crate) fn write_digits(mut number: u64, field: &mut [u8]) {
    let mut pairs = field.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if let [digit] = pairs.into_remainder() {
        *digit = b'0' + (number % 10) as u8;
    }
}

/// Appends `number` in decimal.
pub(crate) fn push_number(number: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + digits(number), 0);
    write_digits(number, &mut out[start..]);
}

/// How many decimal digits `number` has.
#[inline]
pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let edges = (0..20)
            .flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power), 10u64.pow(power) + 1]);
        for number in edges.chain([u64::MAX]) {
            let mut out = b"x".to_vec();
            push_number(number, &mut out);
            assert_eq!(out, format!("x{number}").into_bytes());
        }
    }
}
