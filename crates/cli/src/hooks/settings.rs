//! Edits settings files of other programs and keeps everything else in them: comments, key order, indentation.
//!
//! A format has one file here that parses a text into a syntax tree, changes the tree and prints it. What leads back
//! to the old text is the difference of the two texts ([`difference`]), which is the same for every format.

pub(crate) mod difference;
pub(crate) mod edits;
pub(crate) mod jsonc;
