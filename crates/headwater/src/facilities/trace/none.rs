//! `none`: the loop around nothing, which every figure of `trace` contains.

use crate::facilities::kernel;

/// The same as in facility `kernel`.
pub type Nothing = kernel::none::Nothing;
