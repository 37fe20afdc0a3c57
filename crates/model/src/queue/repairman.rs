//! One station and a think time: the closed single-bottleneck model.

/// Users who think, then need one station: the model behind every plateau.
///
/// Assumes exponential think times, and exponential service or processor sharing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repairman {
    /// Demand at the station, s, > 0.
    pub demand: f64,
    /// Its servers, at least one.
    pub servers: u32,
    /// Everything that does not queue, s, >= 0.
    pub think: f64,
}

impl Repairman {
    /// m/D, 1/s.
    #[must_use]
    pub fn ceiling(&self) -> f64 {
        f64::from(self.servers) / self.demand
    }

    /// Users at the knee, where the ceiling meets the line of the unhindered user: (D + Z)/(D/m).
    #[must_use]
    pub fn knee(&self) -> f64 {
        (self.demand + self.think) * self.ceiling()
    }

    /// X(N), 1/s; between whole numbers of users on a straight line.
    #[must_use]
    pub fn throughput(&self, n: f64) -> f64 {
        let below = n.floor();
        let share = n - below;
        let low = self.whole(below);
        if share <= 0.0 {
            low
        } else {
            low + share * (self.whole(below + 1.0) - low)
        }
    }

    /// Response time N/X - Z, s.
    #[must_use]
    pub fn response_time(&self, n: f64) -> f64 {
        n / self.throughput(n) - self.think
    }

    /// The birth-death chain of the number at the station, summed from its mode outwards: nothing
    /// overflows, and terms that do not count are left out.
    fn whole(&self, n: f64) -> f64 {
        let speed = |j: f64| j.min(f64::from(self.servers)) / self.demand;
        if n < 1.0 {
            return 0.0;
        }
        if self.think <= 0.0 {
            return speed(n);
        }
        // p(j)/p(j-1); falls with j, so that the mode is where it passes 1.
        let ratio = |j: f64| (n - j + 1.0) / (self.think * speed(j));
        let (mut low, mut high) = (0.0, n);
        while high - low > 0.5 {
            let middle = ((low + high) / 2.0).ceil();
            if ratio(middle) >= 1.0 {
                low = middle;
            } else {
                high = middle - 1.0;
            }
        }
        let (mut mass, mut thinking) = (1.0, n - low);
        let (mut p, mut j) = (1.0, low);
        while j < n && p > 1e-20 {
            j += 1.0;
            p *= ratio(j);
            mass += p;
            thinking += p * (n - j);
        }
        (p, j) = (1.0, low);
        while j > 0.0 && p > 1e-20 {
            p /= ratio(j);
            j -= 1.0;
            mass += p;
            thinking += p * (n - j);
        }
        thinking / (mass * self.think)
    }
}
