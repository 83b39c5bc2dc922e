//! Says what is in a bundle.
