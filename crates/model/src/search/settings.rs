//! What is searched, and what is known before.

use rookery_cast::truncate_u32;

/// Which end of the range keeps the limits, and so which load is the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The largest load that keeps them: of users, of a rate, of guests.
    #[default]
    Largest,
    /// The smallest one: of memory, of which less is harder to live with.
    Smallest,
}

/// What is searched, and with how many probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which end of the range keeps the limits.
    pub goal: Goal,
    /// Smallest load that is of interest, > 0.
    pub lowest: f64,
    /// Largest load that may be tried.
    pub highest: f64,
    /// Whether loads are whole numbers.
    pub whole: bool,
    /// Smallest difference that matters, as a share of the load, 0.001 to 0.5. Whole loads never
    /// differ by less than 1.
    pub resolution: f64,
    /// How narrow the interval of the knee shall be, as a share of its lower end, 0.002 to 1: what
    /// is left of the budget once the answer is confirmed goes there. `None` = as it comes.
    pub interval: Option<f64>,
    /// What is known before.
    pub hint: Option<Hint>,
    /// Budget of probes, confirmation included, 2 to 200.
    pub most_probes: u32,
    /// Fresh full runs that confirm the load, at most 10; 0 = none.
    pub confirm: u32,
}

/// Where the knee may be: a warm start. A wrong hint costs probes, not the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hint {
    /// The expected knee, > 0.
    pub load: f64,
    /// The knee lies within load / factor .. load x factor in two of three cases; 1.01 to 10.
    pub factor: f64,
}

impl Settings {
    /// For users: whole loads from 1 to 10 000, resolution 2 %, 20 probes of which three confirm.
    #[must_use]
    pub fn users() -> Self {
        Self {
            goal: Goal::Largest,
            lowest: 1.0,
            highest: 10_000.0,
            whole: true,
            resolution: 0.02,
            interval: None,
            hint: None,
            most_probes: 20,
            confirm: 3,
        }
    }

    /// For a rate, 1/s: any load from 0.1 to 100 000.
    #[must_use]
    pub fn rate() -> Self {
        Self {
            lowest: 0.1,
            highest: 100_000.0,
            whole: false,
            ..Self::users()
        }
    }

    /// For a number of guests: 1 to `most`.
    #[must_use]
    pub fn guests(most: u32) -> Self {
        Self {
            highest: f64::from(most),
            ..Self::users()
        }
    }

    /// For the memory of a guest, MiB: the smallest whole number from `least` to `most` that keeps
    /// the limits.
    #[must_use]
    pub fn memory(least: u32, most: u32) -> Self {
        Self {
            goal: Goal::Smallest,
            lowest: f64::from(least),
            highest: f64::from(most),
            ..Self::users()
        }
    }

    /// How hard a load is to carry, on a scale where more is harder whatever the goal: the load
    /// itself, or where less is harder, its mirror image within the range. The same function leads
    /// back. The search thinks in strains alone; only what it asks and answers are loads.
    pub(super) fn strain(&self, load: f64) -> f64 {
        match self.goal {
            Goal::Largest => load,
            // Both ends become each other exactly.
            Goal::Smallest if load == self.highest => self.lowest,
            Goal::Smallest => self.highest * (self.lowest / load),
        }
    }

    /// The load of a strain of the grid: whole where loads are.
    pub(super) fn load(&self, strain: f64) -> f64 {
        let load = self.strain(strain);
        let load = if self.whole { load.round() } else { load };
        load.clamp(self.lowest, self.highest)
    }

    /// The load of any strain; where loads are whole, the nearest one that is no harder.
    pub(super) fn load_within(&self, strain: f64) -> f64 {
        let load = self.strain(strain);
        let load = match self.goal {
            _ if !self.whole => load,
            Goal::Largest => load.floor(),
            // A whole load that went there and back is not the next one.
            Goal::Smallest => (load - 1e-6).ceil(),
        };
        load.clamp(self.lowest, self.highest)
    }

    /// The strain of the hardest load that is easier than this one, as far as that is known: the
    /// next whole load, or the same where loads are not whole.
    pub(super) fn easier(&self, strain: f64) -> f64 {
        match self.goal {
            _ if !self.whole => strain,
            Goal::Largest => strain - 1.0,
            Goal::Smallest => self.strain(self.load(strain) + 1.0),
        }
    }

