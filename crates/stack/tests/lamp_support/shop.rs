//! The pages on PHP's own web server.
