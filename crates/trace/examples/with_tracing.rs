//! A program that uses `tracing`, recorded: `headwater trace record -- target/debug/examples/with_tracing`.

use tracing::{info, info_span};
use tracing_subscriber::layer::SubscriberExt;

fn main() -> Result<(), tracing::subscriber::SetGlobalDefaultError> {
    let subscriber = tracing_subscriber::registry().with(headwater_trace::tracing::layer());
    tracing::subscriber::set_global_default(subscriber)?;
    for request in 0..1000_u64 {
        let span = info_span!("request", request, status = tracing::field::Empty);
        let _in = span.enter();
        info!(name: "answered", path = "/cart", "request {request} was answered");
        span.record("status", 200_u64);
    }
    Ok(())
}
