//! A value on its own cache lines, so that writing it does not invalidate the line of a neighbour for another CPU.

/// A value on its own cache lines. It has two lines, because processors prefetch lines in adjacent pairs.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct CachePadded<T>(pub T);
