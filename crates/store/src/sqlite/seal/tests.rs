use super::*;

fn mac(number: u8) -> [u8; 32] {
    StoreKey::from_bytes(&[7; 32]).mac_bytes("test", &[&[number]])
}

#[test]
fn a_sum_does_not_depend_on_the_order_and_knows_every_row() {
    let (mut one, mut other) = (Sum::default(), Sum::default());
    (0..50).for_each(|number| one.add(&mac(number)));
    // Removed before it was added, as a transaction that only removes has it.
    other.remove(&mac(60));
    (0..50).rev().for_each(|number| other.add(&mac(number)));
    assert_ne!(one, other);
    other.add(&mac(60));
    assert_eq!(one, other);
    one.add(&mac(3));
    assert_ne!(one, other, "a row counts as often as it is there");
    one.remove(&mac(3));
    (0..50).for_each(|number| one.remove(&mac(number)));
    assert_eq!(one, Sum::default());
}

#[test]
fn sums_are_read_as_they_were_written() {
    let mut sums = Sums::default();
    for (number, table) in (0..).zip(["tasks", "requests", "heads"]) {
        let mut sum = Sum::default();
        sum.add(&mac(number));
        sums.apply(table, &sum);
    }
    let bytes = sums.bytes();
    assert_eq!(Sums::parse(&bytes), Some(sums.clone()));
    assert_eq!(Sums::parse(&bytes[..bytes.len() - 1]), None);
    let mut less = Sum::default();
    less.remove(&mac(1));
    sums.apply("requests", &less);
    assert_eq!(sums.of("requests"), Sum::default());
    assert_ne!(sums.of("heads"), Sum::default());
}

#[test]
fn rows_with_different_values_have_different_forms() {
    let form = |values: &[ValueRef<'static>]| encoded(values.len(), |at| Ok(values[at])).unwrap();
    let rows: [&[ValueRef<'static>]; 9] = [
        &[ValueRef::Null],
        &[ValueRef::Text(b"")],
        &[ValueRef::Blob(b"")],
        &[ValueRef::Text(b"1")],
        &[ValueRef::Integer(1)],
        &[ValueRef::Real(1.5)],
        &[ValueRef::Text(b"ab"), ValueRef::Text(b"c")],
        &[ValueRef::Text(b"a"), ValueRef::Text(b"bc")],
        &[ValueRef::Null, ValueRef::Null],
    ];
    for (number, row) in rows.iter().enumerate() {
        for other in &rows[number + 1..] {
            assert_ne!(form(row), form(other), "{row:?} {other:?}");
        }
    }
}
