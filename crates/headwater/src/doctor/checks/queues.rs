//! POSIX and System V message queues, and the IPC namespace that permits limits of their own.

use crate::doctor::{Facts, Finding, PrivateIpc, Remedy};

/// The largest message of the suite `ipc` (MEASURING.md 4).
const MESSAGE_BYTES_MAX: u64 = 64 << 10;

/// Two queues (one per direction) of the default depth with the largest messages, including the kernel's bookkeeping of
/// 96 bytes per message (mq_overview(7): `msg_msg` and a tree node).
const QUEUE_BYTES: u64 = 2 * 10 * (MESSAGE_BYTES_MAX + 96);

/// Checks whether a private IPC namespace can be created.
pub fn private_ipc(facts: &Facts) -> Option<Finding> {
    Some(match &facts.probes.private_ipc {
        PrivateIpc::Possible => Finding::good("can be made, so queues can have limits of their own"),
        PrivateIpc::LimitsFixed => Finding::note(
            "can be made, but its limits cannot be raised",
            "Queue rows are kept apart from the system's queues, but messages are no larger than its limits allow.",
        ),
        PrivateIpc::Refused(reason) => Finding::note(
            format!("cannot be made: {reason}"),
            "Queue rows use the system's own queues and limits; those with larger messages are skipped.",
        )
        .with(allow_namespaces(facts)),
    })
}

/// Returns the change of the setting that most probably forbids it.
fn allow_namespaces(facts: &Facts) -> Option<Remedy> {
    let settings = [
        ("kernel.unprivileged_userns_clone", 0, 1),
        ("kernel.apparmor_restrict_unprivileged_userns", 1, 0),
        ("user.max_user_namespaces", 0, 10_000),
        ("user.max_ipc_namespaces", 0, 10_000),
    ];
    let forbidding = settings.into_iter().find(|(name, forbidden, _)| facts.sysctl(name) == Some(*forbidden));
    forbidding.and_then(|(name, _, allowed)| Remedy::sysctl(facts, name, allowed))
}

/// Checks the largest message of a POSIX queue.
pub fn posix(facts: &Facts) -> Option<Finding> {
    largest_message(facts, &["fs.mqueue.msgsize_max"])
}

/// Checks the largest message of a System V queue, which must fit into the queue too.
pub fn system_v(facts: &Facts) -> Option<Finding> {
    largest_message(facts, &["kernel.msgmax", "kernel.msgmnb"])
}

/// Checks the lowest of several limits.
fn largest_message(facts: &Facts, names: &[&str]) -> Option<Finding> {
    let (bytes, name) = names.iter().filter_map(|name| Some((facts.sysctl(name)?, *name))).min()?;
    let what = format!("messages of up to {bytes} bytes ({name})");
    Some(if bytes >= MESSAGE_BYTES_MAX {
        Finding::good(what)
    } else if facts.probes.private_ipc == PrivateIpc::Possible {
        Finding::good(format!("{what}; larger ones in a private IPC namespace"))
    } else {
        Finding::warning(what, "Queue rows with larger messages are skipped.").with(Remedy::sysctl(
            facts,
            name,
            MESSAGE_BYTES_MAX,
        ))
    })
}

/// Checks `RLIMIT_MSGQUEUE`, which a namespace does not raise.
pub fn bytes_per_user(facts: &Facts) -> Option<Finding> {
    let bytes = facts.limit("msgqueue")?;
    let shown = &facts.environment.limits.resource["msgqueue"];
    if bytes >= QUEUE_BYTES {
        return Some(Finding::good(format!("{shown} for this user's POSIX queues")));
    }
    Some(
        Finding::note(
            format!("{shown} for this user's POSIX queues"),
            format!(
                "Two queues of ten 64 KiB messages need {QUEUE_BYTES}: with less, queues are shallower or skipped."
            ),
        )
        .with(Remedy::limit(facts, "msgqueue", QUEUE_BYTES)),
    )
}
