//! The suite that every bus passes.

use std::{io, thread, time::Duration};

use super::{
    Bus, BusError, Frame, MOST_BODY, MOST_HEAD, StreamBus, in_process, nats::tests::TestServer,
};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes both ends of a connection, and what they need.
type Connect = fn() -> Ends;

/// What two ends need, and the ends. They are dropped last to first.
type Ends = (Option<TestServer>, Box<dyn Bus>, Box<dyn Bus>);

fn channels() -> Ends {
    let (first, second) = in_process();
    (None, Box::new(first), Box::new(second))
}

fn over_nats() -> Ends {
    let server = TestServer::start("");
    let (first, second) = server.ends();
    (Some(server), Box::new(first), Box::new(second))
}

fn pipes() -> Ends {
    let (at_second, to_second) = io::pipe().expect("a pipe");
    let (at_first, to_first) = io::pipe().expect("a pipe");
    let first = StreamBus::new(at_first, to_second).expect("a thread");
    let second = StreamBus::new(at_second, to_first).expect("a thread");
    (None, Box::new(first), Box::new(second))
}

const ALL: [(&str, Connect); 3] = [
    ("in process", channels),
    ("streams", pipes),
    ("NATS", over_nats),
];

fn frame(number: usize, body: usize) -> Frame {
    Frame {
        head: number.to_string().into_bytes(),
        body: vec![7; body],
    }
}

#[test]
fn frames_arrive_once_and_in_order_both_ways() {
    for (name, connect) in ALL {
        let (_server, first, second) = connect();
        thread::scope(|scope| {
            for end in [&first, &second] {
                scope.spawn(move || {
                    for number in 0..200 {
                        end.send(frame(number, number * 50)).expect(name);
                    }
                });
            }
            for end in [&second, &first] {
                scope.spawn(move || {
                    for number in 0..200 {
                        let came = end.receive(PATIENCE).expect(name);
                        assert_eq!(came, Some(frame(number, number * 50)), "{name}");
                    }
                });
            }
        });
    }
}

#[test]
fn several_threads_send_whole_frames() {
    for (name, connect) in ALL {
        let (_server, first, second) = connect();
        thread::scope(|scope| {
            for number in 0..4 {
                let first = &first;
                scope.spawn(move || {
                    for _ in 0..50 {
                        first.send(frame(number, 10_000)).expect(name);
                    }
                });
            }
            let mut counts = [0; 4];
            for _ in 0..200 {
                let came = second.receive(PATIENCE).expect(name).expect(name);
                let number: usize = String::from_utf8_lossy(&came.head).parse().expect(name);
                assert_eq!(came, frame(number, 10_000), "{name}");
                counts[number] += 1;
            }
            assert_eq!(counts, [50; 4], "{name}");
        });
    }
}

#[test]
fn where_nothing_comes_the_wait_ends() {
    for (name, connect) in ALL {
        let (_server, first, second) = connect();
        assert_eq!(second.receive(Duration::ZERO).expect(name), None);
        first.send(frame(1, 0)).expect(name);
        assert_eq!(second.receive(PATIENCE).expect(name), Some(frame(1, 0)));
    }
}

#[test]
fn what_was_sent_is_received_before_the_end_is_seen() {
    for (name, connect) in ALL {
        let (_server, first, second) = connect();
        first.send(frame(1, 5)).expect(name);
        drop(first);
        assert_eq!(second.receive(PATIENCE).expect(name), Some(frame(1, 5)));
        let ended = second.receive(PATIENCE);
        assert!(matches!(ended, Err(BusError::Closed)), "{name}: {ended:?}");
    }
}

#[test]
fn what_is_too_long_is_refused_and_harms_nothing() {
    for (name, connect) in ALL {
        let (_server, first, second) = connect();
        for (head, body) in [(MOST_HEAD + 1, 0), (0, MOST_BODY + 1)] {
            let long = Frame {
                head: vec![b' '; head],
                body: vec![0; body],
            };
            let refused = first.send(long);
            assert!(matches!(refused, Err(BusError::TooLong { .. })), "{name}");
        }
        first.send(frame(3, 1)).expect(name);
        assert_eq!(second.receive(PATIENCE).expect(name), Some(frame(3, 1)));
    }
}

#[test]
fn bytes_that_are_no_frame_end_a_stream() {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let bus = StreamBus::new(reader, io::sink()).expect("a thread");
    io::Write::write_all(&mut writer, b"Welcome to this host!\n").expect("written");
    let ended = bus.receive(PATIENCE);
    assert!(matches!(ended, Err(BusError::Failed(_))), "{ended:?}");
}
