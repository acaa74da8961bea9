//! The functions of the DDI/DKI, under the names that C knows. Nothing in the library calls them: a program may have
//! functions of these names, and C code in the program then means those. `ddi.symbols` lists them.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_void};
use std::ptr;

use headwater_streams::{Queue, Result, Side};

use super::bridge::STATE_BYTES;
use super::context::{Context, Place, locate};
use super::instance::Pair;
use super::types::{CQueue, FreeRoutine, Mblk, Streamtab};
use super::{block, flow, load, queue, services, shape, worker};

/// Defines functions that C calls, and a list of their names and addresses. Their arguments are as the man page says.
macro_rules! exports {
    ($list:ident: $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $returns:ty)? $body:block)*) => {
        $(
            /// See strmod(9).
            ///
            /// # Safety
            /// The pointers are as strmod(9) requires.
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, non_snake_case, reason = "some are safe; C has the names")]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returns)? {
                // SAFETY: the caller promises that the pointers are as strmod(9) requires.
                unsafe { $body }
            }
        )*
        fn $list() -> impl Iterator<Item = (&'static str, usize)> {
            [$((stringify!($name), $name as *const () as usize)),*].into_iter()
        }
    };
}

/// Defines functions with names of SVR4, as `exports`. Each function has a second name, `hw_ddi_NAME`, which the
/// headers make modules call. A program may have a function of the first name, and a module would call that one. The
/// library would call it too, so the function with the second name is the one with the body.
macro_rules! svr4_exports {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $returns:ty)? $body:block)*) => {
        exports! {
            svr4_names:
            $(fn $name($($argument: $type),*) $(-> $returns)? { second::$name($($argument),*) })*
        }

        mod second {
            //! The functions under their second names.
            use super::*;

            $(
                /// See strmod(9).
                ///
                /// # Safety
                /// The pointers are as strmod(9) requires.
                #[unsafe(export_name = concat!("hw_ddi_", stringify!($name)))]
                #[allow(unused_unsafe, non_snake_case, reason = "some are safe; C has the names")]
                pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returns)? {
                    // SAFETY: the caller promises that the pointers are as strmod(9) requires.
                    unsafe { $body }
                }
            )*
            pub fn names() -> impl Iterator<Item = (&'static str, usize)> {
                [$((concat!("hw_ddi_", stringify!($name)), $name as *const () as usize)),*].into_iter()
            }
        }
    };
}

/// Returns the names and addresses of all functions. This makes a program that loads modules contain them.
pub fn all() -> Vec<(&'static str, usize)> {
    svr4_names().chain(own_names()).chain(second::names()).collect()
}

