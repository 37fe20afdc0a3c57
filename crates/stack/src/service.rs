//! What one guest runs, whatever its stack.

use rookery_guest::{GuestFile, GuestUser, Health};

/// The user of everything in a container, and of the data that guests begin with: Debian's
/// `www-data`. No guest of a stack is root.
pub(crate) const USER: u32 = 33;
/// The same with its group.
pub(crate) const GUEST: GuestUser = GuestUser::same(USER);

/// What one guest runs.
#[derive(Clone, Debug)]
pub struct Service {
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Files that the guest finds.
    pub files: Vec<GuestFile>,
    /// Port of the service.
    pub port: u16,
    /// How it is seen to be healthy.
    pub health: Health,
    /// Unix sockets below its data directory by which the host talks to it.
    pub sockets: Vec<String>,
    /// As whom everything in the guest runs.
    pub user: GuestUser,
}
