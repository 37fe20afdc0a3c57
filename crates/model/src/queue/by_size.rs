//! Several classes of users, by the method that their number allows.

use crate::queue::{
    approximate::{linearizer, schweitzer},
    classes::{Class, ClassSolution, EXACT_LIMIT, check_classes, exact_classes, exact_steps},
    mva::parted,
    station::{Capacity, ModelError, Station},
};

/// Pairs of class and station above which Linearizer gives way to Schweitzer.
const LINEARIZER_LIMIT: usize = 1_000_000;

/// Solve by the best method that the size allows: exact, else Linearizer, else Schweitzer. Several
/// servers are parted after Seidmann, so that with them even the exact method approximates.
///
/// # Errors
/// When a value is out of range, classes do not name the same stations, or a station is limited or
/// measured.
pub fn solve_classes(
    classes: &[Class],
    capacities: &[Capacity],
) -> Result<ClassSolution, ModelError> {
    let delays: Vec<bool> = capacities
        .iter()
        .map(|capacity| *capacity == Capacity::Delay)
        .collect();
    check_classes(classes, &delays)?;
    let mut single = classes.to_vec();
    let mut extra = vec![vec![0.0; capacities.len()]; classes.len()];
    for (c, class) in single.iter_mut().enumerate() {
        for (k, capacity) in capacities.iter().enumerate() {
            let station = Station {
                demand: class.demands[k],
                capacity: capacity.clone(),
            };
            let (queue, delay) = parted(&station)?;
            class.demands[k] = queue.demand;
            class.think += delay;
            extra[c][k] = delay;
        }
    }
    let mut solution = if exact_steps(&single, delays.len()) <= EXACT_LIMIT {
        exact_classes(&single, &delays)?
    } else if single.len() * delays.len() <= LINEARIZER_LIMIT {
        linearizer(&single, &delays)?
    } else {
        schweitzer(&single, &delays)?
    };
    for (c, class) in classes.iter().enumerate() {
        for (k, delay) in extra[c].iter().enumerate() {
            solution.r[c][k] += delay;
            solution.q[c][k] += delay * solution.x[c];
            solution.u[c][k] = class.demands[k] * solution.x[c];
        }
    }
    Ok(solution)
}