svr4_exports! {
    fn put(q: *mut CQueue, mp: *mut Mblk) -> c_int {
        if !mp.is_null() { queue::put(q, mp) }
        0
    }
    fn putnext(q: *mut CQueue, mp: *mut Mblk) -> c_int { queue::put_next(q, mp); 0 }
    fn putq(q: *mut CQueue, mp: *mut Mblk) -> c_int { queue::put_queue(q, mp) }
    fn putbq(q: *mut CQueue, mp: *mut Mblk) -> c_int { queue::put_back(q, mp) }
    fn insq(q: *mut CQueue, emp: *mut Mblk, nmp: *mut Mblk) -> c_int { queue::insert(q, emp, nmp) }
    fn putctl(q: *mut CQueue, kind: c_int) -> c_int { queue::put_control(q, kind, None, false).into() }
    fn putctl1(q: *mut CQueue, kind: c_int, parameter: c_int) -> c_int {
        queue::put_control(q, kind, Some(parameter), false).into()
    }
    fn putnextctl(q: *mut CQueue, kind: c_int) -> c_int { queue::put_control(q, kind, None, true).into() }
    fn putnextctl1(q: *mut CQueue, kind: c_int, parameter: c_int) -> c_int {
        queue::put_control(q, kind, Some(parameter), true).into()
    }
    fn qreply(q: *mut CQueue, mp: *mut Mblk) { queue::reply(q, mp) }

    fn getq(q: *mut CQueue) -> *mut Mblk { queue::get(q) }
    fn rmvq(q: *mut CQueue, mp: *mut Mblk) { queue::remove(q, mp) }
    fn flushq(q: *mut CQueue, flag: c_int) { flow::flush(q, None, flag != 0) }
    fn flushband(q: *mut CQueue, band: c_uchar, flag: c_int) { flow::flush(q, Some(band), flag != 0) }
    fn qsize(q: *mut CQueue) -> c_int { flow::size(q) }

    fn canput(q: *mut CQueue) -> c_int { flow::can_put(q, 0).into() }
    fn canputnext(q: *mut CQueue) -> c_int { flow::can_put_next(q, 0).into() }
    fn bcanput(q: *mut CQueue, band: c_uchar) -> c_int { flow::can_put(q, band).into() }
    fn bcanputnext(q: *mut CQueue, band: c_uchar) -> c_int { flow::can_put_next(q, band).into() }
    fn enableok(q: *mut CQueue) { flow::set_passive(q, false) }
    fn noenable(q: *mut CQueue) { flow::set_passive(q, true) }
    fn qenable(q: *mut CQueue) { flow::enable(q) }

    fn allocb(size: usize, _pri: c_uint) -> *mut Mblk { block::allocate(size) }
    fn esballoc(base: *mut u8, size: usize, _pri: c_int, routine: *mut FreeRoutine) -> *mut Mblk {
        block::external(base, size, routine)
    }
    fn freeb(mp: *mut Mblk) { block::free(mp) }
    fn freemsg(mp: *mut Mblk) { block::free_message(mp) }
    fn dupb(mp: *mut Mblk) -> *mut Mblk { block::duplicate(mp) }
    fn dupmsg(mp: *mut Mblk) -> *mut Mblk { block::each_block(mp, block::duplicate) }
    fn copyb(mp: *mut Mblk) -> *mut Mblk { block::copy(mp) }
    fn copymsg(mp: *mut Mblk) -> *mut Mblk { block::each_block(mp, block::copy) }
    fn testb(size: usize, _pri: c_uint) -> c_int {
        let mp = block::allocate(size);
        block::free(mp);
        (!mp.is_null()).into()
    }
    fn bufcall(size: usize, _pri: c_int, f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void) -> isize {
        worker::request(f, arg, 0, None, Some(size)) as isize
    }
    fn unbufcall(id: isize) { worker::take_back(id as i64); }

    fn linkb(mp: *mut Mblk, bp: *mut Mblk) { if !mp.is_null() { shape::link(mp, bp) } }
    fn unlinkb(mp: *mut Mblk) -> *mut Mblk {
        mp.as_mut().map_or(ptr::null_mut(), |first| std::mem::replace(&mut first.cont, ptr::null_mut()))
    }
    fn rmvb(mp: *mut Mblk, bp: *mut Mblk) -> *mut Mblk { shape::remove(mp, bp) }
    fn adjmsg(mp: *mut Mblk, len: isize) -> c_int { shape::adjust(mp, len).into() }
    fn pullupmsg(mp: *mut Mblk, len: isize) -> c_int { shape::pull_up(mp, len).into() }
    fn msgpullup(mp: *mut Mblk, len: isize) -> *mut Mblk { shape::pulled_up(mp, len) }
    fn msgdsize(mp: *const Mblk) -> usize { shape::data_size(mp) }
    fn datamsg(kind: c_uchar) -> c_int { matches!(kind, 0x00 | 0x01 | 0x83 | 0x0c).into() }

    fn RD(q: *mut CQueue) -> *mut CQueue { of_side(q, Side::Read) }
    fn WR(q: *mut CQueue) -> *mut CQueue { of_side(q, Side::Write) }
    fn OTHERQ(q: *mut CQueue) -> *mut CQueue { queue::other(q) }
    fn SAMESTR(q: *mut CQueue) -> c_int { flow::is_followed(q).into() }
    fn backq(q: *mut CQueue) -> *mut CQueue {
        let other = queue::other(q);
        let next = other.as_ref().map_or(ptr::null_mut(), |other| other.next);
        if next.is_null() { next } else { queue::other(next) }
    }
    fn strqget(q: *mut CQueue, what: c_int, band: c_uchar, value: *mut c_long) -> c_int {
        match flow::setting(q, what, band) {
            Some(found) if !value.is_null() => { value.write(found); 0 }
            _ => libc::EINVAL,
        }
    }
    fn strqset(q: *mut CQueue, what: c_int, _band: c_uchar, value: c_long) -> c_int {
        if flow::set(q, what, value) { 0 } else { libc::EINVAL }
    }
    fn qprocson(_q: *mut CQueue) {}
    fn qprocsoff(_q: *mut CQueue) {}
    fn freezestr(q: *mut CQueue) -> c_int { queue::freeze(q); 0 }
    fn unfreezestr(q: *mut CQueue, _cookie: c_int) { queue::unfreeze(q) }

    fn timeout(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void, ticks: c_long) -> isize {
        worker::request(f, arg, ticks, None, None) as isize
    }
    fn untimeout(id: isize) -> c_long { worker::take_back(id as i64) }
    fn qtimeout(q: *mut CQueue, f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void, ticks: c_long) -> isize {
        let place = Pair::find(q).map(|(pair, located)| (pair, located.side));
        worker::request(f, arg, ticks, place, None) as isize
    }
    fn quntimeout(_q: *mut CQueue, id: isize) -> c_long { worker::take_back(id as i64) }

    fn kmem_alloc(size: usize, _flag: c_int) -> *mut c_void { services::allocate(size, false) }
    fn kmem_zalloc(size: usize, _flag: c_int) -> *mut c_void { services::allocate(size, true) }
    fn kmem_free(memory: *mut c_void, _size: usize) { services::free(memory) }
    fn drv_getparm(parm: c_uint, value: *mut c_void) -> c_int {
        if services::parameter(parm, value) { 0 } else { -1 }
    }
    fn drv_usectohz(microseconds: c_long) -> c_long { services::ticks_of(microseconds) }
    fn drv_hztousec(ticks: c_long) -> c_long { services::microseconds_of(ticks) }
}

