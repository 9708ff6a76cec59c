//! Resource classes and the ledger that only ever promotes.
