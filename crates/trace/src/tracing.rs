//! The events and spans of `tracing`, recorded as those of [`crate::events!`] are: a [`layer`] for a subscriber of
//! `tracing-subscriber`.
//!
//! A call site becomes a kind of event `target:name`. Characters that `tracing` allows and a name does not become `_`;
//! an event that was given no name is called after its place, such as `main_rs_12`. A span becomes two, `..._begin`
//! with its fields when it is entered and `..._end` when it is left, with the fields that it was given meanwhile.
//!
//! Fields are `u64`, `i64`, `f64`, `bool` or text; all other values become the text that `Debug` makes of them, and so
//! does the message. The types are known when values arrive, so a call site has a kind for each combination of types.
//! Values that do not fit (a text beyond 2047 bytes or with a NUL, fields beyond 4077 bytes) are cut or left out, and the
//! kind ends with a field `cut`: the number of such fields.
//!
//! Each record begins with `span`, the span in which an event occurred, or which begins or ends; 0 is none. The beginning of
//! a span has its `parent` too. The numbers are those that the subscriber gives to spans, [`Id::into_u64`]: a span that is
//! entered several times, as that of a future is whenever the future is polled, keeps its own. The `level` follows the
//! program's fields, of an event and of a span's beginning.
//!
//! A call site that no session wants costs as much as one that `tracing` has switched off.
//! When a session is joined or left, the call sites are asked again: for that, the subscriber must be the global one.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_os::thread::Thread;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

mod packed;
mod site;

use packed::Packed;
use site::{Series, Site};

/// Records events and spans.
#[derive(Debug)]
struct Recorder;

/// Lets through the events that a session wants.
#[derive(Debug)]
struct Wanted;

/// A layer has been made, so call sites have cached what is wanted.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Returns a layer that records what the sessions of this process want: the one that the environment names, which it joins
/// ([`crate::init`]), and those that are joined later ([`crate::join`], [`crate::listen()`](crate::listen())). It takes nothing
/// from other layers. If the session cannot be joined the layer records nothing; call [`crate::init`] to learn why.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(headwater_trace::tracing::layer());
/// tracing::subscriber::set_global_default(subscriber)?;
/// tracing::info!(request = 7, "answered");
/// # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
/// ```
pub fn layer<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    // Now, because `tracing` must not be called back while it asks whether a call site is wanted. An error of joining
    // does not stop the program.
    let _ = crate::init();
    IS_USED.store(true, Ordering::Release);
    Recorder.with_filter(Wanted)
}

/// Asks every call site again, because the set of recorded events has changed.
pub(crate) fn ask_again() {
    if IS_USED.load(Ordering::Acquire) {
        tracing_core::callsite::rebuild_interest_cache();
    }
}

/// Notes that a session has ended or records other events. May be called in a signal handler, so no call site is asked
/// here.
pub(crate) fn note_change() {
    CHANGED.store(true, Ordering::Relaxed);
}

static CHANGED: AtomicBool = AtomicBool::new(false);

/// After [`note_change`], outside of any signal handler but within `tracing`: the call sites must be asked from another
/// thread.
#[cold]
fn ask_elsewhere() {
    if CHANGED.swap(false, Ordering::Relaxed) {
        // Without a thread, call sites stay as expensive as they are.
        let _ = Thread::start(ask_again);
    }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        site::is_wanted(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if site::is_wanted(metadata) { Interest::always() } else { Interest::never() }
    }
}

thread_local! {
    /// The innermost recorded span in which this thread is; 0: none. The subscriber knows it too, but takes longer to say.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// The number of a span in a record.
fn number<'a, S: LookupSpan<'a>>(span: Option<SpanRef<'a, S>>) -> u64 {
    span.map_or(0, |span| span.id().into_u64())
}

/// The fields that a span has been given.
struct OfSpan {
    site: &'static Site,
    /// When it was made.
    first: Packed,
    /// Since then.
    late: Packed,
}

fn write(series: &Series, packed: &mut Packed) {
    series.write(packed);
    if CHANGED.load(Ordering::Relaxed) {
        ask_elsewhere();
    }
}

impl<S> Layer<S> for Recorder
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(site) = site::of(event.metadata()) else { return };
        let span = if event.is_contextual() { CURRENT.get() } else { number(context.event_span(event)) };
        let mut packed = Packed::new();
        packed.begin_with(span);
        event.record(&mut packed);
        write(&site.first, &mut packed);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let (Some(site), Some(span)) = (site::of(attributes.metadata()), context.span(id)) else { return };
        let own = id.into_u64();
        let (mut first, mut late) = (Packed::new(), Packed::new());
        first.begin_with(own);
        first.begin_with(number(span.parent()));
        late.begin_with(own);
        attributes.record(&mut first);
        span.extensions_mut().insert(Box::new(OfSpan { site, first, late }));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(of) = span.extensions_mut().get_mut::<Box<OfSpan>>()
        {
            values.record(&mut of.late);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(of) = span.extensions_mut().get_mut::<Box<OfSpan>>()
        {
            write(&of.site.first, &mut of.first);
            CURRENT.set(id.into_u64());
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(of) = span.extensions_mut().get_mut::<Box<OfSpan>>()
        {
            write(&of.site.last, &mut of.late);
            CURRENT.set(number(context.lookup_current()));
        }
    }
}
