//! Which values must not be shown or written down, by their names.

use crate::data_driven::MASK;

/// Parts of names, in small letters without separators, that say that a value is a secret.
const PARTS: [&str; 23] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "csrf",
    "xsrf",
    "nonce",
    "auth",
    "session",
    "sessid",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "signature",
    "cookie",
    "jwt",
    "bearer",
    "verification",
    "cvv",
    "cvc",
    "cardnumber",
    "viewstate",
];
/// Whole names that say so.
const NAMES: [&str; 4] = ["pw", "pin", "otp", "key"];

/// Whether the value of a field, header, cookie or capture of this name is to be kept secret:
/// passwords, tokens, sessions. It rather hides too much than too little.
///
/// ```
/// use rookery_workload::http::is_secret;
/// assert!(is_secret("user[password]") && is_secret("X-CSRF-Token") && is_secret("PHPSESSID"));
/// assert!(!is_secret("quantity") && !is_secret("author"));
/// ```
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    // An author is no authorisation.
    let plain = plain.replace(
        "author",
        if plain.contains("authori") {
            "auth"
        } else {
            ""
        },
    );
    NAMES.contains(&plain.as_str())
        || plain.ends_with("sid")
        || PARTS.iter().any(|part| plain.contains(part))
}

/// A target of a request with the values of secret parameters of its query masked.
#[must_use]
pub fn without_secrets(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(name) => {
                format!("{name}={MASK}")
            }
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_however_they_are_written() {
        for name in [
            "password",
            "user_passwd",
            "Authorization",
            "authenticity_token",
            "_wpnonce",
            "API-Key",
            "__RequestVerificationToken",
            "connect.sid",
            "JSESSIONID",
            "sid",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "author",
            "q",
            "keyboard",
            "side",
            "pinned",
            "comment",
            "state_of_mind",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_query_shows_no_secret() {
        assert_eq!(
            without_secrets("/login?user=ann&password=x&sid=&y"),
            "/login?user=ann&password=***&sid=&y"
        );
        assert_eq!(without_secrets("/token"), "/token");
    }
}
