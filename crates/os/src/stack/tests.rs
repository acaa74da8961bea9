use super::maps::parse;
use super::*;

/// Returns whether an address is in an executable mapping of this program.
fn is_code(address: u64) -> bool {
    let mut found = false;
    modules(|module| found |= (module.start..module.end).contains(&address));
    found
}

#[test]
fn base_of_a_module_is_the_beginning_of_its_file() {
    let here = is_code as *const () as u64;
    let own = std::env::current_exe().expect("an executable");
    let mut found = None;
    modules(|module| {
        if (module.start..module.end).contains(&here) {
            assert_eq!(module.path, own.as_os_str().as_encoded_bytes());
            found = Some(module.base);
        }
    });
    let base = found.expect("it is mapped");
    // SAFETY: the first bytes of a mapped file.
    assert_eq!(unsafe { *(base as *const [u8; 4]) }, *b"\x7fELF");
}

#[test]
fn each_mapping_joins_lines_across_reads() {
    let lines = || std::fs::read_to_string("/proc/self/maps").expect("it can be read");
    let before = lines();
    let mut seen = Vec::new();
    each_mapping(|mapping| {
        assert!(mapping.start < mapping.end);
        seen.push((mapping.start, mapping.end, mapping.path.to_vec()));
        true
    });
    // Other tests map and unmap memory meanwhile; the program and its libraries stay.
    let after = lines();
    let is_of_program = |line: &&str| line.contains(" /") && !line.contains("/memfd:");
    let stayed = before.lines().filter(is_of_program).filter(|line| after.lines().any(|other| other == *line));
    let stayed: Vec<&str> = stayed.collect();
    assert!(stayed.len() >= 10, "{stayed:?}");
    for line in stayed {
        let mapping = parse(line.as_bytes()).expect("a line of the kernel");
        assert!(seen.contains(&(mapping.start, mapping.end, mapping.path.to_vec())), "{line}");
    }
    assert!(parse(b"7f00-7f10 r-xp 0001000 08:01 77     /lib/a b.so").is_some_and(|line| {
        (line.start, line.end, line.offset, line.is_executable, line.inode, line.path)
            == (0x7f00, 0x7f10, 0x1000, true, 77, b"/lib/a b.so")
    }));
    assert!(parse(b"7f00-7f10 rw-p 0000000 00:00 0 ").is_some_and(|line| line.inode == 0 && line.path.is_empty()));
    assert!(parse(b"7f00-7f10 rw-p 0000000 00:00 0").is_some_and(|line| line.path.is_empty()));
    assert!(parse(b"7f00 r-xp").is_none());
}

/// Walks with any value in the frame pointer, in several threads: there is no fault.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod walked {
    fn check_frames() -> usize {
        let mut frames = [0; 32];
        let count = super::super::frames(&mut frames, 0);
        assert!(frames[count..].iter().all(|frame| *frame == 0));
        count
    }

    /// Calls `frames` with this value in the frame pointer.
    fn with_frame_pointer(value: u64) -> usize {
        extern "C" fn call(into: &mut [u64; 32]) -> usize {
            super::super::frames(into, 0)
        }
        let mut into = [0; 32];
        let count: usize;
        // SAFETY: the register is restored, the called function follows the ABI, and the stack is aligned to 16 bytes.
        unsafe {
            std::arch::asm!(
                "push rbp", "mov r12, rsp", "and rsp, -16", "mov rbp, {value}", "call {call}", "mov rsp, r12", "pop rbp",
                value = in(reg) value, call = sym call, in("rdi") &mut into, lateout("rax") count, out("r12") _,
                clobber_abi("C")
            );
        }
        count
    }

    #[test]
    fn frames_reads_only_the_stack() {
        let check = || {
            let here = &raw const *Box::new(7_u64) as u64;
            for value in [0, 1, 8, 4096, here, u64::MAX, u64::MAX - 15, 1 << 47, 0x7fff_ffff_ffff_fff8] {
                with_frame_pointer(value);
            }
            let on_stack = [0_u64; 4];
            // The chain ends at an address of 0.
            assert!(with_frame_pointer(&raw const on_stack as u64) <= 2);
            check_frames();
        };
        check();
        std::thread::spawn(check).join().expect("no panic");
    }

    #[test]
    fn copy_contains_the_stack_up_to_its_top() {
        use super::super::{COPY_HEAD, Registers, copy, registers, registers_of_caller};
        let check = || {
            let mark = std::hint::black_box([0x5eed_5eed_5eed_5eed_u64; 4]);
            let mut into = vec![1; 512];
            let here = registers();
            let count = copy(&mut into, &here);
            assert_eq!(into[..COPY_HEAD], here.0);
            let at = (&raw const mark as u64 - here.0[1]) as usize / 8;
            assert!((at + 4..=509).contains(&count) && into[COPY_HEAD + at..][..4] == mark, "{count} {at}");
            // A large copy reaches the top of the stack, and the rest is 0.
            let mut all = vec![1; 1 << 20];
            let count = copy(&mut all, &here);
            assert!(count < 1 << 20 && all[COPY_HEAD + count..].iter().all(|word| *word == 0), "{count}");
            for foreign in [0, 4096, here.0[1] + 4, &raw const *all as *const u64 as u64, u64::MAX - 7] {
                assert_eq!(copy(&mut into, &Registers([1, foreign, 0])), 0, "{foreign:#x}");
                assert!(into.iter().all(|word| *word == 0));
                assert!(registers_of_caller(foreign).is_none(), "{foreign:#x}");
            }
            assert_eq!(copy(&mut [0; 2], &here), 0);
        };
        std::thread::spawn(check).join().expect("no panic");
    }
}
