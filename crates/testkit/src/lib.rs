//! Misbehaving servers and other fixtures for tests.
