//! Encodes messages of protocol buffers: fields of a number and a value, as the encoding's specification has them
//! (protobuf.dev, "Encoding"). A message is built from the inside.

/// Wire types.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

/// A message in the making.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn new() -> Message {
        Message::default()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire: u32) {
        self.varint((field << 3 | wire).into());
    }

    /// Appends an integer, or the number of an enumeration.
    pub fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Appends an integer of type fixed64.
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        self.key(field, FIXED64);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn double(&mut self, field: u32, value: f64) -> &mut Message {
        self.fixed(field, value.to_bits())
    }

    pub fn text(&mut self, field: u32, text: &str) -> &mut Message {
        self.length_delimited(field, text.as_bytes())
    }

    pub fn message(&mut self, field: u32, inner: &Message) -> &mut Message {
        self.length_delimited(field, &inner.0)
    }

    fn length_delimited(&mut self, field: u32, bytes: &[u8]) -> &mut Message {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}
