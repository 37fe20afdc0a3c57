//! vCPUs, in thousandths.

use rookery_cast::truncate_u32;
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::number::float;
use crate::{
    grammar::{At, Context, Kind},
    values::Vcpus,
};

/// vCPUs of a guest, fractions in steps of 0.001. Below a hundredth no stack runs.
pub(crate) struct VcpuCount;

const MIN: Vcpus = Vcpus(10);
const MAX: Vcpus = Vcpus(1_024_000);

impl Kind for VcpuCount {
    type Value = Vcpus;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Vcpus> {
        if !matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_)) {
            return context.wrong_type(value, at, self);
        }
        let Some(number) = float(value.get_ref()) else {
            return context.out_of_range(value, at, "is not a finite number", self);
        };
        if number < 0.0 {
            return context.out_of_range(value, at, "is negative", self);
        }
        if number < MIN.cpus() {
            return context.out_of_range(value, at, &format!("is less than {MIN}"), self);
        }
        if number > MAX.cpus() {
            return context.out_of_range(value, at, &format!("is more than {MAX}"), self);
        }
        let thousandths = (number * 1000.0).round();
        if (number * 1000.0 - thousandths).abs() > 1e-6 {
            return context.out_of_range(value, at, "is finer than 0.001", self);
        }
        Some(Vcpus(truncate_u32(thousandths)))
    }

    fn write(&self, value: &Vcpus) -> String {
        value.to_string()
    }

    fn describe(&self) -> String {
        format!("number of vCPUs, {MIN} to {MAX} in steps of 0.001")
    }

    fn example(&self) -> String {
        "1".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "number", "minimum": MIN.cpus(), "maximum": MAX.cpus()})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    #[test]
    fn vcpus_are_exact_thousandths() {
        assert_eq!(read(&VcpuCount, "0.25"), Ok(Vcpus(250)));
        assert_eq!(read(&VcpuCount, "0.333"), Ok(Vcpus(333)));
        assert_eq!(read(&VcpuCount, "2"), Ok(Vcpus(2000)));
        for text in ["0", "-1", "0.0005", "0.3333", "1025", "nan", "inf"] {
            assert_eq!(code(&VcpuCount, text), Code::OutOfRange, "{text}");
        }
        assert_eq!(code(&VcpuCount, "'1'"), Code::WrongType);
    }
}
