//! headwater headwater
