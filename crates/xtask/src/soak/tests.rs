use super::*;

fn planned(runner: Runner, args: &[&str]) -> Result<String> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (factor, rest) = parse(&args)?;
    Ok(plan(runner, factor, rest).last().expect("a plan ends with the tests").to_string())
}

#[test]
fn the_long_tests_run_with_more_rounds() {
    assert_eq!(
        planned(Runner::Nextest, &["--factor", "500", "-p", "engine"]).unwrap(),
        "WRIT_SOAK=500 cargo nextest run --profile soak -E 'test(/(^|::)soak_/)' -p engine"
    );
    assert_eq!(planned(Runner::CargoTest, &[]).unwrap(), "WRIT_SOAK=20 cargo test soak_ --workspace");
}

#[test]
fn a_factor_is_a_number_above_zero() {
    for wrong in [&["--factor"][..], &["--factor", "0"], &["--factor", "many"]] {
        assert!(planned(Runner::Nextest, wrong).is_err(), "{wrong:?}");
    }
}
