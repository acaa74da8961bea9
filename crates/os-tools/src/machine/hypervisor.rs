//! The name that a hypervisor gives itself through the processor.

/// The twelve characters of CPUID leaf 0x4000_0000, such as `KVMKVMKVM`; absent without a hypervisor that says so.
///
/// Intel and AMD reserve bit 31 of leaf 1's ECX for hypervisors; processors themselves leave it 0.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor_signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&bytes);
    let name = name.trim_matches('\0').trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Other architectures have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor_signature() -> Option<String> {
    None
}
