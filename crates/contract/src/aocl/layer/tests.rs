use super::*;

#[test]
fn each_layer_is_found_by_its_id_and_its_reference() {
    for (order, layer) in Layer::ALL.into_iter().enumerate() {
        assert_eq!(layer.order(), order);
        assert!(layer.id().starts_with(&format!("L{order}.")), "{layer}");
        assert!(layer.reference().starts_with(&format!("builtin:l{order}.")), "{layer}");
        assert_eq!(Layer::from_id(layer.id()), Some(layer));
        assert_eq!(Layer::from_reference(layer.reference()), Some(layer));
        let printed = serde_json::to_value(layer).unwrap();
        assert_eq!(serde_json::from_value::<Layer>(printed).unwrap(), layer);
    }
    assert_eq!(Layer::from_id("L11.more"), None);
}
