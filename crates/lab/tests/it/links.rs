//! What links carry, with real namespaces and iperf3.

use std::{ops::ControlFlow, process::Command};

use rookery_lab::LinkGauge;
use rookery_study::{LinkDevice, LinkShape, RateLimit, RateQueue};

fn interfaces() -> String {
    let said = Command::new("ip").args(["-brief", "link"]).output();
    String::from_utf8_lossy(&said.expect("ip").stdout).into_owned()
}

/// A limit is what iperf3 finds, on every device, and nothing of the host is changed.
#[test]
fn a_limited_link_carries_its_limit() {
    if std::env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_ROOT_TESTS=1");
        return;
    }
    let before = interfaces();
    let limited = |device| {
        Some(LinkShape {
            device,
            rate_limit: Some(RateLimit {
                bits_per_s: 100_000_000,
                queue: RateQueue::Usual,
            }),
            ..LinkShape::default()
        })
    };
    let gauge = LinkGauge {
        links: vec![None, limited(LinkDevice::Veth), limited(LinkDevice::Vxlan)],
        streams: vec![1, 2],
        seconds: 1,
    };
    let mut told = 0;
    let measured = gauge
        .measure(&mut |_, _| {
            told += 1;
            ControlFlow::Continue(())
        })
        .expect("measured");
    assert_eq!(told, 6);
    for link in &measured.links {
        assert_eq!(link.points.len(), 2);
        for point in &link.points {
            let most = if link.device == "loopback" {
                f64::INFINITY
            } else {
                // A full bucket and the queue come on top of the second.
                120e6
            };
            assert!(
                (1e6..most).contains(&point.bits_per_s),
                "{}: {}",
                link.device,
                point.bits_per_s
            );
            assert!(point.iperf3["end"].is_object());
        }
    }
    assert_eq!(interfaces(), before);
}

#[test]
fn a_measurement_that_is_stopped_keeps_what_was_measured() {
    if std::env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_ROOT_TESTS=1");
        return;
    }
    let gauge = LinkGauge {
        links: vec![None, None],
        streams: vec![1, 2],
        seconds: 1,
    };
    let measured = gauge
        .measure(&mut |_, _| ControlFlow::Break(()))
        .expect("measured");
    assert_eq!(measured.links.len(), 1);
    assert_eq!(measured.links[0].points.len(), 1);
}
