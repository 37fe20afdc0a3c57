//! How connections are dealt out.

use rookery_workload::orderentry::{Population, Scale};

use super::*;
use crate::trial::{TrialGuest, tests::config};

#[test]
fn every_connection_is_dealt_to_one_thread() {
    let mut config = config();
    let guest = |terminals| TrialGuest {
        terminals,
        population: Population::new(Scale::new(1, 100).expect("valid"), 1),
        ..config.guests[0].clone()
    };
    config.guests = vec![guest(3), guest(1), guest(4)];
    let common = config.common();
    let dealt: Vec<Vec<(usize, u32)>> = (0..2)
        .map(|thread| {
            seats(&common, true, thread, 2)
                .iter()
                .map(|seat| (seat.guest, seat.number))
                .collect()
        })
        .collect();
    assert_eq!(dealt[0], [(0, 0), (0, 2), (2, 0), (2, 2), (0, 3), (2, 4)]);
    assert_eq!(dealt[1], [(0, 1), (1, 0), (2, 1), (2, 3), (1, 1)]);
}

#[test]
fn one_database_is_enough() {
    let report = |connected, refusal| Report { connected, refusal };
    assert!(judge(vec![report(0, Some(OltpError::Stopped)), report(1, None)]).is_ok());
    let none = OltpError::setting("nobody");
    let refused = judge(vec![report(0, None), report(0, Some(none))]);
    assert!(
        matches!(refused, Err(OltpError::Setting { .. })),
        "the words of the first refusal"
    );
}
