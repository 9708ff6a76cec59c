//! Identifiers in text: paths, names, ids, numbers, urls, flags.
