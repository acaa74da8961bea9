//! Clues of virtual and real machines.

use super::*;

fn check(clues: Clues, expect: Option<&str>) {
    assert_eq!(identify(&clues).as_deref(), expect, "{clues:?}");
}

#[test]
fn hypervisor_is_named_by_its_signature() {
    let kvm = Clues { is_x86: true, flag: Some(true), signature: Some("KVMKVMKVM"), ..Clues::default() };
    check(kvm, Some("KVM"));
    check(Clues { vendor: Some("Amazon EC2"), product: Some("m5.large"), ..kvm }, Some("KVM (Amazon EC2 m5.large)"));
    check(Clues { signature: Some("NewNewNewNew"), ..kvm }, Some("NewNewNewNew"));
    check(Clues { signature: None, ..kvm }, Some("unnamed"));
}

#[test]
fn real_machine_says_so_only_on_x86() {
    let real = Clues {
        is_x86: true,
        flag: Some(false),
        vendor: Some("Amazon EC2"),
        product: Some("m5.metal"),
        ..Clues::default()
    };
    check(real, Some("none"));
    check(Clues { is_x86: false, flag: None, ..real }, None);
    check(Clues::default(), None);
}

#[test]
fn arm_machine_is_known_by_its_firmware() {
    let arm = Clues { vendor: Some("QEMU"), product: Some("QEMU Virtual Machine"), ..Clues::default() };
    check(arm, Some("QEMU (QEMU QEMU Virtual Machine)"));
    check(Clues { other: Some("xen"), vendor: None, product: None, ..arm }, Some("xen"));
    check(Clues { vendor: Some("LENOVO"), product: Some("ThinkSystem"), ..arm }, None);
}
