//! TCP, sockets and interfaces of one network.

use rookery_stats::KernelCounter;

/// Interfaces of one network that are read.
const MOST_INTERFACES: usize = 1024;

/// From `/proc/net/snmp` or `/proc/net/netstat`: pairs of lines, names above numbers.
pub(super) fn parse_tcp(text: &str) -> Vec<(KernelCounter, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut counts = Vec::new();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((same, numbers))) =
            (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        if group != same {
            continue;
        }
        let columns = names
            .split_ascii_whitespace()
            .zip(numbers.split_ascii_whitespace());
        counts.extend(columns.filter_map(|(name, number)| {
            // Some numbers are signed; none of those that are wanted.
            Some((counter(group, name)?, number.parse::<u64>().ok()?))
        }));
    }
    counts
}

fn counter(group: &str, name: &str) -> Option<KernelCounter> {
    Some(match (group, name) {
        ("Tcp", "ActiveOpens") => KernelCounter::Connected,
        ("Tcp", "PassiveOpens") => KernelCounter::Accepted,
        ("Tcp", "AttemptFails") => KernelCounter::FailedConnections,
        ("Tcp", "OutSegs") => KernelCounter::SegmentsSent,
        ("Tcp", "RetransSegs") => KernelCounter::Retransmitted,
        ("Tcp", "OutRsts") => KernelCounter::ResetsSent,
        ("TcpExt", "TCPTimeouts") => KernelCounter::Timeouts,
        ("TcpExt", "ListenOverflows") => KernelCounter::ListenOverflows,
        ("TcpExt", "ListenDrops") => KernelCounter::ListenDrops,
        ("TcpExt", "TCPBacklogDrop") => KernelCounter::BacklogDrops,
        _ => return None,
    })
}

/// From `/proc/net/sockstat`.
pub(super) fn parse_sockets(text: &str) -> Vec<(KernelCounter, u64)> {
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("TCP:")) else {
        return Vec::new();
    };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let counts = words.chunks_exact(2).filter_map(|pair| {
        let counter = match pair[0] {
            "tw" => KernelCounter::TimeWait,
            "mem" => KernelCounter::SocketMemory,
            _ => return None,
        };
        Some((counter, pair[1].parse().ok()?))
    });
    counts.collect()
}

/// From `/proc/net/dev`: each interface. A packet that was damaged counts as dropped.
pub(super) fn parse_interfaces(text: &str) -> Vec<(String, Vec<(KernelCounter, u64)>)> {
    let interfaces = text.lines().filter_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers
            .split_ascii_whitespace()
            .map_while(|number| number.parse().ok())
            .collect();
        let [bytes, packets, errors, dropped, _, _, _, _, sent @ ..] = &numbers[..] else {
            return None;
        };
        let [sent_bytes, sent_packets, sent_errors, sent_dropped, ..] = sent else {
            return None;
        };
        let counts = vec![
            (KernelCounter::ReceivedBytes, *bytes),
            (KernelCounter::ReceivedPackets, *packets),
            (
                KernelCounter::ReceivedDropped,
                errors.saturating_add(*dropped),
            ),
            (KernelCounter::SentBytes, *sent_bytes),
            (KernelCounter::SentPackets, *sent_packets),
            (
                KernelCounter::SentDropped,
                sent_errors.saturating_add(*sent_dropped),
            ),
        ];
        Some((name.trim().to_owned(), counts))
    });
    interfaces.take(MOST_INTERFACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_above_their_numbers() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
                    Tcp: RtoMax MaxConn ActiveOpens OutSegs RetransSegs\nTcp: 120000 -1 5 100 3\n\
                    TcpExt: ListenOverflows TCPTimeouts\nUdp: 1 2\n";
        assert_eq!(
            parse_tcp(text),
            [
                (KernelCounter::Connected, 5),
                (KernelCounter::SegmentsSent, 100),
                (KernelCounter::Retransmitted, 3),
            ]
        );
        let text = "TcpExt: ListenOverflows TCPTimeouts\nTcpExt: 7 8\n";
        assert_eq!(
            parse_tcp(text),
            [
                (KernelCounter::ListenOverflows, 7),
                (KernelCounter::Timeouts, 8)
            ]
        );
    }

    #[test]
    fn sockets_and_interfaces_are_read() {
        let text = "sockets: used 9\nTCP: inuse 3 orphan 0 tw 4 alloc 5 mem 6\nUDP: inuse 1\n";
        assert_eq!(
            parse_sockets(text),
            [
                (KernelCounter::TimeWait, 4),
                (KernelCounter::SocketMemory, 6)
            ]
        );
        let text =
            "Inter-| Receive\n face |bytes\n  eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n lo: 1\n";
        let found = parse_interfaces(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "eth0");
        let numbers: Vec<u64> = found[0].1.iter().map(|(_, count)| *count).collect();
        assert_eq!(numbers, [1, 2, 7, 5, 6, 15]);
    }
}
