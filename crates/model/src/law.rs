//! Scaling laws: throughput as a function of the number of users, CPUs or guests.
//!
//! [`Usl`] carries them all: `kappa` = 0 is Amdahl's law, `sigma` = `kappa` = 0 is linear.

/// The universal scalability law X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)).
///
/// Source: Gunther, A General Theory of Computational Scalability Based on Rational Functions,
/// arXiv:0808.1431.
///
/// ```
/// let law = rookery_model::Usl { lambda: 1000.0, sigma: 0.03, kappa: 0.0004 };
/// assert!((law.throughput(8.0) - 6491.398896462).abs() < 1e-6);
/// assert!((law.peak().expect("kappa > 0").n - 49.244289009).abs() < 1e-8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Throughput of one unit, 1/s, > 0.
    pub lambda: f64,
    /// Contention, 0 to 1.
    pub sigma: f64,
    /// Coherency, >= 0; makes throughput fall.
    pub kappa: f64,
}

/// Where throughput is largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The real-valued place of the peak.
    pub n: f64,
    /// Throughput there, 1/s.
    pub x: f64,
    /// The whole number beside it with the larger throughput, at least 1.
    pub whole: f64,
}

impl Usl {
    /// 1 + sigma (N-1) + kappa N (N-1): how many times longer a unit of work takes than alone.
    #[must_use]
    pub fn slowdown(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    /// X(N), 1/s.
    #[must_use]
    pub fn throughput(&self, n: f64) -> f64 {
        self.lambda * n / self.slowdown(n)
    }

    /// dX/d(lambda, sigma, kappa) at N.
    #[must_use]
    pub fn gradient(&self, n: f64) -> [f64; 3] {
        let d = self.slowdown(n);
        let shared = -self.lambda * n * (n - 1.0) / (d * d);
        [n / d, shared, shared * n]
    }

    /// R(N) = N/X(N), s, where N counts busy users: no think time is in it.
    #[must_use]
    pub fn response_time(&self, n: f64) -> f64 {
        self.slowdown(n) / self.lambda
    }

    /// X(N)/(N lambda).
    #[must_use]
    pub fn efficiency(&self, n: f64) -> f64 {
        1.0 / self.slowdown(n)
    }

    /// lambda/sigma, the ceiling of Amdahl's law; `None` with coherency (there is a peak instead)
    /// or without contention.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        (self.kappa <= 0.0 && self.sigma > 0.0).then(|| self.lambda / self.sigma)
    }

    /// N* = sqrt((1 - sigma)/kappa); `None` unless kappa > 0 and sigma < 1.
    #[must_use]
    pub fn peak(&self) -> Option<Peak> {
        if self.kappa <= 0.0 || self.sigma >= 1.0 {
            return None;
        }
        let n = ((1.0 - self.sigma) / self.kappa).sqrt();
        let (low, high) = (n.floor().max(1.0), n.ceil().max(1.0));
        let whole = if self.throughput(low) >= self.throughput(high) {
            low
        } else {
            high
        };
        Some(Peak {
            n,
            x: self.throughput(n),
            whole,
        })
    }

    /// The N that reach throughput `x`, lower first: one without coherency, two with it, none above
    /// the peak or limit.
    #[must_use]
    pub fn users_at_throughput(&self, x: f64) -> Vec<f64> {
        let (a, b, c) = (
            self.kappa,
            self.sigma - self.kappa - self.lambda / x,
            1.0 - self.sigma,
        );
        if a <= 0.0 {
            let n = -c / b;
            return if b < 0.0 && n.is_finite() {
                vec![n]
            } else {
                Vec::new()
            };
        }
        let discriminant = b * b - 4.0 * a * c;
        if discriminant < 0.0 || b >= 0.0 {
            return Vec::new();
        }
        // The stable pair: no difference of like numbers.
        let q = (-b + discriminant.sqrt()) / 2.0;
        vec![c / q, q / a]
    }

    /// The N at which R(N) reaches `r` seconds; `None` when it is below R(0), or never reached.
    #[must_use]
    pub fn users_at_response_time(&self, r: f64) -> Option<f64> {
        let excess = self.lambda * r - 1.0 + self.sigma;
        if self.kappa <= 0.0 {
            let n = excess / self.sigma;
            return (n.is_finite() && n > 0.0).then_some(n);
        }
        let difference = self.sigma - self.kappa;
        let discriminant = difference * difference + 4.0 * self.kappa * excess;
        if discriminant < 0.0 {
            return None;
        }
        let n = (discriminant.sqrt() - difference) / (2.0 * self.kappa);
        (n > 0.0).then_some(n)
    }
}

/// Gustafson's scaled speed-up N - s (N-1); `serial` is the serial share measured on the parallel
/// system.
///
/// Source: Gustafson, CACM 31(5) (1988) 532.
#[must_use]
pub fn gustafson(serial: f64, n: f64) -> f64 {
    n - serial * (n - 1.0)
}

/// The serial share that one speed-up at `n` > 1 units would mean: (1/S - 1/N)/(1 - 1/N). A
/// diagnosis, not a law.
///
/// Source: Karp, Flatt, CACM 33(5) (1990) 539.
#[must_use]
pub fn karp_flatt(speedup: f64, n: f64) -> f64 {
    (1.0 / speedup - 1.0 / n) / (1.0 - 1.0 / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_below_one_user_is_at_one() {
        let law = Usl {
            lambda: 10.0,
            sigma: 0.5,
            kappa: 2.0,
        };
        let peak = law.peak().expect("a peak");
        assert!(peak.n < 1.0 && peak.whole == 1.0);
    }

    #[test]
    fn inversions_meet_the_law() {
        for (sigma, kappa) in [(0.03, 0.0004), (0.1, 0.0), (0.0, 0.001)] {
            let law = Usl {
                lambda: 50.0,
                sigma,
                kappa,
            };
            for n in law.users_at_throughput(300.0) {
                assert!((law.throughput(n) - 300.0).abs() < 1e-9, "{law:?} {n}");
            }
            let n = law.users_at_response_time(0.05).expect("reached");
            assert!((law.response_time(n) - 0.05).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_out_of_reach_has_no_answer() {
        let law = Usl {
            lambda: 50.0,
            sigma: 0.1,
            kappa: 0.0,
        };
        assert!(
            law.users_at_throughput(501.0).is_empty(),
            "the limit is 500"
        );
        assert_eq!(law.peak(), None);
        assert_eq!(law.users_at_response_time(0.001), None);
    }
}
