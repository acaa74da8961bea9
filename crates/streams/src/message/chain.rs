//! The bytes of a message's part: one block as a rule, several where procedures have linked messages, and blocks that several
//! messages share.
//!
//! A part of one block is borrowed from whoever sends it, and costs nothing. A part of several is copied block by block where
//! it comes to rest; only who asks for it as a whole has it joined (pullupmsg), once.

use std::sync::{Arc, OnceLock};

/// A block of a message (mblk with its dblk).
#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    /// Somebody else's bytes.
    Borrowed(&'a [u8]),
    /// The message's own.
    Owned(Vec<u8>),
    /// Those of several messages; whoever changes them copies them first.
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

    fn into_vec(self) -> Vec<u8> {
        match self {
            Block::Borrowed(bytes) => bytes.to_vec(),
            Block::Owned(bytes) => bytes,
            Block::Shared(bytes) => Arc::unwrap_or_clone(bytes),
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

/// A part of a message.
#[derive(Debug, Clone)]
pub(crate) struct Chain<'a> {
    first: Block<'a>,
    rest: Option<Box<Rest<'a>>>,
}

/// The blocks behind the first (b_cont).
#[derive(Debug, Clone)]
struct Rest<'a> {
    blocks: Vec<Block<'a>>,
    /// All blocks as one, if somebody has asked for them.
    joined: OnceLock<Vec<u8>>,
}

impl<'a> Chain<'a> {
    #[inline]
    pub fn borrowed(bytes: &'a [u8]) -> Chain<'a> {
        Chain { first: Block::Borrowed(bytes), rest: None }
    }

    pub fn owned(bytes: Vec<u8>) -> Chain<'a> {
        Chain { first: Block::Owned(bytes), rest: None }
    }

    /// All bytes in one piece.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.rest {
            None => self.first.bytes(),
            Some(rest) => rest.joined.get_or_init(|| self.blocks().flatten().copied().collect()),
        }
    }

    #[inline]
    pub fn is_one_block(&self) -> bool {
        self.rest.is_none()
    }

    /// The blocks in their order.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        let rest = self.rest.iter().flat_map(|rest| rest.blocks.iter());
        std::iter::once(&self.first).chain(rest).map(Block::bytes)
    }

    #[inline]
    pub fn len(&self) -> usize {
        match &self.rest {
            None => self.first.bytes().len(),
            Some(_) => self.blocks().map(<[u8]>::len).sum(),
        }
    }

    /// All bytes in one block of the message's own, to be changed.
    pub fn to_mut(&mut self) -> &mut Vec<u8> {
        if self.rest.is_some() {
            self.first = Block::Owned(self.bytes().to_vec());
            self.rest = None;
        }
        if let Block::Borrowed(bytes) = self.first {
            self.first = Block::Owned(bytes.to_vec());
        }
        match &mut self.first {
            Block::Owned(bytes) => bytes,
            Block::Shared(bytes) => Arc::make_mut(bytes),
            Block::Borrowed(_) => unreachable!("it was made the message's own above"),
        }
    }

    /// Blocks of another chain behind those of this one (linkb).
    pub fn link(&mut self, other: Chain<'a>) {
        let blocks =
            &mut self.rest.get_or_insert_with(|| Box::new(Rest { blocks: Vec::new(), joined: OnceLock::new() })).blocks;
        blocks.push(other.first);
        blocks.extend(other.rest.into_iter().flat_map(|rest| rest.blocks));
        self.forget_joined();
    }

    /// Takes the blocks behind the first off (unlinkb).
    pub fn unlink(&mut self) -> Option<Chain<'a>> {
        let mut blocks = self.rest.take()?.blocks.into_iter();
        let mut chain = Chain { first: blocks.next()?, rest: None };
        blocks.for_each(|block| chain.link(Chain { first: block, rest: None }));
        Some(chain)
    }

    /// Another chain of the same bytes, none of which is copied unless they are changed (dupmsg).
    pub fn share(&mut self) -> Chain<'a> {
        let first = self.first.share();
        let rest = self.rest.as_mut().map(|rest| {
            let blocks = rest.blocks.iter_mut().map(Block::share).collect();
            Box::new(Rest { blocks, joined: OnceLock::new() })
        });
        Chain { first, rest }
    }

    /// The same chain with bytes of its own.
    pub fn into_owned(self) -> Chain<'static> {
        let own = |block: Block<'a>| match block {
            Block::Shared(bytes) => Block::Shared(bytes),
            block => Block::Owned(block.into_vec()),
        };
        let rest = self.rest.map(|rest| {
            let blocks = rest.blocks.into_iter().map(own).collect();
            Box::new(Rest { blocks, joined: OnceLock::new() })
        });
        Chain { first: own(self.first), rest }
    }

    fn forget_joined(&mut self) {
        if let Some(rest) = &mut self.rest {
            rest.joined = OnceLock::new();
        }
    }
}

impl PartialEq for Chain<'_> {
    /// By their bytes, however they lie in blocks.
    fn eq(&self, other: &Chain<'_>) -> bool {
        self.len() == other.len() && self.blocks().flatten().eq(other.blocks().flatten())
    }
}

impl Eq for Chain<'_> {}
