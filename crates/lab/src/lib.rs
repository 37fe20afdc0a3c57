//! Conducts a run: trials, repeats, resume, clean-up.
