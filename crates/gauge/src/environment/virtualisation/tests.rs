//! Tests with evidence of virtual and real machines.

use super::*;

fn check(evidence: HypervisorEvidence, expect: Option<&str>) {
    assert_eq!(identify(&evidence).as_deref(), expect, "{evidence:?}");
}

#[test]
fn hypervisor_is_named_by_its_signature() {
    let kvm = HypervisorEvidence {
        is_x86: true,
        flag: Some(true),
        signature: Some("KVMKVMKVM"),
        ..HypervisorEvidence::default()
    };
    check(kvm, Some("KVM"));
    check(
        HypervisorEvidence { vendor: Some("Amazon EC2"), product: Some("m5.large"), ..kvm },
        Some("KVM (Amazon EC2 m5.large)"),
    );
    check(HypervisorEvidence { signature: Some("NewNewNewNew"), ..kvm }, Some("NewNewNewNew"));
    check(HypervisorEvidence { signature: None, ..kvm }, Some("unnamed"));
}

#[test]
fn real_machine_says_so_only_on_x86() {
    let real = HypervisorEvidence {
        is_x86: true,
        flag: Some(false),
        vendor: Some("Amazon EC2"),
        product: Some("m5.metal"),
        ..HypervisorEvidence::default()
    };
    check(real, Some("none"));
    check(HypervisorEvidence { is_x86: false, flag: None, ..real }, None);
    check(HypervisorEvidence::default(), None);
}

#[test]
fn arm_machine_is_known_by_its_firmware() {
    let arm = HypervisorEvidence {
        vendor: Some("QEMU"),
        product: Some("QEMU Virtual Machine"),
        ..HypervisorEvidence::default()
    };
    check(arm, Some("QEMU (QEMU QEMU Virtual Machine)"));
    check(HypervisorEvidence { other: Some("xen"), vendor: None, product: None, ..arm }, Some("xen"));
    check(HypervisorEvidence { vendor: Some("LENOVO"), product: Some("ThinkSystem"), ..arm }, None);
}
