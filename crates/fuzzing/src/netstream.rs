//! Any bytes as requests to the server of the netstream workload.

use rookery_stack::netstream::{MOST_HEAD, Wanted, read_request};
use rookery_workload::netstream::ExchangeSize;

/// What was understood does not change when more comes, and nothing is understood early.
pub(crate) fn requests(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(request)) = read_request(rest) {
        assert!((1..=MOST_HEAD).contains(&request.head_bytes));
        if let Wanted::Exchange(size) = request.wanted {
            assert!((1..=ExchangeSize::MOST_ANSWER).contains(&size));
        }
        let (head, after) = rest.split_at(request.head_bytes);
        assert_eq!(read_request(head), Ok(Some(request)), "by itself");
        assert_eq!(
            read_request(&head[..head.len() - 1]),
            Ok(None),
            "its last byte is needed"
        );
        rest = after;
    }
}
