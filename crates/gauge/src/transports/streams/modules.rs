//! `streams-pipe-null1`, `streams-pipe-null4`, `streams-pipe-srv1`: the cost of modules that do nothing. `nullmod`
//! passes a message on at once; `srvmod` queues it for a service procedure. They are pushed on the sender's end.

use super::{Configuration, PIPE, StreamsPipe, variant};

/// The pipe with one `nullmod`.
#[derive(Debug)]
pub struct PipeNull1;

impl StreamsPipe for PipeNull1 {
    const CONFIGURATION: Configuration = Configuration {
        info: variant("streams-pipe-null1", None, "STREAMS pipe with one nullmod"),
        modules: &["nullmod"],
        ..PIPE
    };
}

/// The pipe with four `nullmod`.
#[derive(Debug)]
pub struct PipeNull4;

impl StreamsPipe for PipeNull4 {
    const CONFIGURATION: Configuration = Configuration {
        info: variant("streams-pipe-null4", None, "STREAMS pipe with four nullmod"),
        modules: &["nullmod"; 4],
        ..PIPE
    };
}

/// The pipe with one `srvmod`.
#[derive(Debug)]
pub struct PipeService1;

impl StreamsPipe for PipeService1 {
    const CONFIGURATION: Configuration = Configuration {
        info: variant("streams-pipe-srv1", None, "STREAMS pipe with one srvmod"),
        modules: &["srvmod"],
        ..PIPE
    };
}
