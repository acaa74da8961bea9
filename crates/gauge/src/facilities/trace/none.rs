//! `none`: the empty loop, which every figure of `trace` contains.

use crate::facilities::kernel;

/// The same operation as in facility `kernel`.
pub type Nothing = kernel::none::Nothing;
