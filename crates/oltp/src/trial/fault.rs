//! What databases say, in the classes of failures.

use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::orderentry::transaction::Cause;

use crate::{ClientError, OltpError};

/// The last of so many retries failed.
pub(crate) fn given_up(cause: Cause) -> Fault {
    let sub_class = match cause {
        Cause::Deadlock => "deadlock",
        Cause::LockTimeout => "lock-timeout",
        Cause::Serialization => "serialization-failure",
        Cause::Busy => "database-busy",
        Cause::LostRace => "lost-race",
    };
    Fault::new(ErrorClass::Semantic, sub_class)
}

/// The connection was lost during a COMMIT: nobody knows the outcome.
pub(crate) const COMMIT_LOST: Fault = Fault::new(ErrorClass::Io, "lost-during-commit");
/// A deadline of the load passed while there was no connection.
pub(crate) const NO_CONNECTION: Fault = Fault::new(ErrorClass::Connect, "no-connection");
/// Something that must not happen: the trial ends.
pub(crate) const BROKEN: Fault = Fault::new(ErrorClass::Data, "database-broken");

/// A connection was lost before a COMMIT.
pub(crate) fn lost(error: &ClientError) -> Fault {
    let sub_class = match word_of_server(error) {
        Some(word) => word,
        None if matches!(error, ClientError::Timeout(_)) => "recv-timeout",
        None => "connection-lost",
    };
    Fault::new(ErrorClass::Io, sub_class)
}

/// A connection was not made.
pub(crate) fn not_connected(error: &OltpError) -> Fault {
    let sub_class = match error {
        OltpError::NoServer { why, .. }
            if why.contains("refused") || why.contains("No such file") =>
        {
            "refused"
        }
        OltpError::NoServer { .. } => "other",
        OltpError::Connect { why, .. } | OltpError::Statement { why, .. } => {
            match word_of_server(why) {
                Some(word) => word,
                None if matches!(why, ClientError::Timeout(_)) => "timeout",
                None => "lost-while-connecting",
            }
        }
        _ => "denied",
    };
    Fault::new(ErrorClass::Connect, sub_class)
}

/// Whether trying to connect again may help: a server that dies while statements are prepared is as
/// far away as one that does not answer.
pub(crate) fn may_pass(error: &OltpError) -> bool {
    matches!(
        error,
        OltpError::NoServer { .. } | OltpError::Connect { .. } | OltpError::Statement { .. }
    )
}

/// The reasons that servers give for turning a client away.
fn word_of_server(error: &ClientError) -> Option<&'static str> {
    match error.code()? {
        ("57P03", _) => Some("server-starting"),
        ("57P01" | "57P02", _) | (_, 1053) => Some("server-shutdown"),
        (_, 1927) => Some("connection-killed"),
        ("53300", _) | (_, 1040 | 1203) => Some("too-many-connections"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(state: &str, code: i64) -> ClientError {
        ClientError::Server {
            message: "no".to_owned(),
            state: state.to_owned(),
            code,
        }
    }

    fn sub_class(fault: Fault) -> (ErrorClass, String) {
        (fault.class, fault.sub_class.text().into_owned())
    }

    #[test]
    fn each_cause_has_its_sub_class() {
        let words: Vec<_> = Cause::ALL
            .iter()
            .map(|&cause| given_up(cause).sub_class.text().into_owned())
            .collect();
        assert_eq!(
            words,
            [
                "deadlock",
                "lock-timeout",
                "serialization-failure",
                "database-busy",
                "lost-race"
            ]
        );
        assert!(
            Cause::ALL
                .iter()
                .all(|&cause| given_up(cause).class == ErrorClass::Semantic)
        );
    }

    #[test]
    fn each_loss_has_its_class() {
        let cases = [
            (server("57P02", 0), "server-shutdown"),
            (server("08S01", 1053), "server-shutdown"),
            (server("70100", 1927), "connection-killed"),
            (
                ClientError::Timeout(std::time::Duration::from_secs(20)),
                "recv-timeout",
            ),
            (
                ClientError::Io(std::io::ErrorKind::BrokenPipe.into()),
                "connection-lost",
            ),
        ];
        for (error, word) in cases {
            assert_eq!(
                sub_class(lost(&error)),
                (ErrorClass::Io, word.to_owned()),
                "{error}"
            );
        }
    }

    #[test]
    fn each_refusal_has_its_class() {
        let target = || "db".to_owned();
        let connect = |why| OltpError::Connect {
            target: target(),
            why,
        };
        let cases = [
            (connect(server("57P03", 0)), "server-starting", true),
            (connect(server("HY000", 1040)), "too-many-connections", true),
            (
                connect(ClientError::Timeout(std::time::Duration::from_secs(20))),
                "timeout",
                true,
            ),
            (
                OltpError::NoServer {
                    target: target(),
                    why: "Connection refused (os error 111)".to_owned(),
                },
                "refused",
                true,
            ),
            (
                OltpError::Account {
                    target: target(),
                    why: "no".to_owned(),
                },
                "denied",
                false,
            ),
        ];
        for (error, word, passes) in cases {
            assert_eq!(
                sub_class(not_connected(&error)),
                (ErrorClass::Connect, word.to_owned()),
                "{error}"
            );
            assert_eq!(may_pass(&error), passes, "{error}");
        }
    }
}
