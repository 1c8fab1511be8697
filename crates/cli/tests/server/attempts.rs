//! Forks, comparisons and outcomes of another machine.

use windlass_testkit::World;

use crate::client::Server;
use crate::support::{call, run, status};

#[test]
// promise: fork-3
fn loop_of_another_machine_is_forked_compared_and_counted_there() {
    let (world, elsewhere) = (World::new(), World::new());
    let write = |content: &str, says: &str| {
        let step = format!("{{ write = {{ path = \"a\", content = \"{content}\\n\" }} }}");
        world.script(&format!("[[turn]]\nsteps = [{step}, {{ say = \"{says}\" }}]\n"))
    };
    run(&world, &write("one", "more to do"), &["--gate", "test -f a", "--no-baseline", "--max-iterations", "1"])
        .assert_code(3);
    let server = Server::start(&world);
    let project = world.repo().path().to_str().unwrap().to_owned();
    let link = crate::remote::link(&server);
    let ask = |args: &[&str]| call(&elsewhere, &[&["--server", &link, "-C", &project], args].concat());
    let other = write("two", "<promise>COMPLETE</promise>").command_line();
    ask(&["fork", "work", "--at", "1", "--agent-command", &other, "--detach"]).assert_code(0);
    call(&world, &["logs", "work-fork", "-f"]);
    let fork = status(&world, "work-fork");
    assert_eq!((&fork["outcome"], &fork["parent"]["name"]), (&"verified".into(), &"work".into()), "{fork}");
    ask(&["fork", "work", "--at", "7"]).assert_code(2).assert_stderr_has("iteration 7");
    let commands: [&[&str]; 2] =
        [&["compare", "work", "work-fork", "--diff", "--json"], &["report", "--outcomes", "--all", "--json"]];
    for args in commands {
        let (there, here) = (ask(args), call(&world, args));
        assert_eq!(there.assert_code(0).json(), here.assert_code(0).json(), "{args:?}");
    }
    let shown = ask(&["compare", "work", "work-fork", "--diff"]);
    shown.assert_code(0).assert_stdout_has("verified").assert_stdout_has("+two");
    ask(&["report", "--outcomes", "--all"]).assert_code(0).assert_stdout_has("1 of 2");
}
