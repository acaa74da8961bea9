//! Errors: every number is kept, and `EAGAIN` costs no allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Read, Write};

use headwater_streams::{Access, Errno, Error, Events, Fifo, Options, Stream};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts for each thread.
struct Counting;

// SAFETY: does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller has guaranteed.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller has guaranteed.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn with(options: Options) -> (Stream, Stream) {
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

#[test]
fn eagain_allocates_nothing() {
    let (mut near, far) = with(Options::new().hiwat(100).lowat(50));
    while near.write(&[0; 60]).is_ok() {}
    far.write(b"x").expect("room");
    let mut buffer = [0; 100];
    near.read(&mut buffer).expect("there");
    let mut tries = |near: &Stream| {
        for _ in 0..100 {
            let again: [Result<(), Error>; 4] = [
                near.write(&buffer).map(|_| ()),
                near.putmsg(Some(b"c"), None),
                near.read(&mut buffer).map(|_| ()),
                near.getmsg(None, Some(&mut buffer)).map(|_| ()),
            ];
            assert!(again.into_iter().all(|done| done.is_err_and(|error| error.errno() == Errno::Again)));
            let standard = [Read::read(&mut &*near, &mut buffer), Write::write(&mut &*near, &buffer)];
            assert!(
                standard.into_iter().all(|done| done.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
            );
        }
    };
    tries(&mut near);
    let before = ALLOCATIONS.get();
    tries(&mut near);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn a_module_raises_any_error_and_it_keeps_its_number() {
    for number in [1, 5, 71, 104, 133] {
        let (near, _far) = with(Options::default());
        near.push("testmod").expect("known");
        near.putmsg(Some(format!("error {number} 0").as_bytes()), None).expect("fine");
        let error = near.read(&mut [0; 9]).expect_err("raised");
        assert_eq!(error.errno(), Errno::new(number));
        assert_eq!(Error::from(io::Error::from(error)).errno(), Errno::new(number));
        assert!(near.poll(Events::IN, Some(std::time::Duration::ZERO)).expect("fine").intersects(Events::ERR));
    }
}

#[test]
fn what_the_kernel_says_keeps_its_number() {
    let error = Fifo::open("/nowhere/at/all", Access::Read).expect_err("no such file");
    assert_eq!((error.errno(), io::Error::from(error).raw_os_error()), (Errno::Noent, Some(2)));
    for number in 1..134 {
        let error = Error::from(io::Error::from_raw_os_error(number));
        assert_eq!((error.errno().number(), io::Error::from(error).raw_os_error()), (number, Some(number)));
    }
    assert_eq!(
        (format!("{:?}", Errno::Again), format!("{:?}", Errno::new(104))),
        ("Again".into(), "Errno(104)".into())
    );
}

#[test]
fn an_error_of_the_standard_library_says_the_reason_where_the_number_says_too_little() {
    let (near, _far) = with(Options::new().strctlsz(8));
    let refused = || near.putmsg(Some(&[0; 9]), None).expect_err("too long");
    let reason = refused().to_string();
    assert!(reason.contains("strctlsz 8"), "{reason}");
    for described in [io::Error::from(refused()), refused().into_io_with_reason()] {
        assert_eq!((described.raw_os_error(), described.to_string()), (None, reason.clone()));
        let again = Error::from(described);
        assert_eq!((again.errno(), again.to_string()), (Errno::Range, reason.clone()));
    }
    near.set_nonblocking(true).expect("set");
    let empty = || near.read(&mut [0]).expect_err("nothing is there");
    assert_eq!(io::Error::from(empty()).raw_os_error(), Some(Errno::Again.number()));
    assert_eq!(empty().into_io_with_reason().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn an_error_is_one_word() {
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    assert_eq!(size_of::<Result<usize, Error>>(), 2 * size_of::<usize>());
}
