//! Statistics on whole series.

mod change_points;
