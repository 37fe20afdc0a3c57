//! Many guests on one host: overheads, fair shares, symmetric guests with shared storage, caps.
//!
//! Not modelled, and to be listed under every forecast: shared caches and memory bandwidth,
//! hardware threads, turbo, remote memory, preemption of lock holders, overcommitted memory.

use crate::queue::{ModelError, Solution, Station};

/// One guest's claim on the CPUs of its host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Runnable threads.
    pub runnable: f64,
    /// vCPUs.
    pub vcpus: f64,
    /// Limit in cores; infinite without one.
    pub cap: f64,
    /// Weight, > 0.
    pub weight: f64,
}

/// Cores that each guest gets of `cores`: max-min fair by weight, no guest above what it can use.
#[must_use]
pub fn fair_shares(cores: f64, claims: &[Claim]) -> Vec<f64> {
    let limits: Vec<f64> = claims
        .iter()
        .map(|claim| claim.runnable.min(claim.vcpus).min(claim.cap))
        .collect();
    let mut shares = vec![0.0; claims.len()];
    let mut open: Vec<usize> = (0..claims.len())
        .filter(|guest| limits[*guest] > 0.0)
        .collect();
    let mut left = cores;
    // Every round settles at least one guest, or is the last.
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|guest| claims[*guest].weight).sum();
        let level = left / weights;
        let (sated, hungry): (Vec<usize>, Vec<usize>) = open
            .iter()
            .partition(|guest| limits[**guest] <= level * claims[**guest].weight);
        if sated.is_empty() {
            for guest in hungry {
                shares[guest] = level * claims[guest].weight;
            }
            break;
        }
        for guest in sated {
            shares[guest] = limits[guest];
            left -= limits[guest];
        }
        open = hungry;
    }
    shares
}

/// The hypervisor's share h of extra CPU work from a loss l of saturated throughput: h = l/(1 - l),
/// 0 <= l < 1.
#[must_use]
pub fn overhead_of_loss(loss: f64) -> f64 {
    loss / (1.0 - loss)
}

/// The hypervisor's share of extra CPU work from the demands of a bare run and of a guest's run as
/// its host counts it.
#[must_use]
pub fn overhead_of_demands(bare: f64, guest: f64) -> f64 {
    guest / bare - 1.0
}

/// Busy time before `threads` busy threads exhaust a quota, and the stall until the next period:
/// (Q/b, P - Q/b), in the unit of the arguments. No stall when the quota lasts.
#[must_use]
pub fn throttle(quota: f64, period: f64, threads: f64) -> (f64, f64) {
    let busy = (quota / threads).min(period);
    (busy, period - busy)
}

/// Equal guests with private stations and shared ones, by the symmetric form of Schweitzer's
/// approximation; its cost does not depend on the number of guests. The solution is that of one
/// guest: its throughput, residence times and queues, private stations first.
///
/// # Errors
/// When a demand or the think time is out of range, or there are no guests or users.
pub fn symmetric_guests(
    guests: u32,
    users: u32,
    think: f64,
    private: &[f64],
    shared: &[f64],
) -> Result<Solution, ModelError> {
    let stations: Vec<Station> = private
        .iter()
        .chain(shared)
        .map(|demand| Station::queue(*demand))
        .collect();
    if guests == 0 {
        return Err(ModelError::Empty);
    }
    crate::queue::schweitzer_shared(&stations, think, users, |k| {
        if k < private.len() {
            0.0
        } else {
            f64::from(guests - 1)
        }
    })
}
