//! The command as its users run it: in one program, so that it is linked once and, while one test waits, others run.

mod autopush;
mod channel;
mod comparing;
mod completion;
mod conductor;
mod directory;
mod exchange;
mod external;
mod fleet;
mod foreign_files;
mod gate;
mod history;
mod names;
mod operations;
mod output;
mod overhead;
mod perftest;
mod run;
mod sync;
mod together;
mod trust;
