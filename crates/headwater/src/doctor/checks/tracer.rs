//! What `headwater trace` can do on this machine.

use std::path::PathBuf;

use crate::doctor::{Facts, Finding};

/// Checks the clock of the events.
pub fn clock(facts: &Facts) -> Option<Finding> {
    let tracer = facts.probes.tracer.as_ref()?;
    Some(match &tracer.counter_unsound {
        None => Finding::good("the processor's counter"),
        Some(why) => Finding::note(
            format!("the processor's counter is none: {why}"),
            "Events are stamped with CLOCK_MONOTONIC, which costs about twice as much, and threads have small buffers of \
             their own.",
        ),
    })
}

/// Reports whether programs write events into buffers of CPUs or of threads.
pub fn buffers(facts: &Facts) -> Option<Finding> {
    let tracer = facts.probes.tracer.as_ref()?;
    Some(match tracer.has_sequences {
        true => Finding::good("one for each CPU, by restartable sequences"),
        false => Finding::note(
            "one for each thread: there are no restartable sequences",
            "They are small: programs that write many events lose some, which is counted.",
        ),
    })
}

/// Checks the free memory for a session.
pub fn memory(facts: &Facts) -> Option<Finding> {
    let (needed, free) = (facts.probes.tracer.as_ref()?.session_bytes, facts.probes.shared_memory.free_bytes);
    let place = facts.probes.shared_memory.path.display();
    Some(match needed <= free {
        true => Finding::good(format!("a session takes {} MiB of {place}", needed >> 20)),
        false => Finding::warning(
            format!("a session takes {} MiB, and {place} has {}", needed >> 20, free >> 20),
            "`headwater trace record` needs a smaller --buffer, or --logs with another directory.",
        ),
    })
}

/// Checks whether events of the kernel can be recorded.
pub fn kernel(facts: &Facts) -> Option<Finding> {
    let tracer = facts.probes.tracer.as_ref()?;
    Some(match &tracer.kernel_obstacle {
        None => Finding::good("can be recorded (headwater trace record -k)"),
        Some(why) => {
            Finding::note(format!("cannot be recorded: {why}"), "Events of programs are recorded all the same.")
        }
    })
}

/// Reports memory of sessions whose recorder has died.
pub fn sessions(facts: &Facts) -> Option<Finding> {
    let abandoned = &facts.probes.tracer.as_ref()?.abandoned;
    if abandoned.is_empty() {
        return Some(Finding::good("none was abandoned"));
    }
    let all = names(abandoned);
    let finding = Finding::warning(
        format!("{} whose recorder was killed: {}", all.len(), first_few(&all)),
        "Each holds memory, and events that are in no trace: `headwater trace recover FILE` writes them and removes it; \
         `headwater trace list` names all.",
    );
    Some(finding.listing(all))
}

/// Reports kernel sessions whose recorder has died.
pub fn instances(facts: &Facts) -> Option<Finding> {
    let instances = &facts.probes.tracer.as_ref()?.instances;
    if instances.is_empty() {
        return Some(Finding::good("none was abandoned"));
    }
    let all = names(instances);
    let finding = Finding::warning(
        format!("{} of the kernel, whose recorder and guard were killed: {}", all.len(), first_few(&all)),
        "They record on, which costs the kernel time inside what is measured. `headwater trace recover DIR` of their recording \
         takes what they hold and removes them; so do the next `trace record -k` and `overhead`, without what they hold, and \
         rmdir.",
    );
    Some(finding.listing(all))
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Returns the first few of these names, and how many others there are.
fn first_few(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let others = names.len().saturating_sub(SHOWN);
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    format!("{}{others}", names[..names.len().min(SHOWN)].join(", "))
}
