//! headwater report
