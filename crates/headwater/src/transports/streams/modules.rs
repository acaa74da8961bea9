//! `streams-pipe-null1`, `streams-pipe-null4`, `streams-pipe-srv1`: what modules cost that do nothing. `nullmod` passes
//! a message on at once; `srvmod` queues it for a service procedure. They are pushed on the sender's end.

use super::{Kind, PIPE, Recipe, variant};

/// With one `nullmod`.
#[derive(Debug)]
pub struct PipeNull1;

impl Kind for PipeNull1 {
    const RECIPE: Recipe = Recipe {
        info: variant("streams-pipe-null1", None, "STREAMS pipe with one nullmod"),
        modules: &["nullmod"],
        ..PIPE
    };
}

/// With four `nullmod`.
#[derive(Debug)]
pub struct PipeNull4;

impl Kind for PipeNull4 {
    const RECIPE: Recipe = Recipe {
        info: variant("streams-pipe-null4", None, "STREAMS pipe with four nullmod"),
        modules: &["nullmod"; 4],
        ..PIPE
    };
}

/// With one `srvmod`.
#[derive(Debug)]
pub struct PipeService1;

impl Kind for PipeService1 {
    const RECIPE: Recipe = Recipe {
        info: variant("streams-pipe-srv1", None, "STREAMS pipe with one srvmod"),
        modules: &["srvmod"],
        ..PIPE
    };
}
