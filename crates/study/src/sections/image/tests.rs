//! Images as they are written: what is taken, what is refused, and where.

use std::time::Duration;

use crate::{
    Choices, Companion, CompanionContent, Document, GuestKind, ImageArchive, ImageRoot, ImageUse,
    Readiness, SecretSource, StackUse, Study,
};

const HEAD: &str = "title = \"t\"\n[load]\nusers = 5\n[workload]\nkind = \"http\"\n\
                    operation = [{name = \"home\", path = \"/\"}]\n[guest]\nkind = \"container\"\n\
                    [[layout]]\nname = \"one\"\n";

const SMALL: &str = "[stack]\nkind = \"image\"\npackages = [\"python3\"]\nport = 8080\n\
                     services = [{name = \"web\", command = [\"python3\", \"/srv/app.py\"]}]\n";

fn parse(stack: &str) -> Result<Study, String> {
    let file = Companion {
        place: None,
        name: "app.py".to_owned(),
        content: CompanionContent::Text("print('1')\n\"x\"\n".to_owned()),
    };
    let text = format!("{HEAD}{stack}");
    let files = [file];
    let choices = Choices {
        files: &files,
        ..Choices::default()
    };
    match Document::parse_with("s.toml", &text, choices) {
        Ok(document) => Ok(document.study().clone()),
        Err(problems) => {
            let lines = problems.list().iter().map(|problem| {
                let line = text[..].lines().nth(problem.line - 1).unwrap_or_default();
                format!(
                    "{}: {} | {line} | {}",
                    problem.code, problem.message, problem.help
                )
            });
            Err(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn image(stack: &str) -> ImageUse {
    let study = parse(stack).unwrap_or_else(|problems| panic!("{problems}"));
    let again = Study::parse("again.toml", &study.to_toml());
    assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    assert_eq!(study.guest.kind(), GuestKind::Container);
    match study.stack {
        StackUse::Image(image) => *image,
        other => panic!("{other:?}"),
    }
}

fn refusal(stack: &str) -> String {
    parse(stack).expect_err("refused")
}

#[test]
fn a_small_image_has_packages_a_service_and_a_port() {
    let image = image(SMALL);
    let packages = ImageRoot::Packages(vec!["python3".to_owned()]);
    assert_eq!((image.root, image.port), (packages, 8080));
    assert_eq!((image.health.as_str(), image.health_status), ("/", 200));
    assert_eq!(image.services[0].command, ["python3", "/srv/app.py"]);
    assert_eq!(image.install, None);
}

#[test]
fn an_image_of_an_archive_says_itself_what_it_runs() {
    let small = "[stack]\nkind = \"image\"\narchive = \"/srv/app.tar\"\nport = 8080\n";
    let archive = |reference: Option<&str>| {
        ImageRoot::Archive(ImageArchive {
            path: "/srv/app.tar".to_owned(),
            reference: reference.map(str::to_owned),
        })
    };
    let one = image(small);
    assert_eq!((one.root, one.services.len()), (archive(None), 0));
    let named = image(&format!("{small}reference = \"app:1.0\"\n"));
    assert_eq!(named.root, archive(Some("app:1.0")));
    let both = refusal(&format!("{small}packages = [\"python3\"]\n"));
    assert!(both.contains("both `packages` and `archive`"), "{both}");
    let alone = refusal(&format!("{SMALL}reference = \"app:1.0\"\n").replace("\n\n", "\n"));
    assert!(alone.contains("without `archive`"), "{alone}");
}

#[test]
fn everything_that_is_said_of_an_image_is_read_back() {
    let more = r#"
health = "/up"
health_status = 204
files = [
    {from = "app.py", to = "/srv/app.py", mode = "755"},
    {text = "a\n'b' = \"\\c\"\n", to = "/etc/site.conf"},
]
environment = {MODE = "fast lane"}
secrets = {A = {file = "/run/secret"}, B = {environment = "SITE_B"}}
data = ["/var/lib/site"]
install = ["sh", "-c", "echo '1'\necho \"2\""]
install_with = ["db"]
install_limit = "90s"
reset = ["a"]
prepare = ["b"]
read_settings = ["c"]
audit = ["d"]
command_limit = "5s"
[[stack.services]]
name = "web"
command = ["python3", "/srv/app.py"]
after = ["db"]
[[stack.services]]
name = "db"
command = ["db"]
ready = "tcp:127.0.0.1:3306"
ready_within = "7s"
stop_signal = "QUIT"
grace = "9s"
"#;
    let head = "[stack]\nkind = \"image\"\npackages = [\"python3\", \"g++\"]\nport = 80\n";
    let image = image(&format!("{head}{more}"));
    assert_eq!(image.files[0].text, "print('1')\n\"x\"\n");
    assert_eq!((image.files[0].mode, image.files[1].mode), (0o755, 0o644));
    assert_eq!(image.files[1].text, "a\n'b' = \"\\c\"\n");
    assert_eq!(
        image.secrets["A"],
        SecretSource::File("/run/secret".to_owned())
    );
    assert_eq!(image.commands.audit, ["d"]);
    let install = image.install.as_ref().expect("said");
    assert_eq!(
        (&install.with[..], install.limit.as_secs()),
        (&["db".to_owned()][..], 90)
    );
    let order = image.start_order().expect("there is one");
    let names: Vec<&str> = order.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["db", "web"]);
    let ready = Readiness::Tcp(([127, 0, 0, 1], 3306).into());
    assert_eq!(order[0].ready, Some(ready));
    assert_eq!(order[0].grace, Duration::from_secs(9));
}

#[test]
fn what_is_missing_is_told_at_once() {
    let told = refusal("[stack]\nkind = \"image\"\n");
    for key in ["packages", "services", "port"] {
        assert!(
            told.contains(&format!("`stack.{key}` is missing")),
            "{told}"
        );
    }
    assert!(
        told.contains("| kind = \"image\" | add `port = 8080`"),
        "{told}"
    );
    let told = refusal(&format!(
        "{SMALL}files = [{{to = \"/a\", from = \"none.py\"}}]\n"
    ));
    assert!(
        told.contains("study::companion: cannot read the file `none.py`"),
        "{told}"
    );
    assert!(told.contains("| files = ["), "{told}");
}

#[test]
fn parts_that_do_not_go_together_are_refused() {
    for (more, told) in [
        ("files = [{to = \"/a\"}]", "a file has no text"),
        (
            "files = [{to = \"/a\", text = \"\", from = \"app.py\"}]",
            "both `from` and `text`",
        ),
        ("files = [{to = \"/tmp/a\", text = \"\"}]", "lies in `/tmp`"),
        (
            "data = [\"/v\"]\nfiles = [{to = \"/v/a\", text = \"\"}]",
            "which guests write",
        ),
        (
            "files = [{to = \"/a\", text = \"\"}, {to = \"/a\", text = \"b\"}]",
            "there are two files `/a`",
        ),
        (
            "files = [{to = \"/a\", text = \"\", mode = \"4755\"}]",
            "is no mode of a file",
        ),
        ("data = [\"/\"]", "is no directory"),
        ("data = [\"/run/x\"]", "which every guest has"),
        ("data = [\"/v/a\", \"/v\"]", "hold each other"),
        ("install_with = [\"web\"]", "stands without `install`"),
        (
            "install = [\"a\"]\ninstall_with = [\"wep\"]",
            "there is no service `wep`",
        ),
        (
            "environment = {A = \"1\"}\nsecrets = {A = {file = \"/s\"}}",
            "both in `environment`",
        ),
        ("environment = {\"A-B\" = \"1\"}", "is no variable"),
        ("environment = {ROOKERY_RUN = \"1\"}", "is no variable"),
        (
            "target = \"http://127.0.0.1:1\"",
            "belongs to systems that run already",
        ),
        (
            "pages = \"faithful\"",
            "belongs to the stacks of the DVD Store",
        ),
    ] {
        let problems = refusal(&format!("{SMALL}{more}\n"));
        assert!(problems.contains(told), "{more}: {problems}");
    }
    let told = refusal("[stack]\nport = 80\naudit = [\"a\"]\n");
    assert!(told.contains("`stack.port` belongs to images"), "{told}");
    assert!(
        told.contains("`stack.audit` belongs to systems that run already"),
        "{told}"
    );
}

#[test]
fn services_are_known_and_do_not_wait_for_each_other() {
    let with = |services: &str| {
        refusal(&format!(
            "[stack]\nkind = \"image\"\npackages = [\"python3\"]\nport = 80\nservices = [{services}]\n"
        ))
    };
    let told = with("{name = \"web\", command = [\"a\"], after = [\"mysql\"]}");
    assert!(told.contains("there is no service `mysql`"), "{told}");
    let told = with("{name = \"a\", command = [\"a\"], after = [\"a\"]}");
    assert!(told.contains("wait for each other"), "{told}");
    let told = with("{name = \"a\", command = [\"a\"]}, {name = \"a\", command = [\"b\"]}");
    assert!(told.contains("two services are named `a`"), "{told}");
    let told = with("{name = \"a\", command = [\"a\"], ready = \"8080\"}");
    assert!(told.contains("none of file:PATH"), "{told}");
}

#[test]
fn a_secret_is_never_quoted() {
    for secret in [
        "\"hunter2\"",
        "{value = \"hunter2\"}",
        "{environment = \"hunter-2\"}",
        "{}",
    ] {
        let text = format!("{SMALL}secrets = {{A = {secret}}}\n");
        let told = refusal(&text);
        let message = told.split(" | ").next().unwrap_or_default();
        assert!(!message.contains("hunter"), "{told}");
    }
}

#[test]
fn guests_of_an_image_are_containers_or_machines() {
    let study = format!("{HEAD}{SMALL}");
    let bare = study.replace("kind = \"container\"", "kind = \"bare\"");
    let told = Document::parse("s.toml", &bare).expect_err("refused");
    let problem = &told.list()[0];
    assert!(
        problem.message.contains("have a file system of their own"),
        "{told}"
    );
    assert!(problem.help.contains("kind = \"container\""), "{told}");
    let machine = study.replace("kind = \"container\"", "kind = \"vm\"");
    let low = machine.replace("port = 8080", "port = 80");
    let more = "audit = [\"a\"]\nsecrets = {A = {file = \"/s\"}}\n";
    Document::parse("s.toml", &format!("{low}{more}")).expect("machines run all of it");
}
