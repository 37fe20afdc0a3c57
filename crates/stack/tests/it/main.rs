//! The web shop's servers from outside: the embedded one, and the pages of LAMP on PHP and MariaDB.

mod common;
mod http;
mod lamp_hostile;
mod lamp_load;
mod lamp_pages;
mod lamp_support;
mod orders;
