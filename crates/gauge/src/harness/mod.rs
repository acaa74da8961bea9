//! The harness: executes a plan and produces launch records.
//!
//! Three kinds of process take part. The *command* ([`run`]) holds the plan, starts one *conductor* per launch
//! ([`launch`] is the command's side, [`conduct`] the conductor's) and stores the answer. The conductor opens the
//! transport, forks the *workers* ([`worker`]) or starts external programs ([`external`]), and leads them through
//! rounds ([`rounds`]) over the line protocol ([`protocol`], [`link`]). If a conductor does not answer, the command
//! kills its whole process group.

pub mod conduct;
pub mod cpu_check;
pub mod external;
pub mod launch;
pub mod link;
pub mod lmbench_rule;
pub mod payload;
pub mod plausible;
pub mod program;
pub mod protocol;
pub mod rounds;
pub mod run;
pub mod scratch;
pub mod watch;
pub mod worker;
