//! The hypervisor of this machine, if any.

use headwater_os_tools::machine::hypervisor_signature;

use super::Source;
use super::cpu::parse_cpuinfo;

/// Captures the hypervisor's name, with the machine's product if the firmware reports it: `KVM (Amazon EC2 m5.large)`.
/// `none` on bare metal; absent if it is unknown.
pub fn capture(source: &Source, architecture: &str) -> Option<String> {
    let cpuinfo = source.read_head("/proc/cpuinfo", 16 << 10).unwrap_or_default();
    let signature = hypervisor_signature();
    let device_tree = source.read("/proc/device-tree/hypervisor/compatible");
    let sys_hypervisor = source.read("/sys/hypervisor/type");
    let dmi = |name: &str| source.read(format!("/sys/class/dmi/id/{name}"));
    identify(&HypervisorEvidence {
        is_x86: architecture.ends_with("86") || architecture == "x86_64",
        flag: parse_cpuinfo(&cpuinfo).hypervisor,
        signature: signature.as_deref(),
        other: sys_hypervisor.or(device_tree).as_deref(),
        vendor: dmi("sys_vendor").as_deref(),
        product: dmi("product_name").as_deref(),
    })
}

/// The facts from which a hypervisor is identified.
#[derive(Clone, Copy, Debug, Default)]
pub struct HypervisorEvidence<'text> {
    /// Whether this is x86: only there must a processor report its hypervisor.
    pub is_x86: bool,
    /// The flag `hypervisor` of `/proc/cpuinfo`.
    pub flag: Option<bool>,
    /// The hypervisor's own signature, CPUID leaf 0x4000_0000.
    pub signature: Option<&'text str>,
    /// `/sys/hypervisor/type` or the entry of the device tree.
    pub other: Option<&'text str>,
    /// The firmware's vendor.
    pub vendor: Option<&'text str>,
    /// The firmware's product.
    pub product: Option<&'text str>,
}

/// Identifies the hypervisor from `evidence`.
pub fn identify(evidence: &HypervisorEvidence) -> Option<String> {
    let by_firmware = evidence.vendor.and_then(|vendor| virtual_vendor(vendor, evidence.product.unwrap_or_default()));
    let name = match (evidence.signature, evidence.flag) {
        (Some(signature), _) => Some(common_name(signature)),
        // The processor reports a real machine. The firmware's vendor does not contradict it: EC2 has real machines
        // too.
        (None, Some(false)) if evidence.is_x86 && evidence.other.is_none() => return Some("none".to_owned()),
        (None, flag) => evidence.other.or(by_firmware).or((flag == Some(true)).then_some("unnamed")),
    }?;
    let product: Vec<&str> = [evidence.vendor, evidence.product].into_iter().flatten().collect();
    Some(if product.is_empty() { name.to_owned() } else { format!("{name} ({})", product.join(" ")) })
}

/// Returns the common name for a hypervisor's signature.
fn common_name(signature: &str) -> &str {
    match signature {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU TCG",
        "VBoxVBoxVBox" => "VirtualBox",
        "bhyve bhyve" => "bhyve",
        "ACRNACRNACRN" => "ACRN",
        "lrpepyh  vr" => "Parallels",
        other => other,
    }
}

/// Returns the hypervisor of a vendor's virtual machines, for processors that cannot report it (ARM).
fn virtual_vendor(vendor: &str, product: &str) -> Option<&'static str> {
    match vendor {
        "QEMU" => Some("QEMU"),
        "Amazon EC2" if !product.contains("metal") => Some("KVM"),
        "Google" if product == "Google Compute Engine" => Some("KVM"),
        "Microsoft Corporation" if product == "Virtual Machine" => Some("Hyper-V"),
        "Apple Inc." if product.contains("Virtual") => Some("Apple Virtualization"),
        _ if vendor.starts_with("VMware") => Some("VMware"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
