//! The run directory: schema, journal, export.
