//! The arguments of system calls: their names and types are in the descriptions of the events `syscalls:sys_enter_...`.
//! `raw_syscalls:sys_enter` stores six registers, of which a call uses as many as it has arguments.
//!
//! A type is that of the function in the kernel. Registers are wider: of an `int` only the low half is its value.

use std::collections::HashMap;
use std::fmt;

use headwater_os_tools::syscalls;

use super::format::{Format, Location, RawField};
use super::plan::{Plan, bytes_of};
use crate::schema::{Base, EventKind, Field, FieldKind};

/// The system whose events describe the calls, and the prefix of their names.
pub(super) const SYSTEM: &str = "syscalls";
pub(super) const ENTER: &str = "sys_enter_";

/// Bytes of a register.
const REGISTER: usize = 8;

/// Calls whose function in the kernel has another name; besides them `stat`, for example, is `newstat`.
const OTHER_NAMES: [(&str, &str); 2] = [("sendfile", "sendfile64"), ("umount2", "umount")];

/// A call and its arguments: `openat(int dfd, const char * filename, int flags, umode_t mode)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    /// The name of its function in the kernel.
    name: String,
    arguments: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    c_type: String,
    name: String,
}

impl Signature {
    /// Returns the call that an event `sys_enter_...` describes. `None` for other events.
    pub fn of(format: &Format) -> Option<Signature> {
        let name = format.name.strip_prefix(ENTER)?.to_owned();
        let arguments = format.fields.iter().filter(|field| is_argument(field));
        let argument = |field: &RawField| Argument { c_type: field.c_type.clone(), name: field.name.clone() };
        Some(Signature { name, arguments: arguments.map(argument).collect() })
    }

    /// Parses what `Display` writes.
    pub fn parse(text: &str) -> Option<Signature> {
        let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
        let argument = |text: &str| {
            let (c_type, name) = text.trim().rsplit_once(' ')?;
            Some(Argument { c_type: c_type.to_owned(), name: name.to_owned() })
        };
        let arguments = arguments.split(',').filter(|text| !text.is_empty()).map(argument);
        Some(Signature { name: name.to_owned(), arguments: arguments.collect::<Option<_>>()? })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}(", self.name)?;
        for (place, Argument { c_type, name }) in self.arguments.iter().enumerate() {
            write!(formatter, "{}{c_type} {name}", if place == 0 { "" } else { ", " })?;
        }
        formatter.write_str(")")
    }
}

/// Whether a field of an event `sys_enter_...` is an argument. Others are the call's number, and the texts to which
/// arguments point, which newer kernels record.
fn is_argument(field: &RawField) -> bool {
    let own = !field.name.starts_with("common_") && field.name != "__syscall_nr";
    own && field.location == Location::Inline && field.items.is_none() && field.size as usize == REGISTER
}

/// Returns the type of an argument, if the field is one. It is at the beginning of the register.
pub(super) fn argument(system: &str, event: &str, field: &RawField) -> Option<FieldKind> {
    let is_call = system == SYSTEM && event.starts_with(ENTER);
    (is_call && is_argument(field)).then(|| kind(&field.c_type, &field.name))
}

/// Returns the type of an argument from its C type and its name. Addresses, flags, and types that are not known are
/// shown in base 16.
fn kind(c_type: &str, name: &str) -> FieldKind {
    let c_type = c_type.trim_start_matches("const ").trim_end_matches("const").trim();
    let (bytes, signed) = match c_type {
        _ if c_type.contains('*') => (REGISTER, None),
        "clockid_t" | "timer_t" | "mqd_t" | "key_t" | "key_serial_t" | "rwf_t" | "qid_t" => (4, Some(true)),
        "uid_t" | "gid_t" => (4, Some(false)),
        "umode_t" => (2, Some(false)),
        "off_t" | "loff_t" | "ssize_t" => (REGISTER, Some(true)),
        _ => match bytes_of(c_type) {
            Some(bytes) => {
                let short = c_type.trim_start_matches('_').starts_with(['s', 'i', 'l', 'p']) && c_type != "size_t";
                (bytes, Some(short))
            }
            None => (REGISTER, None),
        },
    };
    let is_set = name.ends_with("flags") || name == "prot";
    let bytes = bytes as u8;
    match signed {
        Some(true) if !is_set => FieldKind::Signed { bytes },
        Some(false) if !is_set => FieldKind::Unsigned { bytes, base: Base::Decimal },
        _ => FieldKind::Unsigned { bytes, base: Base::Hexadecimal },
    }
}

/// Event types for the calls whose arguments are known, in place of one whose record is a number and six registers.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    /// Offset of the number in the kernel's record.
    number_at: usize,
    by_number: HashMap<u64, (EventKind, Plan)>,
}

