//! A value on cache lines of its own, so that writing it does not take a neighbour's line away from another CPU.

/// A value on cache lines of its own. Two lines, because processors prefetch lines in adjacent pairs.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct CachePadded<T>(pub T);
