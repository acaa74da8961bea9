//! What is done when a procedure of a module panics: the token is given back and the state is whole, so that the stream goes
//! on for others. The panic itself goes on to the caller.

use super::handle::Handle;
use super::way::Pass;
use crate::sched::Effects;

/// Held while code of modules runs under the writer's token of a direction, and forgotten when it has returned. Dropped, it
/// was left by a panic.
#[derive(Debug)]
pub(crate) struct Running<'s> {
    pub stream: &'s mut Handle,
    pub outward: bool,
    pub pass: Pass,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Running { stream, outward, pass } = self;
        let (_, me, _) = stream.end.parts();
        let (way, other) =
            if *outward { (&mut stream.out, &mut stream.back) } else { (&mut stream.back, &mut stream.out) };
        other.leave_inner(me);
        let sent_back = std::mem::take(&mut other.inner_effects).delivered;
        way.data.abandon();
        // What a service procedure had got goes back to its queue, unless it had passed it on. On an error the next member
        // that takes the token does it.
        let _ = way.land(me);
        way.end(me, *pass);
        // What was delivered before is told: nobody knows whether there was any.
        let effects = Effects { delivered: true, urgent: true, room: true, ..Effects::default() };
        let _ = stream.tell(*outward, &effects);
        if sent_back {
            let _ = stream.tell(!*outward, &effects);
        }
    }
}
