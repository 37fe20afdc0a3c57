//! Samplers of host and guests.
