use proptest::prelude::*;

use super::*;

const KERNEL_STACK: &str = "name: kernel_stack\nID: 4\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
    \tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";

fn format() -> StackFormat {
    StackFormat::of(&Format::parse(KERNEL_STACK).expect("the kernel's form")).expect("its fields")
}

/// A record of an event in a context: flags, preemption count, thread.
fn event(flags: u8, thread: u32) -> Vec<u8> {
    [&[7, 0, flags, 0][..], &thread.to_le_bytes()].concat()
}

fn stack(flags: u8, thread: u32, callers: &[u64]) -> Vec<u8> {
    let callers: Vec<u8> = callers.iter().flat_map(|caller| caller.to_le_bytes()).collect();
    [&[4, 0, flags, 0], &thread.to_le_bytes()[..], &(callers.len() as u32 / 8).to_le_bytes(), &[0; 4], &callers]
        .concat()
}

/// Two records of events, and what is put into their fields.
struct Records {
    waiting: Waiting,
    records: Vec<u8>,
    addresses: BTreeSet<u64>,
}

const LEN: usize = HEAD + BYTES;

impl Records {
    fn new() -> Records {
        Records { waiting: Waiting::default(), records: vec![0; 2 * LEN], addresses: BTreeSet::new() }
    }

    fn stack(&mut self, content: &[u8]) {
        self.waiting.stack(format(), content, &mut self.records, &mut self.addresses);
    }

    fn first(&self, record: usize) -> u64 {
        let field = &self.records[record * LEN + HEAD..];
        u64::from_le_bytes(field[..8].try_into().expect("eight bytes"))
    }
}

#[test]
fn a_stack_is_that_of_the_event_in_its_context() {
    const INTERRUPT: u8 = 8;
    let mut two = Records::new();
    two.waiting.event(&event(0, 5), 0);
    // Before the stack comes, there is an interrupt.
    two.waiting.event(&event(INTERRUPT, 5), LEN);
    two.stack(&stack(INTERRUPT, 5, &[0xb1, 0xb2]));
    two.stack(&stack(0, 5, &[0xa1]));
    assert_eq!((two.first(0), two.first(1)), (0xa1, 0xb1));
    assert!(two.waiting.0.is_empty() && two.addresses.len() == 3);
    // That of an event which is not here.
    two.stack(&stack(0, 5, &[0xc1]));
    assert_eq!((two.first(0), two.first(1)), (0xa1, 0xb1));
}

#[test]
fn an_event_that_has_lost_its_stack_does_not_get_that_of_a_later_one() {
    let mut two = Records::new();
    two.waiting.event(&event(0, 5), 0);
    assert!(!two.waiting.is_settled(LEN) && two.waiting.is_settled(LEN + NEAR_BYTES));
    two.waiting.event(&event(0, 5), LEN);
    two.stack(&stack(0, 6, &[0xd1]));
    two.stack(&stack(0, 5, &[0xa1]));
    two.stack(&stack(0, 5, &[0xb1]));
    assert_eq!((two.first(0), two.first(1)), (0, 0xa1));
}

#[test]
fn functions_are_those_that_contain_the_addresses() {
    let symbols = "ffffffff81000000 T _text\nffffffff81000010 t one\nffffffff81000010 t alias\nffffffff81000100 T two\n\
        ffffffff81000200 D data\nffffffffc0000000 t last\t[module]\n0000000000000000 T hidden\nnonsense\nffffffff8f z\n";
    let read = |each: &mut dyn FnMut(u64, bool, &str)| {
        symbols.lines().filter_map(symbol).for_each(|(start, is_code, name)| each(start, is_code, name));
    };
    let named = |addresses: &[u64]| {
        let found = functions(&addresses.iter().copied().collect(), read);
        found
            .into_iter()
            .map(|function| format!("{}-{:x}", function.name, function.end & 0xffff_ffff))
            .collect::<Vec<_>>()
    };
    // A call at the end of a function returns to the beginning of the next.
    assert_eq!(named(&[0xffff_ffff_8100_0011, 0xffff_ffff_8100_0100]), ["one-81000100"]);
    assert_eq!(named(&[0xffff_ffff_8100_0101, 0xffff_ffff_8100_0201]), ["two-81000200"]);
    assert_eq!(named(&[0xffff_ffff_c000_0005]), ["last [module]-c0100000"]);
    assert_eq!(named(&[5, 0xffff_ffff_c010_0001, u64::MAX]), [""; 0]);
}

#[test]
fn after_a_restart_addresses_have_no_names() {
    let own = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let code = own.lines().filter_map(symbol).find(|(_, is_code, name)| *is_code && *name == "do_syscall_64");
    let Some((start, ..)) = code else { return println!("skipped: the addresses are hidden") };
    let stacks = |boot: String| Stacks { boot, addresses: [start + 5].into(), ..Stacks::default() };
    let (kind, records, count) = stacks(boot()).names(7).expect("it has a name");
    assert_eq!((kind.name.as_str(), count), (KERNEL_FUNCTION, 1));
    assert!(records.windows(13).any(|bytes| bytes == b"do_syscall_64"));
    assert_eq!(stacks("another".to_owned()).names(7), None);
}

proptest! {
    /// Pages may be anything.
    #[test]
    fn no_record_is_too_strange(content in prop::collection::vec(any::<u8>(), 0..100), place in 0_usize..1000) {
        let mut two = Records::new();
        two.waiting.event(&content, place);
        two.stack(&content);
        prop_assert!(two.addresses.len() <= STACK_FRAMES);
    }
}
