use super::super::READER;
use super::*;
use crate::head::handle::Handle;

struct Fifo(tempfile::TempDir);

impl Fifo {
    fn new() -> Fifo {
        let directory = tempfile::tempdir().expect("a directory");
        crate::Fifo::create(directory.path().join("fifo"), 0o600).expect("mkfifo");
        Fifo(directory)
    }

    fn opener(&self) -> Opener {
        Opener { node: Node::open(&self.0.path().join("fifo")).expect("it is ours"), stream: None, is_marked: false }
    }
}

/// A process that opens the FIFO, step by step.
struct Opener {
    node: Node,
    stream: Option<Handle>,
    is_marked: bool,
}

fn budget() -> Budget {
    Budget::of(Duration::from_secs(10))
}

impl Opener {
    /// The inode of the stream that it finds.
    fn found(&self) -> Option<u64> {
        match self.node.look(None, true, &budget()).expect("no error") {
            Look::Stream(located) => Some(located.region.inode),
            Look::Nothing => None,
            Look::Hidden => panic!("nobody is hidden here"),
        }
    }

    fn makes(mut self) -> Opener {
        self.stream = Some(self.node.make(WRITER, &Options::default()).expect("room").stream);
        self
    }

    fn joins(mut self) -> Opener {
        let Look::Stream(located) = self.node.look(None, true, &budget()).expect("no error") else {
            panic!("there is a stream");
        };
        self.stream = Some(located.join(READER).expect("it is open").stream);
        self
    }

    fn marks(mut self) -> Opener {
        let stream = self.stream.as_mut().expect("it has one");
        self.is_marked = self.node.hold(stream).expect("fcntl");
        assert!(self.is_marked);
        self
    }

    fn region(&self) -> &Region {
        &self.stream.as_ref().expect("it has one").end.region
    }

    /// The inode of the stream that it comes to.
    fn settles(&self) -> u64 {
        match self.node.settle(self.region(), self.is_marked, &mut budget()).expect("no error") {
            Look::Nothing => self.region().inode,
            Look::Stream(other) => other.region.inode,
            Look::Hidden => panic!("nobody is hidden here"),
        }
    }
}

#[test]
fn two_that_make_a_stream_at_the_same_time_come_to_one() {
    for swapped in [false, true] {
        let fifo = Fifo::new();
        let (one, other) = (fifo.opener(), fifo.opener());
        assert_eq!((one.found(), other.found()), (None, None));
        let (one, other) = (one.makes().marks(), other.makes().marks());
        let (first, second) = if swapped { (&other, &one) } else { (&one, &other) };
        let settled = [first.settles(), second.settles()];
        assert_eq!(settled, [one.region().inode.min(other.region().inode); 2]);
        assert_eq!(fifo.opener().found(), Some(settled[0]));
    }
}

#[test]
fn who_comes_late_joins_the_stream_that_is_settled() {
    for swapped in [false, true] {
        let fifo = Fifo::new();
        let (mut early, mut late) = (fifo.opener().makes(), fifo.opener().makes());
        if swapped {
            // Whichever has the lower inode.
            std::mem::swap(&mut early, &mut late);
        }
        let early = early.marks();
        assert_eq!(early.settles(), early.region().inode, "it sees nobody");
        let late = late.marks();
        assert_eq!(late.settles(), early.region().inode);
        assert_eq!(settled(late.region()).load(Ordering::Relaxed), WITHDRAWN);
    }
}

#[test]
fn a_stream_is_settled_by_whoever_joins_it() {
    let fifo = Fifo::new();
    let maker = fifo.opener().makes().marks();
    let inode = maker.region().inode;
    let joiner = fifo.opener().joins().marks();
    assert_eq!(joiner.settles(), inode);
    let other = fifo.opener().makes().marks();
    assert_eq!((other.settles(), maker.settles()), (inode, inode));
}

#[test]
fn a_stream_that_was_left_gives_way_to_one_that_is_settled() {
    let fifo = Fifo::new();
    let last = fifo.opener().makes().marks();
    last.settles();
    // A process has it open and has not marked it yet when its last holder leaves.
    let late = fifo.opener().joins();
    drop(last);
    let next = fifo.opener().makes().marks();
    assert_eq!(next.settles(), next.region().inode);
    assert_eq!(late.marks().settles(), next.region().inode);
}

#[test]
fn a_withdrawn_stream_is_passed_by() {
    let fifo = Fifo::new();
    let maker = fifo.opener().makes().marks();
    assert_eq!(fifo.opener().found(), Some(maker.region().inode));
    assert!(decide(maker.region(), WITHDRAWN) && !decide(maker.region(), SETTLED));
    assert_eq!(fifo.opener().found(), None);
}

#[test]
fn rivals_that_come_again_and_again_end_with_the_time() {
    let fifo = Fifo::new();
    let mut rivals: Vec<_> = (0..=TRIES).map(|_| fifo.opener().makes().marks()).collect();
    // None has decided, and all are withdrawn by the first: the one whose inode has the lowest number, which need not be the one
    // that was made first, because each CPU numbers inodes out of a range of its own.
    rivals.sort_by_key(|rival| std::cmp::Reverse(rival.region().inode));
    let own = rivals.pop().expect("there is one");
    let settle = |budget: &mut Budget| own.node.settle(own.region(), own.is_marked, budget).expect("no error");
    assert!(matches!(settle(&mut Budget::of(Duration::ZERO)), Look::Hidden), "it goes on without time");
    let withdrawn = rivals.iter().filter(|rival| settled(rival.region()).load(Ordering::Acquire) == WITHDRAWN).count();
    assert_eq!(withdrawn, QUICK_TRIES as usize + 1, "it is not given up at the first");
    assert!(matches!(settle(&mut budget()), Look::Nothing), "in time it gets through");
}

#[test]
fn time_that_a_process_was_stopped_for_is_no_reason_to_give_up() {
    let budget = Budget::of(Duration::from_millis(200));
    std::thread::sleep(Duration::from_millis(300));
    assert!(budget.left() >= Duration::from_millis(149), "{:?}", budget.left());
    for _ in 0..3 {
        assert!(!budget.is_over());
        std::thread::sleep(STEP_MAX);
    }
    assert!(budget.is_over());
}
