//! Tests with `/proc/cpuinfo` of several machines.

use super::*;

fn check(text: &str, model: Option<&str>, microcode: Option<&str>, threads: Option<u32>, hypervisor: Option<bool>) {
    let expect = CpuInfo {
        model: model.map(str::to_owned),
        microcode: microcode.map(str::to_owned),
        threads_per_core: threads,
        hypervisor,
    };
    assert_eq!(parse_cpuinfo(text), expect);
}

#[test]
fn a_virtual_x86_reports_the_hypervisor() {
    let text = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n\
        model name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\nstepping\t: 7\nmicrocode\t: 0x1\ncpu MHz\t\t: 2499.998\n\
        physical id\t: 0\nsiblings\t: 2\ncore id\t\t: 0\ncpu cores\t: 2\nfpu\t\t: yes\n\
        flags\t\t: fpu vme tsc hypervisor lahf_lm\nbugs\t\t: spectre_v1\npower management:\n\nprocessor\t: 1\n";
    check(text, Some("Intel(R) Xeon(R) Processor @ 2.50GHz"), Some("0x1"), Some(1), Some(true));
}

#[test]
fn real_x86_has_two_threads_per_core() {
    let text = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen 9 5950X 16-Core Processor\n\
        microcode\t: 0xa20120a\nsiblings\t: 32\ncpu cores\t: 16\nflags\t\t: fpu vme de svm cpuid\n";
    check(text, Some("AMD Ryzen 9 5950X 16-Core Processor"), Some("0xa20120a"), Some(2), Some(false));
}

#[test]
fn arm_cores_are_named_from_their_numbers() {
    let block = |part: &str| {
        format!(
            "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
        )
    };
    check(&block("0xd0c"), Some("Neoverse-N1"), None, None, None);
    check(&(block("0xd03") + &block("0xd03") + &block("0xd08")), Some("Cortex-A53 + Cortex-A72"), None, None, None);
    check(&block("0xfff"), Some("implementer 0x41 part 0xfff"), None, None, None);
}

#[test]
fn other_architectures_use_their_own_keys() {
    check(
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2.1GHz\n",
        Some("POWER9, altivec supported"),
        None,
        None,
        None,
    );
    check(
        "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n",
        Some("sifive,u74-mc"),
        None,
        None,
        None,
    );
    check("", None, None, None, None);
}

#[test]
fn caches_are_named_by_level_and_kind() {
    assert_eq!(cache_name("1", "Data"), "L1d");
    assert_eq!(cache_name("1", "Instruction"), "L1i");
    assert_eq!(cache_name("3", "Unified"), "L3");
}

#[test]
fn sizes_are_bytes() {
    assert_eq!(parse_size("48K"), Some(49_152));
    assert_eq!(parse_size("2M"), Some(2_097_152));
    assert_eq!(parse_size("512"), Some(512));
    assert_eq!(parse_size("much"), None);
}

#[test]
fn lists_of_cpus_are_expanded() {
    assert_eq!(parse_cpu_list("0-2,8"), [0, 1, 2, 8]);
    assert_eq!(parse_cpu_list("5"), [5]);
    assert_eq!(parse_cpu_list(""), [0_u32; 0]);
    assert_eq!(parse_cpu_list("3-1,x"), [0_u32; 0]);
}
