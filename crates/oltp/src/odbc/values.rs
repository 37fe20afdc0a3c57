//! Times and errors as ODBC has them.

use odbc_api::{Error, sys::Timestamp as OdbcTimestamp};
use rookery_workload::orderentry::Timestamp;

use crate::ClientError;

/// The parts of a time as ODBC has them.
pub(super) fn timestamp(time: Timestamp) -> OdbcTimestamp {
    let text = time.to_string();
    let mut parts = text
        .split(['-', ' ', ':'])
        .map(|part| part.parse::<u16>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    OdbcTimestamp {
        year: i16::try_from(next()).unwrap_or(i16::MAX),
        month: next(),
        day: next(),
        hour: next(),
        minute: next(),
        second: next(),
        fraction: 0,
    }
}

/// The driver's words with SQLSTATE and native number, where there are any.
pub(super) fn in_words(error: Error) -> ClientError {
    match error {
        Error::Diagnostics { record, .. }
        | Error::UnsupportedOdbcApiVersion(record)
        | Error::InvalidRowArraySize { record, .. }
        | Error::UnableToRepresentNull(record)
        | Error::OracleOdbcDriverDoesNotSupport64Bit(record) => ClientError::Server {
            message: String::from_utf8_lossy(&record.message).into_owned(),
            state: record.state.as_str().to_owned(),
            code: i64::from(record.native_error),
        },
        other => ClientError::Session(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_apart() {
        let time = timestamp(Timestamp::DEFAULT_LOAD);
        assert_eq!((time.year, time.month, time.day), (2000, 1, 1));
        assert_eq!(
            (time.hour, time.minute, time.second, time.fraction),
            (0, 0, 0, 0)
        );
    }
}
