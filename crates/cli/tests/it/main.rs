//! Whole-product tests: the real binary, a real store, real children.

mod first_run;
mod validate;
