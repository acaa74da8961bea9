//! The store's memory: blocks and pages, free lists, and the copies in and out.

use std::sync::atomic::Ordering;

use headwater_shm::probe;

use super::{Part, Store, StoreGuard};
use crate::error::{Result, corrupt};
use crate::layout::ABSENT;
use crate::limits::{BLOCKS, CUT_MAX, FASTBUF, HIGH_BLOCKS, PAGE};
use crate::message::Message;

impl Store {
    /// Whether there is memory for another call, even the largest: a look.
    pub(crate) fn may_allocate(&self) -> bool {
        // Of the pieces into which a call is cut, each may leave a part of its last page empty.
        self.has_left(CUT_MAX + HIGH_BLOCKS, self.message_pages + CUT_MAX + self.message_pages)
    }

    /// Whether this number of blocks and pages is left beside the reserve for one message that goes back to its queue.
    fn has_left(&self, blocks: usize, pages: usize) -> bool {
        let blocks_taken = self.words.blocks_taken.load(Ordering::Relaxed) as usize;
        let pages_taken = self.words.pages_taken.load(Ordering::Relaxed) as usize;
        blocks_taken.saturating_add(blocks + 1) <= BLOCKS
            && pages_taken.saturating_add(pages + self.message_pages) <= self.links.len()
    }
}

