//! Loopback addresses of bare guests: 127.77.x.y, where x is the run's block and y the guest's
//! number.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use rookery_host::RunId;

/// Largest number of a guest in a block; above it lies the block's reservation.
const LAST_NUMBER: u16 = 250;
/// Last byte of the address whose listening socket reserves a block.
const RESERVATION: u8 = 254;
/// Port of the reservation.
const RESERVATION_PORT: u16 = 7777;
/// Blocks that are tried before giving up; each is refused only by another run or a stranger that
/// holds the very address.
const TRIES: u8 = 64;

/// The blocks that a run holds. The kernel frees them with the process, however it ends.
#[derive(Debug)]
pub(crate) struct Blocks {
    next: u8,
    held: Vec<(u8, TcpListener)>,
}

impl Blocks {
    /// Reserve a first block; where to begin derives from the run's id, so that a run tends to keep
    /// its addresses.
    ///
    /// # Errors
    /// When no block is free.
    pub(crate) fn reserve(run: &RunId) -> io::Result<Self> {
        // FNV-1a (Fowler, Noll, Vo), folded to one byte.
        let hash = run.as_str().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let [a, b, c, d] = hash.to_le_bytes();
        let mut blocks = Self {
            next: a ^ b ^ c ^ d,
            held: Vec::new(),
        };
        blocks.reserve_another()?;
        Ok(blocks)
    }

    /// A free address for guest `number` (1 to 250) and its port.
    ///
    /// # Errors
    /// When the number is out of range, or the address is taken in every block.
    pub(crate) fn address(&mut self, number: u16, port: u16) -> io::Result<SocketAddr> {
        let Some(last) = u8::try_from(number)
            .ok()
            .filter(|_| (1..=LAST_NUMBER).contains(&number))
        else {
            return Err(io::Error::other(format!(
                "guest number {number} is out of range: a run carries 1 to {LAST_NUMBER} bare \
                 guests"
            )));
        };
        for attempt in 0..TRIES {
            if attempt > 0 {
                self.reserve_another()?;
            }
            // A later attempt looks at the new block only.
            let skip = if attempt == 0 { 0 } else { self.held.len() - 1 };
            let free =
                self.held.iter().skip(skip).map(|(block, _)| {
                    SocketAddr::from((Ipv4Addr::new(127, 77, *block, last), port))
                });
            if let Some(address) = free
                .into_iter()
                .find(|address| TcpListener::bind(address).is_ok())
            {
                return Ok(address);
            }
        }
        Err(io::Error::other(format!(
            "port {port} of 127.77.x.{last} is taken in all blocks; `rookery clean` ends what dead \
             runs left"
        )))
    }

    fn reserve_another(&mut self) -> io::Result<()> {
        for _ in 0..TRIES {
            let block = self.next;
            self.next = self.next.wrapping_add(1);
            if let Ok(listener) =
                TcpListener::bind((Ipv4Addr::new(127, 77, block, RESERVATION), RESERVATION_PORT))
            {
                self.held.push((block, listener));
                return Ok(());
            }
        }
        Err(io::Error::other(
            "no block of addresses below 127.77.0.0/16 is free; are many runs alive (`rookery \
             guests`)?",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str) -> RunId {
        RunId::try_from(id.to_owned()).expect("valid")
    }

    #[test]
    fn two_runs_of_one_id_do_not_clash() {
        let mut one = Blocks::reserve(&run("same")).expect("block");
        let mut two = Blocks::reserve(&run("same")).expect("block");
        let (a, b) = (
            one.address(3, 18080).expect("address"),
            two.address(3, 18080).expect("address"),
        );
        assert_ne!(a, b);
        assert!(
            a.ip().to_string().starts_with("127.77.") && a.ip().to_string().ends_with(".3"),
            "{a}"
        );
    }

    #[test]
    fn a_taken_address_moves_to_another_block() {
        let mut blocks = Blocks::reserve(&run("taken")).expect("block");
        let first = blocks.address(9, 18081).expect("address");
        let _stranger = TcpListener::bind(first).expect("bind");
        let second = blocks.address(9, 18081).expect("address");
        assert_ne!(first, second);
        assert!(blocks.address(0, 1).is_err() && blocks.address(251, 1).is_err());
    }
}
