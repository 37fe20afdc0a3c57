//! `rookery host network`: what each kind of link carries on this host.

use std::ops::ControlFlow;

use rookery_host::iperf::StreamPoint;
use rookery_lab::{LinkCeiling, LinkCeilings, LinkGauge};
use rookery_study::{LinkDevice, LinkShape};
use rookery_text::Table;

use crate::{
    cli::{HostNetworkArgs, LinkName},
    exit::{Code, Failure},
    output, signals,
};

pub(crate) fn run(args: &HostNetworkArgs) -> Result<Code, Failure> {
    let stop = signals::stop_flag()?;
    let gauge = LinkGauge {
        links: links(args),
        streams: args.streams.clone(),
        seconds: args.seconds,
    };
    let all = gauge.links.len() * gauge.streams.len();
    let mut count = 0;
    let mut hear = |link: &LinkCeiling, point: &StreamPoint| {
        count += 1;
        if !args.json {
            output::remark(format!(
                "{count:3} of {all}  {}, {} streams: {:.0} Mbit/s",
                words(link),
                point.streams,
                point.bits_per_s / 1e6
            ));
        }
        if signals::came(&stop) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let measured = gauge.measure(&mut hear);
    if signals::came(&stop) {
        return Err(Failure::new(
            Code::Interrupted,
            "interrupted; nothing is left of the measurement",
        ));
    }
    let ceilings = measured?;
    if args.json {
        return output::json(&ceilings);
    }
    output::text(table(&ceilings));
    Ok(Code::Done)
}

/// Every kind of link with every packet size; the loopback has one of its own.
fn links(args: &HostNetworkArgs) -> Vec<Option<LinkShape>> {
    let of = |device: LinkDevice| {
        let shapes = args.mtu.iter().map(move |mtu| LinkShape {
            device,
            mtu: *mtu,
            bridge_mtu: *mtu,
            ..LinkShape::default()
        });
        shapes.map(Some).collect::<Vec<_>>()
    };
    args.devices
        .iter()
        .flat_map(|name| match name {
            LinkName::Loopback => vec![None],
            LinkName::Veth => of(LinkDevice::Veth),
            LinkName::Macvlan => of(LinkDevice::Macvlan),
            LinkName::Ipvlan => of(LinkDevice::Ipvlan),
            LinkName::Vxlan => of(LinkDevice::Vxlan),
            LinkName::Routed => of(LinkDevice::Routed),
        })
        .collect()
}

/// `veth, packets of 9000 bytes`
fn words(link: &LinkCeiling) -> String {
    link.mtu.map_or_else(
        || link.device.clone(),
        |mtu| format!("{}, packets of {mtu} bytes", link.device),
    )
}

/// One line for each point.
fn table(ceilings: &LinkCeilings) -> String {
    let heads = [
        "link",
        "MTU",
        "streams",
        "Mbit/s",
        "resent",
        "send, s/GB",
        "receive, s/GB",
        "host, s/GB",
    ];
    let rows = ceilings
        .links
        .iter()
        .flat_map(|link| link.points.iter().map(move |point| row(link, point)))
        .collect();
    format!(
        "measured with {}, {} s at each point; CPU time for 10^9 bytes\n\n{}",
        ceilings.tool,
        ceilings.seconds,
        Table::new(heads.map(str::to_owned).to_vec(), rows).render(output::width())
    )
}

fn row(link: &LinkCeiling, point: &StreamPoint) -> Vec<String> {
    let again = point.retransmits;
    vec![
        link.device.clone(),
        link.mtu.map_or_else(String::new, |mtu| mtu.to_string()),
        point.streams.to_string(),
        format!("{:.0}", point.bits_per_s / 1e6),
        again.map_or_else(String::new, |again| again.to_string()),
        format!("{:.3}", point.sender_cpu_s_per_gb),
        format!("{:.3}", point.receiver_cpu_s_per_gb),
        format!("{:.3}", point.host_cpu_s_per_gb),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_well() {
        let point = |streams, bits_per_s, retransmits| StreamPoint {
            streams,
            bits_per_s,
            retransmits,
            sender_cpu_s_per_gb: 0.25,
            receiver_cpu_s_per_gb: 0.3,
            host_cpu_s_per_gb: 0.5678,
            iperf3: serde_json::Value::Null,
        };
        let ceilings = LinkCeilings {
            tool: "iperf 3.12".to_owned(),
            seconds: 2,
            links: vec![
                LinkCeiling {
                    device: "loopback".to_owned(),
                    mtu: None,
                    points: vec![point(1, 2.5e10, Some(0))],
                },
                LinkCeiling {
                    device: "vxlan".to_owned(),
                    mtu: Some(9000),
                    points: vec![point(10, 5e9, None)],
                },
            ],
        };
        let text = table(&ceilings);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let line = text.lines().find(|line| line.starts_with("vxlan"));
        let cells: Vec<&str> = line.expect("a row").split_whitespace().collect();
        assert_eq!(
            cells,
            ["vxlan", "9000", "10", "5000", "0.250", "0.300", "0.568"]
        );
    }
}
