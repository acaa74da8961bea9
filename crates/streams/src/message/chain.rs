//! The bytes of a message's part: one block as a rule, several where procedures have linked messages, and blocks that several
//! messages share.
//!
//! A part of one block is borrowed from the sender, and costs nothing. A part of several is copied block by block when
//! it is queued; it is joined only for a caller that asks for it as a whole (pullupmsg), once.

use std::sync::{Arc, OnceLock};

/// A block of a message (mblk with its dblk).
#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    /// The caller's bytes.
    Borrowed(&'a [u8]),
    /// The message's own.
    Owned(Vec<u8>),
    /// Bytes of several messages, copied before a change.
    Shared(Arc<Vec<u8>>),
}

impl Block<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Block::Borrowed(bytes) => bytes,
            Block::Owned(bytes) => bytes,
            Block::Shared(bytes) => bytes,
        }
    }

    fn into_owned(self) -> Block<'static> {
        match self {
            Block::Borrowed(bytes) => Block::Owned(bytes.to_vec()),
            Block::Owned(bytes) => Block::Owned(bytes),
            Block::Shared(bytes) => Block::Shared(bytes),
        }
    }

    /// Another block of the same bytes (dupb).
    fn share(&mut self) -> Self {
        if let Block::Owned(bytes) = self {
            *self = Block::Shared(Arc::new(std::mem::take(bytes)));
        }
        self.clone()
    }
}

/// A part of a message. No larger than a block, since most messages are one, and are passed on by value.
#[derive(Debug, Clone)]
pub(crate) enum Chain<'a> {
    One(Block<'a>),
    Many(Box<Many<'a>>),
}

/// Several blocks (b_cont).
#[derive(Debug, Clone)]
pub(crate) struct Many<'a> {
    blocks: Vec<Block<'a>>,
    /// All blocks as one, if a caller has asked for them.
    joined: OnceLock<Vec<u8>>,
}

const _: () = assert!(size_of::<Option<Chain<'_>>>() == size_of::<Vec<u8>>());

impl<'a> Chain<'a> {
    #[inline]
    pub fn borrowed(bytes: &'a [u8]) -> Chain<'a> {
        Chain::One(Block::Borrowed(bytes))
    }

    pub fn owned(bytes: Vec<u8>) -> Chain<'a> {
        Chain::One(Block::Owned(bytes))
    }

    fn of_blocks(blocks: Vec<Block<'a>>) -> Chain<'a> {
        Chain::Many(Box::new(Many { blocks, joined: OnceLock::new() }))
    }

    fn into_blocks(self) -> Vec<Block<'a>> {
        match self {
            Chain::One(block) => vec![block],
            Chain::Many(many) => many.blocks,
        }
    }

    /// All bytes in one piece.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Chain::One(block) => block.bytes(),
            Chain::Many(many) => many.joined.get_or_init(|| self.blocks().flatten().copied().collect()),
        }
    }

    #[inline]
    pub fn is_one_block(&self) -> bool {
        matches!(self, Chain::One(_))
    }

    /// The blocks in their order.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        let blocks = match self {
            Chain::One(block) => std::slice::from_ref(block),
            Chain::Many(many) => &many.blocks,
        };
        blocks.iter().map(Block::bytes)
    }

    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Chain::One(block) => block.bytes().len(),
            Chain::Many(_) => self.blocks().map(<[u8]>::len).sum(),
        }
    }

    /// All bytes in one block that the message owns, for changes.
    pub fn to_mut(&mut self) -> &mut Vec<u8> {
        if let Chain::Many(_) | Chain::One(Block::Borrowed(_)) = self {
            *self = Chain::owned(self.bytes().to_vec());
        }
        match self {
            Chain::One(Block::Owned(bytes)) => bytes,
            Chain::One(Block::Shared(bytes)) => Arc::make_mut(bytes),
            _ => unreachable!("it was made one block of the message's own above"),
        }
    }

    /// Blocks of another chain behind those of this one (linkb).
    pub fn link(&mut self, other: Chain<'a>) {
        let mut blocks = std::mem::replace(self, Chain::borrowed(&[])).into_blocks();
        blocks.extend(other.into_blocks());
        *self = Chain::of_blocks(blocks);
    }

    /// Takes the blocks behind the first off (unlinkb).
    pub fn unlink(&mut self) -> Option<Chain<'a>> {
        let Chain::Many(many) = self else { return None };
        let mut rest = many.blocks.split_off(1);
        let first = many.blocks.pop()?;
        *self = Chain::One(first);
        if rest.len() == 1 { rest.pop().map(Chain::One) } else { Some(Chain::of_blocks(rest)) }
    }

    /// Another chain of the same bytes, none of which is copied unless they are changed (dupmsg).
    pub fn share(&mut self) -> Chain<'a> {
        match self {
            Chain::One(block) => Chain::One(block.share()),
            Chain::Many(many) => Chain::of_blocks(many.blocks.iter_mut().map(Block::share).collect()),
        }
    }

    /// All bytes, without a copy of one block of the message's own.
    pub fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(self.to_mut())
    }

    /// The same chain with its own copy of the bytes.
    pub fn into_owned(self) -> Chain<'static> {
        match self {
            Chain::One(block) => Chain::One(block.into_owned()),
            Chain::Many(many) => Chain::of_blocks(many.blocks.into_iter().map(Block::into_owned).collect()),
        }
    }
}

impl PartialEq for Chain<'_> {
    /// Compares the bytes, regardless of the blocks.
    fn eq(&self, other: &Chain<'_>) -> bool {
        self.len() == other.len() && self.blocks().flatten().eq(other.blocks().flatten())
    }
}

impl Eq for Chain<'_> {}

#[cfg(all(test, not(loom)))]
mod tests;
