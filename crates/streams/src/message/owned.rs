//! A message with bytes of its own, for those who do not want to bring buffers.

/// A message as it is sent and received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedMessage {
    /// The control part, if there is one.
    pub control: Option<Vec<u8>>,
    /// The data part, if there is one.
    pub data: Option<Vec<u8>>,
    /// Its band.
    pub band: u8,
    /// Whether it is of high priority.
    pub high_priority: bool,
}

impl OwnedMessage {
    /// Data alone, in band 0.
    pub fn data(data: impl Into<Vec<u8>>) -> OwnedMessage {
        OwnedMessage { data: Some(data.into()), ..OwnedMessage::default() }
    }

    /// Control and data, in band 0.
    pub fn proto(control: impl Into<Vec<u8>>, data: impl Into<Vec<u8>>) -> OwnedMessage {
        OwnedMessage { control: Some(control.into()), data: Some(data.into()), ..OwnedMessage::default() }
    }
}
