//! The HTML paper and the terminal tables.
