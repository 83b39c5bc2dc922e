use super::*;
use crate::domain::plan::PlanTask;

fn settled(writes: &[&str], workspace: &str) -> Result<Vec<String>, Vec<String>> {
    let scopes = writes.iter().map(|text| Scope::parse(text, None).unwrap()).collect();
    let task = PlanTask { writes: scopes, ..PlanTask::minimal("a") };
    let mut plan = Plan { tasks: vec![task], ..Plan::default() };
    let findings = settle(&mut plan, "$", workspace);
    if findings.is_empty() {
        return Ok(plan.tasks[0].writes.iter().map(ToString::to_string).collect());
    }
    Err(findings.iter().map(|finding| format!("{} {}", finding.path, finding.rule)).collect())
}

#[test]
fn absolute_scopes_are_inside_the_workspace_or_refused() {
    assert_eq!(settled(&["src", "/srv/repo/docs"], "/srv/repo"), Ok(vec!["src".into(), "docs".into()]));
    assert_eq!(settled(&["/srv/repo"], "/srv/repo"), Ok(vec![".".into()]));
    let refused = vec!["$.task[0].writes[1] workspace_escape".to_owned()];
    assert_eq!(settled(&["src", "/etc/passwd"], "/srv/repo"), Err(refused));
    let scope = |text| vec![Scope::parse(text, None).unwrap()];
    let task = PlanTask { scratch: scope("/tmp/zz"), pins: scope("/etc/passwd"), ..PlanTask::minimal("a") };
    let findings = settle(&mut Plan { tasks: vec![task], ..Plan::default() }, "$", "/srv/repo");
    let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["$.task[0].scratch[0]", "$.task[0].pins[0]"]);
    for outside in ["/", "/srv", "/srv/repository", "/srv/repo/../other"] {
        assert!(settled(&[outside], "/srv/repo").is_err(), "{outside}");
    }
}