impl StoreGuard<'_> {
    /// Whether the message leaves memory for those that always find room: one of high priority behind an ordinary one,
    /// and behind both one that goes back to its queue.
    pub(super) fn leaves_spare(&self, message: &Message<'_>) -> bool {
        let len = message.len();
        let pages = if len <= FASTBUF { 0 } else { len.div_ceil(PAGE) };
        match message.header.kind.is_high_priority() {
            true => self.has_left(1, pages),
            false => self.has_left(1 + HIGH_BLOCKS, pages + self.message_pages),
        }
    }

    /// A block, with its pages, that holds the message and is in no queue yet. None if the memory is used up.
    pub(super) fn allocate(&mut self, message: &Message<'_>) -> Result<Option<usize>> {
        let len = message.len();
        let Some(block) = self.pop_block()? else { return Ok(None) };
        let page = if len <= FASTBUF { Some(0) } else { self.pop_pages(len.div_ceil(PAGE))? };
        let Some(page) = page else {
            self.push_block(block);
            return Ok(None);
        };
        probe::at();
        let words = &self.words.blocks[block];
        words.page.store(page, Ordering::Relaxed);
        probe::at();
        let len_of = |part: Option<&[u8]>| part.map_or(ABSENT, |bytes| bytes.len() as u32);
        words.control.store(len_of(message.control()), Ordering::Relaxed);
        words.data.store(message.data_len().map_or(ABSENT, |len| len as u32), Ordering::Relaxed);
        words.control_taken.store(0, Ordering::Relaxed);
        words.data_taken.store(0, Ordering::Relaxed);
        words.header.store(message.header.word(), Ordering::Relaxed);
        let control = message.control().unwrap_or_default();
        probe::at();
        // Not read again from the block, where another process could have changed it.
        self.copy_in(block, page, 0, control)?;
        let mut at = control.len();
        message.each_data_block(|bytes| {
            let place = at;
            at += bytes.len();
            self.copy_in(block, page, place, bytes)
        })?;
        Ok(Some(block))
    }

    /// Gives a block and its pages back.
    pub(super) fn free(&mut self, block: usize) -> Result<()> {
        let mut page = self.words.blocks[block].page.load(Ordering::Relaxed);
        for _ in 0..=self.links.len() {
            let Some(index) = self.page_index(page)? else {
                self.push_block(block);
                return Ok(());
            };
            let next = self.links[index].load(Ordering::Relaxed);
            self.push_page(index);
            page = next;
        }
        Err(corrupt!("a message's pages have no end"))
    }

    /// Copies the rest of a part, which begins `skip` bytes behind the message's first.
    pub(super) fn copy_part(&self, block: usize, skip: usize, part: Option<Part>, buffer: &mut [u8]) -> Result<usize> {
        let Some(part) = part else { return Ok(0) };
        let count = part.left().min(buffer.len());
        let buffer = &mut buffer[..count];
        let at = skip + part.taken as usize;
        let page = self.words.blocks[block].page.load(Ordering::Relaxed);
        if page == 0 {
            if at + count > FASTBUF {
                return Err(corrupt!("a message is longer than its buffer"));
            }
            self.fast.copy_out((block * FASTBUF + at) as u64, buffer);
            return Ok(count);
        }
        self.walk(page, at, count, |place, done, len| self.pages.copy_out(place, &mut buffer[done..done + len]))?;
        Ok(count)
    }

    fn copy_in(&self, block: usize, page: u32, at: usize, bytes: &[u8]) -> Result<()> {
        if page == 0 {
            self.fast.copy_in((block * FASTBUF + at) as u64, bytes);
            return Ok(());
        }
        self.walk(page, at, bytes.len(), |place, done, len| self.pages.copy_in(place, &bytes[done..done + len]))
    }

    /// Goes over `len` bytes of a message from its byte `at` on: for each piece its place among the pages, how many bytes
    /// came before it, and its length.
    fn walk(&self, page: u32, at: usize, len: usize, mut piece: impl FnMut(u64, usize, usize)) -> Result<()> {
        let mut page = page;
        for _ in 0..at / PAGE {
            let index = self.page_index(page)?.ok_or_else(|| corrupt!("a message has too few pages"))?;
            page = self.links[index].load(Ordering::Relaxed);
        }
        let (mut within, mut done) = (at % PAGE, 0);
        while done < len {
            let index = self.page_index(page)?.ok_or_else(|| corrupt!("a message has too few pages"))?;
            let count = (PAGE - within).min(len - done);
            piece((index * PAGE + within) as u64, done, count);
            done += count;
            within = 0;
            page = self.links[index].load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn pop_block(&self) -> Result<Option<usize>> {
        let block = self.find_block()?;
        if block.is_some() {
            let taken = &self.words.blocks_taken;
            taken.store(taken.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
        Ok(block)
    }

    fn find_block(&self) -> Result<Option<usize>> {
        let words = &self.words;
        if let Some(block) = self.index(words.free_block.load(Ordering::Relaxed))? {
            words.free_block.store(words.blocks[block].next.load(Ordering::Relaxed), Ordering::Relaxed);
            probe::at();
            return Ok(Some(block));
        }
        let fresh = words.used_blocks.load(Ordering::Relaxed);
        if fresh as usize >= BLOCKS {
            return Ok(None);
        }
        words.used_blocks.store(fresh + 1, Ordering::Relaxed);
        Ok(Some(fresh as usize))
    }

    fn push_block(&self, block: usize) {
        self.words.blocks[block].next.store(self.words.free_block.load(Ordering::Relaxed), Ordering::Relaxed);
        probe::at();
        self.words.free_block.store(block as u32 + 1, Ordering::Relaxed);
        probe::at();
        let taken = &self.words.blocks_taken;
        taken.store(taken.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }

    /// A chain of `count` pages; its first, plus one. None if there are fewer.
    fn pop_pages(&self, count: usize) -> Result<Option<u32>> {
        let mut chain = 0;
        for _ in 0..count {
            let Some(page) = self.pop_page()? else {
                // Gives back what it had taken.
                while let Some(index) = self.page_index(chain)? {
                    chain = self.links[index].load(Ordering::Relaxed);
                    self.push_page(index);
                }
                return Ok(None);
            };
            probe::at();
            self.links[page].store(chain, Ordering::Relaxed);
            chain = page as u32 + 1;
        }
        Ok(Some(chain))
    }

    fn push_page(&self, page: usize) {
        self.links[page].store(self.words.free_page.load(Ordering::Relaxed), Ordering::Relaxed);
        probe::at();
        self.words.free_page.store(page as u32 + 1, Ordering::Relaxed);
        probe::at();
        let taken = &self.words.pages_taken;
        taken.store(taken.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }

    fn pop_page(&self) -> Result<Option<usize>> {
        let page = self.find_page()?;
        if page.is_some() {
            let taken = &self.words.pages_taken;
            taken.store(taken.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
        Ok(page)
    }

    fn find_page(&self) -> Result<Option<usize>> {
        let words = &self.words;
        if let Some(page) = self.page_index(words.free_page.load(Ordering::Relaxed))? {
            words.free_page.store(self.links[page].load(Ordering::Relaxed), Ordering::Relaxed);
            return Ok(Some(page));
        }
        let fresh = words.used_pages.load(Ordering::Relaxed);
        if fresh as usize >= self.links.len() {
            return Ok(None);
        }
        words.used_pages.store(fresh + 1, Ordering::Relaxed);
        Ok(Some(fresh as usize))
    }

    pub(super) fn page_index(&self, link: u32) -> Result<Option<usize>> {
        match link as usize {
            0 => Ok(None),
            link if link <= self.links.len() => Ok(Some(link - 1)),
            _ => Err(corrupt!("a link between pages")),
        }
    }
}
