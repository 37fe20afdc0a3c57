//! Names of what is measured where a trial has guests on several hosts.

/// The name of something that is no guest (`host`, `driver`, `cpu 3`) in a trial whose guests are
/// on several hosts: `host@b`. Guests have numbers that no other of the trial has.
#[must_use]
pub fn at_host(subject: &str, host: &str) -> String {
    if is_of_guest(subject) {
        subject.to_owned()
    } else {
        format!("{subject}@{host}")
    }
}

/// The name as it is on its host, with that host: `host` and `b` of `host@b`. No host of a guest,
/// and none where a trial is on one.
#[must_use]
pub fn split_host(subject: &str) -> (&str, Option<&str>) {
    match subject.rsplit_once('@') {
        Some((subject, host)) => (subject, Some(host)),
        None => (subject, None),
    }
}

/// Whether it is a guest, or something of one: `g1`, `g1 eth0`.
#[must_use]
pub fn is_of_guest(subject: &str) -> bool {
    let number = subject.strip_prefix('g');
    number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_guest_has_its_host() {
        assert_eq!(at_host("cpu 3", "b"), "cpu 3@b");
        assert_eq!(at_host("g1 eth0", "b"), "g1 eth0");
        assert_eq!(split_host("cpu 3@b"), ("cpu 3", Some("b")));
        assert_eq!(split_host("host"), ("host", None));
    }
}
