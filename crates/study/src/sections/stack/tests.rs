//! Tests of the keys of `[stack]`.

use super::{super::testing::*, *};

#[test]
fn pages_are_corrected_unless_said() {
    let stack = with("").expect("valid").stack;
    let plain = StackUse::Embedded {
        pages: Pages::Corrected,
        extra_cpu: Duration::ZERO,
        extra_wait: Duration::ZERO,
        serial_share: 0.0,
        processors_per_vcpu: 1,
    };
    assert_eq!(stack, plain);
    assert_eq!(
        with("[stack]\npages = \"faithful\"\n")
            .expect("valid")
            .stack
            .pages(),
        Some(Pages::Faithful)
    );
}

#[test]
fn lamp_is_untuned_and_warm_unless_said() {
    let lamp = with("[stack]\nkind = \"lamp\"\n").expect("valid").stack;
    let lamp = lamp.lamp().expect("lamp");
    assert_eq!(
        (
            lamp.server,
            lamp.tuning,
            lamp.buffer_pool,
            lamp.settings.len()
        ),
        (
            WebServer::Prefork,
            TuningProfile::Stock,
            BufferPool::Warm,
            0
        )
    );
}

#[test]
fn keys_of_lamp_have_no_meaning_for_the_embedded_stack() {
    assert_eq!(
        refusal("[stack]\ntuning = \"stock\"\n[stack.settings]\n\"php.memory_limit\" = \"64M\"\n"),
        "study::contradiction: `stack.tuning` belongs to the LAMP stack and the databases, but \
         `stack.kind` is \"embedded\"\n\
         study::contradiction: `stack.settings` belongs to the LAMP stack and the databases, \
         but `stack.kind` is \"embedded\""
    );
}

#[test]
fn a_planted_slow_down_has_no_meaning_for_lamp() {
    let stack = with("[stack]\nextra_cpu = \"200us\"\n")
        .expect("valid")
        .stack;
    let slowed = StackUse::Embedded {
        pages: Pages::Corrected,
        extra_cpu: Duration::from_micros(200),
        extra_wait: Duration::ZERO,
        serial_share: 0.0,
        processors_per_vcpu: 1,
    };
    assert_eq!(stack, slowed);
    assert_eq!(
        refusal("[stack]\nkind = \"lamp\"\nextra_cpu = \"200us\"\n"),
        "study::contradiction: `stack.extra_cpu` belongs to the embedded stack, but \
         `stack.kind` is \"lamp\""
    );
    assert!(refusal("[stack]\nextra_cpu = \"2s\"\n").starts_with("study::out-of-range"));
    for line in [
        "extra_wait = \"1ms\"",
        "serial_share = 0.25",
        "processors_per_vcpu = 2",
    ] {
        let key = line.split(' ').next().unwrap_or_default();
        let wanted = format!("study::contradiction: `stack.{key}` has no meaning for");
        let refused = refusal(&format!("[stack]\n{line}\n"));
        assert!(refused.starts_with(&wanted), "{refused}");
    }
    assert!(refusal("[stack]\nserial_share = 1.5\n").contains("study::out-of-range"));
}

#[test]
fn a_simulated_system_has_keys_of_its_own() {
    let stack = with("[stack]\nkind = \"simulated\"\ncpu_demand = \"4ms\"\nnoise = 0\n")
        .expect("valid")
        .stack;
    let system = stack.simulated().expect("simulated");
    assert_eq!(
        (system.cpu_demand, system.noise, system.host_cpus),
        (Duration::from_millis(4), 0.0, 9)
    );
    assert_eq!(
        refusal("[stack]\ncpu_demand = \"4ms\"\n"),
        "study::contradiction: `stack.cpu_demand` belongs to the simulated stack, but \
         `stack.kind` is \"embedded\""
    );
    assert_eq!(
        refusal("[stack]\nkind = \"simulated\"\nfreeze = \"2s\"\nfreeze_every = \"2s\"\n"),
        "study::contradiction: `stack.freeze` is not shorter than `stack.freeze_every`: the \
         system would never run"
    );
}
