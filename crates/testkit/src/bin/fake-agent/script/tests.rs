use super::*;

#[test]
fn steps_are_separated_and_escaped() {
    let lines = parse("print a b\\; c; ;# a remark\nexit 3;write out.txt two\\nlines").unwrap();
    assert_eq!(parse(&unparse(&lines)).as_ref(), Ok(&lines));
    let steps: Vec<Step> = lines.into_iter().map(|line| line.step).collect();
    let expected = [
        Step::Print("a b; c".to_owned()),
        Step::Exit(3),
        Step::Write(PathBuf::from("out.txt"), "two\nlines".to_owned()),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn every_step_of_the_help_is_understood() {
    for form in FORMS.lines() {
        let form = form.split("  ").next().unwrap();
        let words = form.replace("MS", "5").replace("BYTES", "5").replace("PCT", "5").replace("USD", "0.5");
        let words = words.replace("exit N", "exit 5").replace("[PIDFILE]", "pid.txt");
        let parsed = parse(&words);
        assert!(parsed.as_ref().is_ok_and(|steps| steps.len() == 1), "{words}: {parsed:?}");
    }
}

#[test]
fn a_wrong_word_is_refused_before_anything_happens() {
    for script in
        ["print a; dance", "sleep", "sleep soon", "exit 256", "env", "hang on", "aop-failed", "write"]
    {
        assert!(parse(script).is_err(), "{script}");
    }
}
