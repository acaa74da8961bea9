//! headwater shm
