//! The corpus of the fuzz target for frames holds, and so do cut and changed versions of its entries.

#[path = "../../../../fuzz/frames.rs"]
mod frames;

#[test]
fn any_bytes_on_the_pipe_are_read_the_same_however_they_arrive() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/frames");
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for cut in 0..=bytes.len() {
            frames::frames(&bytes[..cut]);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x11;
            frames::frames(&changed);
        }
    }
}