impl Calls {
    /// Returns the event types for the calls that are known by number and signature. They have the name of the
    /// `general` type and ids from `first_id`. `None` if the format is not `raw_syscalls:sys_enter` of this processor.
    pub fn new(general: &EventKind, format: &Format, signatures: &[Signature], first_id: u16) -> Option<Calls> {
        let field = |name: &str| format.fields.iter().find(|field| field.name == name);
        let (number, registers) = (field("id")?, field("args")?);
        let count = registers.size as usize / REGISTER;
        let known = syscalls::names().filter_map(|(number, name)| Some((number, name, signature(signatures, name)?)));
        let by_number = known.zip(first_id..).map(|((value, name, signature), id)| {
            let mut steps = vec![(number.offset as usize, 4)];
            let named = FieldKind::Named { bytes: 4, names: vec![(value, name.to_owned())] };
            let mut fields = vec![Field { name: "id".to_owned(), kind: named }];
            for (place, argument) in signature.arguments.iter().take(count).enumerate() {
                let kind = kind(&argument.c_type, &argument.name);
                steps.push((registers.offset as usize + place * REGISTER, kind.size().expect("an integer")));
                // No argument is called `id` and precedes another of that name in any call; a viewer needs them apart.
                let taken = fields.iter().any(|field| field.name == argument.name);
                fields.push(Field { name: format!("{}{}", argument.name, if taken { "_" } else { "" }), kind });
            }
            (value, (EventKind { id, name: general.name.clone(), fields }, Plan::copying(id, &steps)))
        });
        Some(Calls { number_at: number.offset as usize, by_number: by_number.collect() })
    }

    /// The event types.
    pub fn each(&mut self) -> impl Iterator<Item = &mut (EventKind, Plan)> {
        self.by_number.values_mut()
    }

    /// Returns the event type for a kernel record. `None` if the call is not known.
    pub fn of(&self, data: &[u8]) -> Option<&(EventKind, Plan)> {
        let number = data.get(self.number_at..)?.first_chunk::<4>()?;
        self.by_number.get(&u64::from(u32::from_le_bytes(*number)))
    }
}

fn signature<'a>(signatures: &'a [Signature], name: &str) -> Option<&'a Signature> {
    let renamed = OTHER_NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, own)| own);
    let by = |wanted: &str| signatures.iter().find(|signature| signature.name == wanted);
    by(renamed).or_else(|| by(&format!("new{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAT: &str = "name: sys_enter_openat\nID: 782\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n\
        \tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n\
        \tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;\n";

    #[test]
    fn a_signature_comes_from_the_kernels_description_and_back_from_text() {
        let signature = Signature::of(&Format::parse(OPENAT).expect("the kernel's form")).expect("an entry");
        assert_eq!(signature.to_string(), "openat(int dfd, const char * filename, int flags, umode_t mode)");
        assert_eq!(Signature::parse(&signature.to_string()), Some(signature));
        let none = Signature { name: "getppid".into(), arguments: Vec::new() };
        assert_eq!(Signature::parse("getppid()"), Some(none));
        assert_eq!(Signature::parse("getppid("), None);
        assert_eq!(Signature::of(&Format::parse("name: sys_exit_read\nID: 1\n").expect("one")), None);
    }

    #[test]
    fn arguments_have_the_width_and_sign_of_their_types() {
        let (signed, unsigned) =
            (|bytes| FieldKind::Signed { bytes }, |bytes, base| FieldKind::Unsigned { bytes, base });
        for (c_type, name, expected) in [
            ("int", "dfd", signed(4)),
            ("pid_t", "pid", signed(4)),
            ("const clockid_t", "which", signed(4)),
            ("long", "a", signed(8)),
            ("loff_t", "pos", signed(8)),
            ("__s32", "a", signed(4)),
            ("size_t", "count", unsigned(8, Base::Decimal)),
            ("unsigned long", "len", unsigned(8, Base::Decimal)),
            ("unsigned", "fd", unsigned(4, Base::Decimal)),
            ("const __u32", "a", unsigned(4, Base::Decimal)),
            ("umode_t", "mode", unsigned(2, Base::Decimal)),
            ("uid_t", "user", unsigned(4, Base::Decimal)),
            ("int", "flags", unsigned(4, Base::Hexadecimal)),
            ("unsigned long", "prot", unsigned(8, Base::Hexadecimal)),
            ("const char *", "filename", unsigned(8, Base::Hexadecimal)),
            ("const void *const", "a", unsigned(8, Base::Hexadecimal)),
            ("cap_user_header_t", "header", unsigned(8, Base::Hexadecimal)),
        ] {
            assert_eq!(kind(c_type, name), expected, "{c_type} {name}");
        }
    }

    #[test]
    fn calls_are_found_by_the_names_of_their_functions() {
        let signatures = ["newfstat(unsigned int fd)", "umount(char * name, int flags)", "read(unsigned int fd)"];
        let signatures = signatures.map(|text| Signature::parse(text).expect("written so"));
        let found = |name| signature(&signatures, name).map(|signature| signature.name.as_str());
        assert_eq!(
            ["fstat", "umount2", "read", "write"].map(found),
            [Some("newfstat"), Some("umount"), Some("read"), None]
        );
    }
}
