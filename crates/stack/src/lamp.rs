//! The LAMP stack: Linux, Apache, MariaDB and PHP from distribution packages, in every guest.
