//! What is chosen of a study file.

use clap::{Args, ValueEnum};
use rookery_study::{Choices, GuestKind};

/// How a study file is read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChoiceArgs {
    /// Take the study in one of the scales of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// Take guests of this kind, whatever the file says
    #[arg(long, value_name = "KIND")]
    pub(crate) guest: Option<GuestArg>,
}

impl ChoiceArgs {
    /// In the words of the grammar.
    pub(crate) fn choices(&self) -> Choices<'_> {
        Choices {
            scale: self.scale.as_deref(),
            guest: self.guest.map(|guest| match guest {
                GuestArg::Bare => GuestKind::Bare,
                GuestArg::Container => GuestKind::Container,
                GuestArg::Vm => GuestKind::Vm,
            }),
        }
    }
}

/// Kinds of guest.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GuestArg {
    /// Processes on loopback addresses
    Bare,
    /// Containers run by runc
    Container,
    /// Virtual machines on libvirt and QEMU
    Vm,
}
