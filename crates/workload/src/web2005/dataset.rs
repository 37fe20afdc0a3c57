//! What a server holds: the file set, and the state of the back-end behind it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Model, Popularity,
    besim::State,
    files::{Shape, ShapeError},
};

/// What a server holds, in numbers: everything else follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebDataset {
    /// Of which workload.
    pub model: Model,
    /// Simultaneous sessions that the file set is for.
    pub sessions: u32,
    /// Share of the users, product lines or directories of a full set, millionths.
    pub scale_ppm: u32,
    /// Whose values and bytes it has.
    pub seed: u64,
}

/// A whole, in millionths.
pub(super) const WHOLE_PPM: u32 = 1_000_000;

impl WebDataset {
    /// The file set.
    ///
    /// # Errors
    /// When there is no such file set.
    pub fn shape(&self) -> Result<Shape, ShapeError> {
        let scale = f64::from(self.scale_ppm) / f64::from(WHOLE_PPM);
        Shape::new(self.model, self.sessions, scale, self.seed)
    }

    /// What users have to know of it.
    ///
    /// # Errors
    /// When there is no such file set.
    pub fn data(&self) -> Result<WebData, ShapeError> {
        let shape = self.shape()?;
        Ok(WebData {
            popularity: Popularity::new(shape.directories()),
            state: State::new(self.seed, &shape),
            shape,
        })
    }

    /// Bytes of all files; 0 where there is no such file set.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shape().map_or(0, |shape| shape.total_bytes())
    }

    /// Whether it has fewer users, product lines or directories than a full set.
    #[must_use]
    pub fn is_scaled(&self) -> bool {
        self.scale_ppm < WHOLE_PPM
    }
}

impl fmt::Display for WebDataset {
    /// `files for 100 sessions`, `files for 100 sessions at 0.1 of their number`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "files for {} sessions", self.sessions)?;
        if self.is_scaled() {
            let scale = f64::from(self.scale_ppm) / f64::from(WHOLE_PPM);
            write!(f, " at {scale} of their number")?;
        }
        Ok(())
    }
}

/// What a server holds, as far as its users have to know.
#[derive(Clone, Debug)]
pub struct WebData {
    /// The file set.
    pub shape: Shape,
    /// The state of the back-end.
    pub state: State,
    /// Of download directories.
    pub popularity: Popularity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_its_file_set_and_its_state() {
        let full = WebDataset {
            model: Model::Banking,
            sessions: 4_900,
            scale_ppm: WHOLE_PPM,
            seed: 7,
        };
        assert_eq!(full.to_string(), "files for 4900 sessions");
        assert!((full.bytes() as f64 / 1e9 - 51.1).abs() < 0.1);
        let part = WebDataset {
            scale_ppm: 100_000,
            ..full
        };
        assert_eq!(
            part.to_string(),
            "files for 4900 sessions at 0.1 of their number"
        );
        let data = part.data().expect("a file set");
        assert_eq!(data.shape.users_per_slot(), 5);
        assert_eq!(data.state.banking.max_user, 24_500);
        let none = WebDataset {
            sessions: 0,
            ..full
        };
        assert!(none.data().is_err());
        assert_eq!(none.bytes(), 0);
    }
}
