include!(concat!(env!("OUT_DIR"), "/word.rs"));

fn main() {
    println!("says {WORD}");
}

#[test]
fn word_is_made() {
    assert_eq!(WORD, "A");
}
