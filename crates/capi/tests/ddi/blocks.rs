//! Compares the functions of message blocks with a model, in which a message is a list of blocks, each a type and
//! bytes.

use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater::ddi::exports::*;
use headwater::ddi::types::{FreeRoutine, Mblk};

/// A small generator of random numbers; the same seed repeats a failure (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

type Model = Vec<(u8, Vec<u8>)>;

static FREED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn note_free(argument: *mut c_char) {
    // SAFETY: `argument` is the box that `block` has handed over.
    drop(unsafe { Box::from_raw(argument.cast::<[u8; 64]>()) });
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// Makes a block in a random way. Its bytes begin at a random place of its buffer.
unsafe fn block(random: &mut Random, made: &mut usize) -> (*mut Mblk, (u8, Vec<u8>)) {
    let (before, len) = (random.below(4), random.below(40));
    let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
    let kind = if random.below(4) == 0 { 1 } else { 0 };
    // SAFETY: each buffer has room for the bytes that are written.
    unsafe {
        let mp = if random.below(4) == 0 {
            *made += 1;
            let buffer = Box::into_raw(Box::new([0u8; 64])).cast::<u8>();
            let mut routine = FreeRoutine { function: Some(note_free), argument: buffer.cast() };
            esballoc(buffer, 64, 0, &raw mut routine)
        } else {
            allocb(before + len, 0)
        };
        assert!((*(*mp).datap).lim.addr() - (*(*mp).datap).base.addr() >= before + len);
        (*mp).rptr = (*mp).rptr.add(before);
        ptr::copy_nonoverlapping(bytes.as_ptr(), (*mp).rptr, len);
        (*mp).wptr = (*mp).rptr.add(len);
        (*(*mp).datap).kind = kind;
        (mp, (kind, bytes))
    }
}

unsafe fn seen(mut mp: *const Mblk) -> Model {
    let mut model = Vec::new();
    while !mp.is_null() {
        // SAFETY: `mp` is a message that this test has made.
        unsafe {
            let len = (*mp).wptr.addr() - (*mp).rptr.addr();
            model.push(((*(*mp).datap).kind, std::slice::from_raw_parts((*mp).rptr, len).to_vec()));
            mp = (*mp).cont;
        }
    }
    model
}

/// Does in the model what adjmsg does.
fn adjust(model: &mut Model, by: isize) -> bool {
    let mut cut = by.unsigned_abs();
    let kind = if by >= 0 { model[0].0 } else { model[model.len() - 1].0 };
    let end = if by >= 0 { 0 } else { model.len() - 1 };
    let mut alike: Vec<usize> = Vec::new();
    let mut at = end as isize;
    while at >= 0 && (at as usize) < model.len() && model[at as usize].0 == kind {
        alike.push(at as usize);
        at += if by >= 0 { 1 } else { -1 };
    }
    if alike.iter().map(|at| model[*at].1.len()).sum::<usize>() < cut {
        return false;
    }
    for at in alike {
        let bytes = &mut model[at].1;
        let here = cut.min(bytes.len());
        if by >= 0 {
            drop(bytes.drain(..here))
        } else {
            bytes.truncate(bytes.len() - here)
        }
        cut -= here;
    }
    true
}

/// Does in the model what pullupmsg does.
fn pull_up(model: &mut Model, wanted: isize) -> bool {
    let kind = model[0].0;
    let alike = model.iter().take_while(|(other, _)| *other == kind).count();
    let total: usize = model[..alike].iter().map(|(_, bytes)| bytes.len()).sum();
    let wanted = if wanted == -1 { total } else { wanted as usize };
    if wanted > total {
        return false;
    }
    while model[0].1.len() < wanted {
        let missing = wanted - model[0].1.len();
        let here = missing.min(model[1].1.len());
        let moved: Vec<u8> = model[1].1.drain(..here).collect();
        model[0].1.extend(moved);
        if model[1].1.is_empty() {
            model.remove(1);
        }
    }
    true
}

#[test]
fn block_functions_match_the_model() {
    let _alone = super::common::prepare();
    let rounds = std::env::var("DDI_TEST_ROUNDS").map_or(400, |rounds| rounds.parse().expect("a number"));
    let (mut made, freed) = (0, FREED.load(Ordering::Relaxed));
    for seed in 0..rounds {
        let mut random = Random(seed);
        // SAFETY: blocks are used as SVR4 allows; the model knows which ones exist.
        unsafe {
            let mut messages: Vec<(*mut Mblk, Model)> = Vec::new();
            for step in 0..60 {
                if messages.is_empty() || random.below(5) == 0 {
                    let (mp, model) = block(&mut random, &mut made);
                    messages.push((mp, vec![model]));
                }
                let at = random.below(messages.len());
                let (mp, mut model) = messages.swap_remove(at);
                match random.below(11) {
                    0 => {
                        let (other, more) = block(&mut random, &mut made);
                        linkb(mp, other);
                        model.push(more);
                    }
                    1 => {
                        let rest = unlinkb(mp);
                        let tail = model.split_off(1);
                        assert_eq!(rest.is_null(), tail.is_empty());
                        if !rest.is_null() {
                            messages.push((rest, tail));
                        }
                    }
                    2 => {
                        let by = random.below(60) as isize - 30;
                        assert_eq!(adjmsg(mp, by) == 1, adjust(&mut model, by), "seed {seed} step {step}: adjmsg {by}");
                    }
                    3 => {
                        let wanted = random.below(70) as isize - 1;
                        let before = mp;
                        let done = pullupmsg(mp, wanted);
                        assert_eq!(
                            done == 1,
                            pull_up(&mut model, wanted),
                            "seed {seed} step {step}: pullupmsg {wanted}"
                        );
                        assert_eq!(before, mp);
                    }
                    4 => {
                        let wanted = random.below(70) as isize - 1;
                        let new = msgpullup(mp, wanted);
                        let mut expected = model.clone();
                        assert_eq!(!new.is_null(), pull_up(&mut expected, wanted), "seed {seed} step {step}");
                        if !new.is_null() {
                            messages.push((new, expected));
                        }
                    }
                    5 => {
                        let copy = copymsg(mp);
                        // The copy has bytes of its own.
                        messages.push((copy, model.clone()));
                        if let Some(byte) = model[0].1.first_mut() {
                            *byte ^= 0xff;
                            if (*(*mp).datap).references == 1 { *(*mp).rptr ^= 0xff } else { *byte ^= 0xff }
                        }
                    }
                    6 => {
                        let duplicate = dupmsg(mp);
                        assert!((*(*mp).datap).references >= 2 && (*duplicate).datap == (*mp).datap);
                        messages.push((duplicate, model.clone()));
                    }
                    7 => {
                        let place = random.below(model.len());
                        let mut out = mp;
                        (0..place).for_each(|_| out = (*out).cont);
                        let rest = rmvb(mp, out);
                        let removed = model.remove(place);
                        assert_eq!(seen(out), vec![removed]);
                        assert_eq!(rmvb(rest.cast_mut_or(out), ptr::dangling_mut()).addr(), usize::MAX);
                        freeb(out);
                        if model.is_empty() {
                            assert!(rest.is_null());
                        } else {
                            messages.push((rest, model));
                        }
                        continue;
                    }
                    8 => {
                        freemsg(mp);
                        continue;
                    }
                    9 => {
                        let (one, another) = (dupb(mp), copyb(mp));
                        assert_eq!((seen(one), seen(another)), (vec![model[0].clone()], vec![model[0].clone()]));
                        freeb(one);
                        freeb(another);
                    }
                    _ => {
                        let data: usize =
                            model.iter().filter(|(kind, _)| *kind == 0).map(|(_, bytes)| bytes.len()).sum();
                        assert_eq!(msgdsize(mp), data);
                    }
                }
                assert_eq!(seen(mp), model, "seed {seed} step {step}");
                messages.push((mp, model));
                messages.iter().for_each(|(mp, model)| assert_eq!(seen(*mp), *model, "seed {seed} step {step}"));
            }
            messages.iter().for_each(|(mp, _)| freemsg(*mp));
        }
    }
    assert_eq!(FREED.load(Ordering::Relaxed) - freed, made, "each external buffer is freed once");
}

trait Or {
    fn cast_mut_or(self, other: *mut Mblk) -> *mut Mblk;
}

impl Or for *mut Mblk {
    /// Returns this message, or `other` if this is null.
    fn cast_mut_or(self, other: *mut Mblk) -> *mut Mblk {
        if self.is_null() { other } else { self }
    }
}

#[test]
fn threads_share_one_buffer_by_dupb_and_freeb() {
    let _alone = super::common::prepare();
    let freed = FREED.load(Ordering::Relaxed);
    for _ in 0..200 {
        let buffer = Box::into_raw(Box::new([7u8; 64])).cast::<u8>();
        let mut routine = FreeRoutine { function: Some(note_free), argument: buffer.cast() };
        // SAFETY: `buffer` has 64 bytes and lives until its last block is freed; `mp` is a block that was just made.
        let blocks: Vec<usize> = unsafe {
            let mp = esballoc(buffer, 64, 0, &raw mut routine);
            (*mp).wptr = (*mp).wptr.add(64);
            let mut blocks: Vec<usize> = (0..3).map(|_| dupb(mp).addr()).collect();
            blocks.push(mp.expose_provenance());
            blocks
        };
        std::thread::scope(|scope| {
            for address in blocks {
                scope.spawn(move || {
                    let mp: *mut Mblk = ptr::with_exposed_provenance_mut(address);
                    for _ in 0..50 {
                        // SAFETY: `mp` and `other` are blocks that only this thread has.
                        unsafe {
                            let other = dupb(mp);
                            assert_eq!(*(*other).rptr, 7);
                            freeb(other);
                        }
                    }
                    // SAFETY: `mp` is a block that only this thread has.
                    unsafe { freeb(mp) };
                });
            }
        });
    }
    assert_eq!(FREED.load(Ordering::Relaxed) - freed, 200);
}

#[test]
fn null_and_wrong_arguments_are_harmless() {
    // SAFETY: the man page allows null for these arguments.
    unsafe {
        freemsg(ptr::null_mut());
        freeb(ptr::null_mut());
        linkb(ptr::null_mut(), ptr::null_mut());
        assert!(dupmsg(ptr::null_mut()).is_null() && copymsg(ptr::null_mut()).is_null());
        assert!(dupb(ptr::null_mut()).is_null() && unlinkb(ptr::null_mut()).is_null());
        assert_eq!((adjmsg(ptr::null_mut(), 1), pullupmsg(ptr::null_mut(), 1)), (0, 0));
        assert!(msgpullup(ptr::null_mut(), 1).is_null() && allocb(usize::MAX / 2, 0).is_null());
        assert!(esballoc(ptr::null_mut(), 1, 0, ptr::null_mut()).is_null());
        let mp = allocb(10, 0);
        assert_eq!(putq(ptr::null_mut(), mp), 0);
        freemsg(mp);
        assert!(getq(ptr::null_mut()).is_null() && RD(ptr::null_mut()).is_null());
        assert_eq!((canput(ptr::null_mut()), qsize(ptr::null_mut())), (0, 0));
        putnext(ptr::null_mut(), allocb(10, 0));
        assert_eq!([0x00, 0x01, 0x83, 0x0c, 0x0e, 0x86].map(|kind| datamsg(kind)), [1, 1, 1, 1, 0, 0]);
        let memory = kmem_zalloc(100, 0).cast::<[u8; 100]>();
        assert_eq!(*memory, [0; 100]);
        kmem_free(memory.cast(), 100);
        let mut value = 0usize;
        assert_eq!(drv_getparm(4, (&raw mut value).cast()), 0);
        assert_eq!(value, std::process::id() as usize);
        assert_eq!(drv_getparm(99, (&raw mut value).cast()), -1);
        assert_eq!((drv_usectohz(1), drv_usectohz(20_000), drv_hztousec(3)), (1, 2, 30_000));
    }
}
