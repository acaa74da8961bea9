use std::io::Read;

use super::*;

#[test]
fn a_worker_that_cannot_do_its_work_answers_with_the_reason_and_ends_when_told() {
    let (side, to_worker, from_worker) = Link::descriptors().expect("pipes");
    let mut requests = File::from(to_worker);
    for request in [Request::Run(Round::default()), Request::Finish, Request::Run(Round::default())] {
        let line = serde_json::to_string(&request).expect("plain data");
        io::Write::write_all(&mut requests, format!("{line}\n").as_bytes()).expect("room in the pipe");
    }
    drop(requests);
    refuse(side, "no such call").expect("the line is whole");
    let mut replies = String::new();
    File::from(from_worker).read_to_string(&mut replies).expect("text");
    let replies: Vec<Reply> = replies.lines().map(|line| serde_json::from_str(line).expect("a reply")).collect();
    assert_eq!(replies, [Reply::Skipped { reason: "no such call".to_owned() }]);
}
