//! Where the originals of compacted turns can be had again.
