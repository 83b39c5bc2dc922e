//! Whole-product tests: the real binary, a real store, real children.

mod first_run;
mod kill_nine;
mod request_ids;
mod run_view;
