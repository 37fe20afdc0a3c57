//! What the sections of a study say: the vocabulary that grammar, workloads and plans share. It
//! knows neither how it is written in a file, nor the workloads.

mod guest;
mod host;
mod layout;
mod load;
mod open_load;
mod swap;
mod wish;

pub use guest::{CpuSet, CpuTime, GuestKind, GuestShape, LabShape, Pin, Pinning, Vcpus};
pub use host::{DriverPlace, HostUse};
pub use layout::{Layout, LayoutGroup, Override};
pub(crate) use layout::{distinct, host_by_host};
pub use load::{Load, LoadModel, LoopType, Order, Over, RampUp, SearchEnd, SearchUse, StartRate};
pub use open_load::{Arrivals, Course, CourseStep, OpenLoad, Precision, Visit};
pub use swap::{Swap, SwapKind};
pub use wish::{BUDGETS, OpenTimes, PercentileWish, RepeatGoal, Wish, WishedMetric};