    /// The strain at this place of the grid: from the lowest on in steps of the resolution, that of
    /// a whole load if it must be, never above the highest.
    pub(super) fn grid(&self, place: u32) -> f64 {
        let strain = self.lowest * (f64::from(place) * self.resolution.ln_1p()).exp();
        let strain = match self.whole {
            true => self.strain(self.load(strain)),
            false => strain,
        };
        strain.clamp(self.lowest, self.highest)
    }

    /// The place of the grid that is nearest to this strain.
    pub(super) fn place(&self, strain: f64) -> u32 {
        // The conversion of a float saturates: below the lowest it is 0.
        truncate_u32(
            ((strain.min(self.highest) / self.lowest).ln() / self.resolution.ln_1p()).round(),
        )
    }

    /// The nearest strain of the grid.
    pub(super) fn snap(&self, strain: f64) -> f64 {
        let strain = self.grid(self.place(strain));
        // The last step up to the highest may be a short one.
        if strain * (1.0 + self.resolution / 2.0) >= self.highest {
            self.highest
        } else {
            strain
        }
    }

    /// The next strain of the grid above this one; the highest has none.
    pub(super) fn higher(&self, strain: f64) -> f64 {
        let place = self.place(strain);
        let next = (place..).map(|place| self.grid(place));
        next.take_while(|next| *next < self.highest)
            .find(|next| *next > strain * (1.0 + 1e-9))
            .unwrap_or(self.highest)
    }

    /// The next strain of the grid below this one; the lowest has none.
    pub(super) fn lower(&self, strain: f64) -> f64 {
        let place = self.place(strain);
        let next = (0..=place).rev().map(|place| self.grid(place));
        let mut below = next.filter(|next| *next < strain * (1.0 - 1e-9));
        below.next().unwrap_or(self.lowest)
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let Self {
            lowest, highest, ..
        } = *self;
        if !(lowest > 0.0 && lowest <= highest && highest.is_finite()) {
            return Err(SettingsError::Range { lowest, highest });
        }
        let hint_holds = |hint: Hint| {
            hint.load > 0.0 && hint.load.is_finite() && (1.01..=10.0).contains(&hint.factor)
        };
        if let Some(hint) = self.hint.filter(|hint| !hint_holds(*hint)) {
            return Err(SettingsError::Hint(hint));
        }
        for (key, value, from, to) in [
            ("resolution", self.resolution, 0.001, 0.5),
            ("most_probes", f64::from(self.most_probes), 2.0, 200.0),
            ("confirm", f64::from(self.confirm), 0.0, 10.0),
            ("interval", self.interval.unwrap_or(1.0), 0.002, 1.0),
        ] {
            if !(from..=to).contains(&value) {
                return Err(SettingsError::Value {
                    key,
                    value,
                    from,
                    to,
                });
            }
        }
        if self.whole && (lowest.fract() != 0.0 || highest.fract() != 0.0) {
            return Err(SettingsError::Whole { lowest, highest });
        }
        Ok(())
    }
}

/// Settings that make no search.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The range is none.
    #[error(
        "the range of loads must run from above 0 to something larger, not from {lowest} to \
         {highest}"
    )]
    Range {
        /// Smallest load.
        lowest: f64,
        /// Largest load.
        highest: f64,
    },
    /// Whole loads with broken ends.
    #[error(
        "users, guests and MiB are whole numbers: the range {lowest} to {highest} must have whole \
         ends"
    )]
    Whole {
        /// Smallest load.
        lowest: f64,
        /// Largest load.
        highest: f64,
    },
    /// A hint that means nothing.
    #[error("the hint must be a load above 0 with a factor from 1.01 to 10, not {} with {}", .0.load, .0.factor)]
    Hint(Hint),
    /// Something else is out of range.
    #[error("{key} must lie between {from} and {to}, not {value}")]
    Value {
        /// Which.
        key: &'static str,
        /// What it was.
        value: f64,
        /// Smallest.
        from: f64,
        /// Largest.
        to: f64,
    },
}
