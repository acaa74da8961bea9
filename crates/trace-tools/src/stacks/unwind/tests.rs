use proptest::prelude::*;

use super::*;

/// A copy with these words at 0x7000.
fn copy(words: &[u64]) -> Box<[u64; STACK_COPY]> {
    let mut copy = Box::new([0; STACK_COPY]);
    copy[..3].copy_from_slice(&[0x1000, 0x7000, 0x7018]);
    copy[3..3 + words.len()].copy_from_slice(words);
    copy
}

fn row(frame: Frame, frame_pointer: Rule) -> Row {
    Row { frame, registers: [frame_pointer, Rule::Same, Rule::At(-8)], is_signal: false }
}

#[test]
fn callers_are_found_by_either_pointer_and_the_walk_ends_where_nothing_is_known() {
    let words = [1, 0x2000, 2, 0x7028, 0x3000, 3, 0x4000];
    let mut asked = Vec::new();
    let found = addresses(&copy(&words), |address| {
        asked.push(address);
        match address {
            0x1000 => Some(row(Frame::Register(STACK_POINTER, 16), Rule::Same)),
            0x1fff => Some(row(Frame::Register(FRAME_POINTER, 16), Rule::At(-16))),
            0x2fff => Some(row(Frame::Register(STACK_POINTER, 16), Rule::Same)),
            _ => None,
        }
    });
    assert_eq!(found, [0x1000, 0x2000, 0x3000, 0x4000]);
    assert_eq!(asked, [0x1000, 0x1fff, 0x2fff, 0x3fff], "a return address is behind the call");
    assert!(addresses(&Box::new([0; STACK_COPY]), |_| unreachable!("there is no copy")).is_empty());
}

#[test]
fn an_interrupted_function_is_where_it_is() {
    let signal = || Row {
        // The frame that the kernel makes: the registers are in memory, at distances from the stack pointer.
        frame: Frame::Expression([0x77, 0x18, 0x06].as_slice().into()),
        registers: [
            Rule::AtExpression([0x77, 0x10].as_slice().into()),
            Rule::AtExpression([0x77, 0x18].as_slice().into()),
            Rule::AtExpression([0x77, 0x08].as_slice().into()),
        ],
        is_signal: true,
    };
    let words = [9, 0x2000, 0x7777, 0x7030, 0, 0, 5, 0x3000];
    let mut asked = Vec::new();
    let found = addresses(&copy(&words), |address| {
        asked.push(address);
        match address {
            0x1000 => Some(signal()),
            0x2000 => Some(row(Frame::Register(STACK_POINTER, 16), Rule::Same)),
            _ => None,
        }
    });
    assert_eq!((found, asked), (vec![0x1000, 0x2000, 0x3000], vec![0x1000, 0x2000, 0x2fff]));
}

#[test]
fn expressions_are_those_of_the_table_of_a_linkage_table() {
    let copied = Copied { begin: 0x7000, words: &[0x55] };
    let registers = [0, 0x7000, 0x101b];
    let of = |expression: &[u8]| value(expression, None, &registers, &copied);
    // rsp + 8 + ((rip & 15) >= 11) * 8
    let linkage = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
    assert_eq!(of(&linkage), Some(0x7010));
    assert_eq!(of(&[0x77, 0, 0x06]), Some(0x55));
    assert_eq!(of(&[0x77, 8, 0x06]), None, "it was not copied");
    assert_eq!(of(&[0x22]), None);
    assert_eq!(of(&[0x2f, 0xfd, 0xff]), None, "a jump to itself");
    assert_eq!(of(&[0x31; 300]), None, "too many steps");
    assert_eq!(of(&[0x73, 8]), None, "a register that is not followed");
}

#[test]
fn a_walk_that_does_not_lead_upwards_ends() {
    let words = [0x1000; 300];
    let stays = || Some(row(Frame::Register(STACK_POINTER, 0), Rule::Same));
    assert_eq!(addresses(&copy(&words), |_| stays()).len(), 1);
    let endless = || Some(row(Frame::Register(STACK_POINTER, 8), Rule::Same));
    assert_eq!(addresses(&copy(&words), |_| endless()).len(), FRAMES_MAX);
}

proptest! {
    #[test]
    fn no_copy_is_too_strange(
        words in prop::collection::vec(any::<u64>(), STACK_COPY),
        offset in any::<i64>(),
        register in 0_usize..3,
        expression in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let words: &[u64; STACK_COPY] = words[..].try_into().expect("as many");
        let rules = [Rule::At(offset), Rule::AtExpression(expression[..].into()), Rule::IsExpression(expression[..].into())];
        for frame in [Frame::Register(register, offset), Frame::Expression(expression[..].into())] {
            let row = Row { frame, registers: rules.clone(), is_signal: false };
            prop_assert!(addresses(words, |_| Some(row.clone())).len() <= FRAMES_MAX);
        }
    }
}

/// The process's own stack, in a test program without frame pointers.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod own {
    use headwater_os::stack;

    use super::*;
    use crate::stacks::elf::{Identity, changed};
    use crate::stacks::{Module, Modules};

    #[inline(never)]
    fn newest(into: &mut [u64; STACK_COPY]) -> u64 {
        let count = stack::copy(into, std::hint::black_box(&stack::registers()));
        std::hint::black_box(count as u64)
    }

    #[inline(never)]
    fn middle(into: &mut [u64; STACK_COPY], depth: u32) -> u64 {
        let rest = if depth == 0 { newest(into) } else { middle(into, depth - 1) };
        std::hint::black_box(rest) + 1
    }

    #[test]
    fn every_call_is_found() {
        let mut copied = Box::new([0; STACK_COPY]);
        middle(&mut copied, 5);
        let mut modules = Modules::default();
        let thread = headwater_os::thread::id();
        stack::modules(|module| {
            let path = module.path.to_vec();
            let file =
                headwater_os::plain_file::open(std::path::Path::new(&String::from_utf8_lossy(&path).into_owned()));
            let changed = file.ok().and_then(|file| changed(&file)).unwrap_or(0);
            let file = modules.place(Identity { path, build_id: String::new(), changed });
            let stack::Module { start, end, base, .. } = module;
            modules.add(thread, Module { start, end, base, time: 0, file });
        });
        let found = addresses(&copied, |address| modules.row(thread, 0, address));
        let names: Vec<String> = found.iter().filter_map(|address| modules.name(thread, 0, *address)).collect();
        let is_at = |(name, expected): (&String, &str)| name.contains(&format!("::own::{expected}+0x"));
        let expected = ["newest"].into_iter().chain(["middle"; 6]).chain(["every_call_is_found"]);
        assert!(names.len() >= 8 && names.iter().zip(expected).all(is_at), "{names:#?}");
    }
}