exports! {
    own_names:
    fn hw_q_read(q: *mut CQueue, at: usize, to: *mut u8, count: usize) -> c_int {
        if count == 0 { return 0; }
        if to.is_null() { return libc::EINVAL; }
        // The memory is zeroed first, because it may never have been written.
        ptr::write_bytes(to, 0, count);
        shared(q, |queue, is_driver| read_shared(queue, is_driver, at, std::slice::from_raw_parts_mut(to, count)))
    }
    fn hw_q_write(q: *mut CQueue, at: usize, from: *const u8, count: usize) -> c_int {
        if count == 0 { return 0; }
        if from.is_null() { return libc::EINVAL; }
        shared(q, |queue, is_driver| write_shared(queue, is_driver, at, std::slice::from_raw_parts(from, count)))
    }
    fn hw_register_module(tab: *const Streamtab, devflag: c_int) -> c_int {
        load::register_tab(tab, devflag, 0, None).err().unwrap_or(0)
    }
    fn hw_module_load(path: *const c_char) -> c_int {
        if path.is_null() { return libc::EINVAL; }
        load::load_path(CStr::from_ptr(path)).err().unwrap_or(0)
    }
    fn hw_module_search(on: c_int) { load::set_search(on != 0) }
    fn hw_cmn_err(level: c_int, text: *const c_char) { services::report(level, text) }
}

/// Returns the queue of a side (RD, WR).
///
/// # Safety
/// `queue` is null or a queue.
unsafe fn of_side(queue: *mut CQueue, side: Side) -> *mut CQueue {
    // SAFETY: the caller promises that `queue` is null or a queue.
    match unsafe { Pair::find(queue) } {
        Some((pair, located)) if located.is_behind => pair.behind(side),
        Some((pair, _)) => pair.queue(side),
        None => ptr::null_mut(),
    }
}

/// Calls `action` with the queue that gives access to the memory in the stream, in a procedure of either queue. Returns
/// 0 or EINVAL.
///
/// # Safety
/// `queue` is null or a queue.
unsafe fn shared(
    queue: *mut CQueue,
    action: impl FnOnce(&mut Queue<'static, 'static, 'static>, bool) -> Result<bool>,
) -> c_int {
    // SAFETY: the caller promises that `queue` is null or a queue.
    let context: &mut Context = match unsafe { locate(queue) } {
        Some((Place::Own(context) | Place::Other(context), _)) => context,
        _ => return libc::EINVAL,
    };
    // SAFETY: the procedure of `context` runs, and a pair outlives its procedures.
    let is_driver = unsafe { &*context.pair }.definition.is_driver;
    // A range that is not inside is the caller's mistake, and does not make the procedure fail.
    let done = context.run(|queue| Ok(action(queue, is_driver).unwrap_or(false)));
    if done == Some(true) { 0 } else { libc::EINVAL }
}

/// Returns the words of a module's state that a range of bytes touches. `None` if the range is not inside.
fn words_of(at: usize, count: usize) -> Option<std::ops::Range<usize>> {
    let end = at.checked_add(count).filter(|end| *end <= STATE_BYTES)?;
    Some(at / WORD..end.div_ceil(WORD))
}

const WORD: usize = size_of::<u64>();

fn read_shared(queue: &mut Queue<'_, '_, '_>, is_driver: bool, at: usize, to: &mut [u8]) -> Result<bool> {
    if is_driver {
        return queue.read_instance(at, to).map(|()| true);
    }
    let Some(words) = words_of(at, to.len()) else { return Ok(false) };
    let bytes: Vec<u8> = queue.state()[words.clone()].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let from = at - words.start * WORD;
    to.copy_from_slice(&bytes[from..from + to.len()]);
    Ok(true)
}

fn write_shared(queue: &mut Queue<'_, '_, '_>, is_driver: bool, at: usize, from: &[u8]) -> Result<bool> {
    if is_driver {
        return queue.write_instance(at, from).map(|()| true);
    }
    let Some(words) = words_of(at, from.len()) else { return Ok(false) };
    let state = queue.state();
    for place in words {
        let mut word = state[place].to_ne_bytes();
        for (byte, value) in word.iter_mut().enumerate() {
            if let Some(new) = (place * WORD + byte).checked_sub(at).and_then(|at| from.get(at)) {
                *value = *new;
            }
        }
        queue.set_state_word(place, u64::from_ne_bytes(word));
    }
    Ok(true)
}
