//! Makes a store consistent after a process died while it changed it.
//!
//! The links of the queues are right at every moment; everything else is derived from them and computed anew.

use std::sync::atomic::Ordering;

use headwater_os::mapped_vec::MappedVec;
use headwater_shm::probe;

use super::{ANSWERS, ENABLED, HEAD, StoreGuard};
use crate::error::Result;
use crate::layout::QUEUES;
use crate::limits::BLOCKS;

impl StoreGuard<'_> {
    /// Walks all queues, counts what is there, and frees the rest. Under the lock.
    pub(super) fn repair(&mut self) -> Result<()> {
        // Not from the allocator: the dead holder may be found in a signal handler.
        let (mut block_used, mut page_used) = (MappedVec::default(), MappedVec::default());
        block_used.resize(BLOCKS, false)?;
        page_used.resize(self.links.len(), false)?;
        for queue in 0..QUEUES {
            self.recount(queue, &mut block_used, &mut page_used)?;
            if queue < 2 {
                probe::at();
            }
        }
        if let Some(in_transfer) = self.index(self.words.in_transfer.load(Ordering::Acquire))? {
            if block_used[in_transfer] {
                // The process that lifted it had not taken it out of its queue, or another one has put it back.
                self.words.in_transfer.store(0, Ordering::Release);
            } else {
                block_used[in_transfer] = true;
                self.note_pages(in_transfer, &mut page_used)?;
            }
        }
        self.find_arrival()?;
        let words = &self.words;
        words.free_block.store(0, Ordering::Relaxed);
        probe::at();
        words.free_page.store(0, Ordering::Relaxed);
        words.used_blocks.store(BLOCKS as u32, Ordering::Relaxed);
        words.used_pages.store(self.links.len() as u32, Ordering::Relaxed);
        for block in (0..BLOCKS).filter(|block| !block_used[*block]) {
            words.blocks[block].next.store(words.free_block.load(Ordering::Relaxed), Ordering::Relaxed);
            words.free_block.store(block as u32 + 1, Ordering::Relaxed);
        }
        for page in (0..page_used.len()).filter(|page| !page_used[*page]) {
            self.links[page].store(words.free_page.load(Ordering::Relaxed), Ordering::Relaxed);
            words.free_page.store(page as u32 + 1, Ordering::Relaxed);
        }
        let taken = block_used.iter().filter(|used| **used).count();
        words.blocks_taken.store(taken as u32, Ordering::Relaxed);
        let taken = page_used.iter().filter(|used| **used).count();
        words.pages_taken.store(taken as u32, Ordering::Relaxed);
        probe::at();
        words.dirty.store(0, Ordering::Release);
        Ok(())
    }

    fn note_pages(&self, block: usize, page_used: &mut [bool]) -> Result<()> {
        let mut page = self.words.blocks[block].page.load(Ordering::Relaxed);
        while let Some(index) = self.page_index(page)? {
            if std::mem::replace(&mut page_used[index], true) {
                return Err(crate::error::corrupt!("two messages share a page"));
            }
            page = self.links[index].load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn recount(&self, queue: usize, block_used: &mut [bool], page_used: &mut [bool]) -> Result<()> {
        let words = &self.words.queues[queue];
        // A module's queue that was never used has no water marks. One that is empty may still be counted as full.
        if queue != HEAD
            && queue != ANSWERS
            && words.first.load(Ordering::Acquire) == 0
            && words.hiwat.load(Ordering::Relaxed) == 0
        {
            return Ok(());
        }
        for band in &words.bands {
            band.count.store(0, Ordering::Relaxed);
        }
        let (mut last, mut messages) = (0, 0);
        let mut next = words.first.load(Ordering::Acquire);
        while let Some(block) = self.index(next)? {
            if std::mem::replace(&mut block_used[block], true) {
                return Err(crate::error::corrupt!("two queues share a message"));
            }
            let stored = self.read(block)?;
            self.note_pages(block, page_used)?;
            let bytes: usize = [stored.control, stored.data].into_iter().flatten().map(|part| part.left()).sum();
            self.count_up(words, stored.header, bytes);
            messages += 1;
            last = next;
            next = self.words.blocks[block].next.load(Ordering::Relaxed);
        }
        words.last.store(last, Ordering::Relaxed);
        words.messages.store(messages, Ordering::Relaxed);
        // A queue whose notification of room was lost finds the room by one additional run of its service procedure.
        words.flags.fetch_or(ENABLED, Ordering::Relaxed);
        Ok(())
    }
}
