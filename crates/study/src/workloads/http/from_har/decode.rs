//! Small encodings that stand in an archive.

/// Most bytes that a text in base64 may become.
const MOST: usize = 1 << 20;

/// Bytes in base64; nothing where it is none, or too long.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    if text.len() > MOST / 3 * 4 {
        return None;
    }
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            let [.., low] = (bits >> count).to_be_bytes();
            out.push(low);
        }
    }
    Some(out)
}

/// The fields of a form as a browser sends them.
pub(super) fn form(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescaped(name, true), unescaped(value, true))
        })
        .collect()
}

/// A text whose `%XX` are bytes, and whose `+` are blanks if `plus`.
pub(super) fn unescaped(text: &str, plus: bool) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escape = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high).zip(digit(low))
            }
            _ => None,
        };
        match escape {
            Some((high, low)) => {
                let [.., byte] = (16 * high + low).to_be_bytes();
                out.push(byte);
                rest = &rest[2..];
            }
            None if *first == b'+' && plus => out.push(b' '),
            None => out.push(*first),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The parts of a form with files: name, value, and whether it is a file.
pub(super) fn multipart(mime: &str, text: &str) -> Vec<(String, String, bool)> {
    let Some((_, boundary)) = mime.split_once("boundary=") else {
        return Vec::new();
    };
    let boundary = boundary
        .split(';')
        .next()
        .unwrap_or_default()
        .trim_matches('"');
    if boundary.is_empty() {
        return Vec::new();
    }
    let part = |part: &str| {
        let (head, value) = part.split_once("\r\n\r\n")?;
        let name = quoted_after(head, "; name=\"")?;
        let is_file = head.contains("; filename=");
        let value = value.strip_suffix("\r\n").unwrap_or(value);
        Some((name.to_owned(), value.to_owned(), is_file))
    };
    text.split(&format!("--{boundary}"))
        .filter_map(part)
        .collect()
}

fn quoted_after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    text.split_once(mark)?
        .1
        .split_once('"')
        .map(|(value, _)| value)
}

/// Milliseconds since 1970 of a time such as `2026-01-31T12:00:00.123+01:00`.
pub(super) fn milliseconds(text: &str) -> Option<f64> {
    let number = |range: std::ops::Range<usize>| -> Option<f64> {
        let digits = text.get(range)?;
        let good = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if good { digits.parse().ok() } else { None }
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let rest = text.get(19..)?;
    let fraction_end = rest
        .char_indices()
        .find(|(at, c)| *at > 0 && !c.is_ascii_digit())
        .map_or(rest.len(), |(at, _)| at);
    let (fraction, zone) = match rest.starts_with('.') {
        true => rest.split_at(fraction_end),
        false => ("", rest),
    };
    let fraction: f64 = format!("0{fraction}").parse().ok()?;
    let zone_minutes = match zone.as_bytes() {
        [] | [b'Z' | b'z', ..] => 0.0,
        [sign @ (b'+' | b'-'), ..] => {
            let hours: f64 = zone.get(1..3)?.parse().ok()?;
            let minutes: f64 = zone.get(zone.len().saturating_sub(2)..)?.parse().ok()?;
            let all = 60.0 * hours + minutes;
            if *sign == b'-' { -all } else { all }
        }
        _ => return None,
    };
    // Days since 1970 by the civil calendar: years begin in March.
    let (shifted_year, shifted_month) = match month < 3.0 {
        true => (year - 1.0, month + 9.0),
        false => (year, month - 3.0),
    };
    let leap_days = (shifted_year / 4.0).floor() - (shifted_year / 100.0).floor()
        + (shifted_year / 400.0).floor();
    let days =
        365.0 * shifted_year + leap_days + ((153.0 * shifted_month + 2.0) / 5.0).floor() + day
            - 719_469.0;
    let seconds = 86_400.0 * days + 3_600.0 * hour + 60.0 * (minute - zone_minutes) + second;
    Some(1e3 * (seconds + fraction))
}

/// A number, a key, a token: no word.
pub(super) fn looks_like_a_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    2 * digits >= word.len() || (word.len() >= 16 && digits > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_with_their_zone() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(
            milliseconds("2024-03-01T00:00:00.250Z"),
            Some(1_709_251_200_250.0)
        );
        assert_eq!(
            milliseconds("2024-03-01T01:00:00+01:00"),
            Some(1_709_251_200_000.0)
        );
        assert_eq!(
            milliseconds("2024-02-29T22:00:00.000-02:00"),
            Some(1_709_251_200_000.0)
        );
        for none in ["", "yesterday", "2024-03-01", "2024-03-01T00:00:00 Paris"] {
            assert_eq!(milliseconds(none), None, "{none}");
        }
    }

    #[test]
    fn forms_are_decoded() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            form("a=1+2&b%5B%5D=%C3%A9&c&&d=100%"),
            [
                pair("a", "1 2"),
                pair("b[]", "\u{e9}"),
                pair("c", ""),
                pair("d", "100%")
            ]
        );
        let text = "--x\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nhello\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\n\
                    Content-Type: image/png\r\n\r\nPNG\r\n--x--\r\n";
        assert_eq!(
            multipart("multipart/form-data; boundary=x", text),
            [
                ("t".to_owned(), "hello".to_owned(), false),
                ("f".to_owned(), "PNG".to_owned(), true)
            ]
        );
    }

    #[test]
    fn base64_is_read() {
        assert_eq!(base64("SGVsbG8="), Some(b"Hello".to_vec()));
        assert_eq!(base64("SGVs\nbG8h"), Some(b"Hello!".to_vec()));
        assert_eq!(base64("?"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC{0,60}", digits in "[0-9:T.Z+%=-]{0,40}") {
            let _ = (base64(&text), form(&text), milliseconds(&text), milliseconds(&digits));
            let _ = (form(&digits), multipart(&text, &digits), unescaped(&text, false));
        }
    }
}
