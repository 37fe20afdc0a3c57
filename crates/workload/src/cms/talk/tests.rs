//! Conversations with made-up sites.

use super::*;

fn page(body: &str) -> CmsAnswer<'_> {
    CmsAnswer {
        status: 200,
        location: None,
        body: body.as_bytes(),
    }
}

fn status(status: u16) -> CmsAnswer<'static> {
    CmsAnswer {
        status,
        location: None,
        body: b"",
    }
}

fn redirect(to: &str) -> CmsAnswer<'_> {
    CmsAnswer {
        status: 302,
        location: Some(CmsLocation::Here(to)),
        body: b"",
    }
}

fn begin(contract: Contract, work: CmsWork) -> (CmsTalk, CmsRequest) {
    CmsTalk::begin(contract, work)
}

fn ask(next: Result<CmsNext, CmsFault>) -> CmsRequest {
    match next {
        Ok(CmsNext::Ask(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn content(request: &CmsRequest) -> String {
    let (_, bytes) = request.content.as_ref().expect("a form");
    String::from_utf8(bytes.clone()).expect("text")
}

fn login() -> CmsWork {
    CmsWork::Login {
        name: "user00001".to_owned(),
        wrong_first: false,
    }
}

fn story() -> CmsWork {
    CmsWork::Create {
        kind: NodeKind::Story,
        title: "7-0-1".to_owned(),
        body: "<p>Two words</p>".to_owned(),
    }
}

const LOGIN_FORM: &str = "<form id=\"login\" method=\"post\"><input type=\"hidden\" \
                          name=\"token\" value=\"a&amp;b\"><input name=\"name\"></form>";
const CREATE_FORM: &str = "<form id=\"search\"><input type=hidden name=token value=wrong></form>\
                           <form id=\"create\" action=\"/cms/create.php?kind=story\"><input \
                           type=\"hidden\" name=\"token\" value=\"t1\"></form>";

#[test]
fn pages_that_are_read_are_one_request_and_show_their_mark() {
    let (mut talk, first) = begin(Contract::Smallcms, CmsWork::Listing(3));
    assert_eq!(first.target, "/cms/index.php?page=3");
    assert_eq!(
        talk.answered(&page("<div id=\"list-3\">")),
        Ok(CmsNext::Done)
    );
    assert_eq!(
        talk.answered(&page("<div id=\"list-2\">")),
        Err(CmsFault::Mark)
    );
    assert_eq!(talk.answered(&status(503)), Err(CmsFault::Status(503)));
    let node = CmsWork::Node {
        id: 17,
        title: Some("Ba be".to_owned()),
    };
    let (mut talk, first) = begin(Contract::Smallcms, node);
    assert_eq!(first.target, "/cms/node.php?id=17");
    let shown = "<article id=\"node-17\"><h1>Ba be</h1>";
    assert_eq!(talk.answered(&page(shown)), Ok(CmsNext::Done));
    assert_eq!(
        talk.answered(&page("<article id=\"node-17\"><h1>Bo</h1>")),
        Err(CmsFault::Title)
    );
    assert_eq!(
        talk.answered(&redirect("/")),
        Err(CmsFault::RedirectUnexpected)
    );
}

#[test]
fn a_login_is_three_requests() {
    let (mut talk, first) = begin(Contract::Smallcms, login());
    assert_eq!(
        (first.step, first.target.as_str()),
        (CmsStep::Form, "/cms/login.php")
    );
    let sent = ask(talk.answered(&page(LOGIN_FORM)));
    assert_eq!(
        (sent.step, sent.target.as_str()),
        (CmsStep::Submit, "/cms/login.php")
    );
    assert_eq!(content(&sent), "token=a%26b&name=user00001&pass=password");
    let landing = ask(talk.answered(&redirect("/cms/user.php?id=2")));
    assert_eq!(
        (landing.step, landing.target.as_str()),
        (CmsStep::Result, "/cms/user.php?id=2")
    );
    let shown = "<body class=\"logged-in\">";
    assert_eq!(talk.answered(&page(shown)), Ok(CmsNext::Done));
    assert_eq!(
        talk.answered(&page("<body class=\"anonymous\">")),
        Err(CmsFault::NotLoggedIn)
    );
}

#[test]
fn a_wrong_password_is_rejected_before_the_right_one_is_sent() {
    let begun = || {
        let work = CmsWork::Login {
            name: "user00001".to_owned(),
            wrong_first: true,
        };
        let (mut talk, _) = begin(Contract::Smallcms, work);
        let sent = ask(talk.answered(&page(LOGIN_FORM)));
        assert_eq!(sent.step, CmsStep::Wrong);
        assert_eq!(content(&sent), "token=a%26b&name=user00001&pass=mistyped");
        talk
    };
    let sent = ask(begun().answered(&page(LOGIN_FORM)));
    assert_eq!(sent.step, CmsStep::Submit);
    assert_eq!(content(&sent), "token=a%26b&name=user00001&pass=password");
    let taken = begun().answered(&redirect("/cms/user.php?id=2"));
    assert_eq!(taken, Err(CmsFault::WrongPassword));
    let refusal = |body| CmsAnswer {
        status: 403,
        location: None,
        body,
    };
    let blocked = refusal(b"<p>There were too many failed login attempts for this account.");
    assert_eq!(begun().answered(&blocked), Err(CmsFault::LoginBlocked));
    assert!(CmsFault::LoginBlocked.refuses());
    let denied = begun().answered(&refusal(b"Access denied"));
    assert_eq!(denied, Err(CmsFault::Status(403)));
}

#[test]
fn rejected_logins_and_forms_shown_again_are_refusals() {
    let (mut talk, _) = begin(Contract::Smallcms, login());
    ask(talk.answered(&page(LOGIN_FORM)));
    let rejected = talk.answered(&page(LOGIN_FORM)).expect_err("rejected");
    assert_eq!(rejected, CmsFault::LoginRejected);
    let (mut talk, _) = begin(Contract::Smallcms, story());
    ask(talk.answered(&page(CREATE_FORM)));
    assert!(talk.is_creating());
    let again = talk.answered(&page(CREATE_FORM)).expect_err("again");
    assert!(again == CmsFault::FormAgain && again.refuses());
    assert!(CmsFault::Status(403).refuses() && !CmsFault::Status(500).refuses());
    assert!(!CmsFault::Mark.refuses());
}

#[test]
fn a_creation_is_told_by_its_redirect_and_must_show_its_title() {
    let (mut talk, first) = begin(Contract::Smallcms, story());
    assert_eq!(first.target, "/cms/create.php?kind=story");
    assert!(!talk.is_creating());
    let sent = ask(talk.answered(&page(CREATE_FORM)));
    assert_eq!(
        content(&sent),
        "token=t1&title=7-0-1&body=%3Cp%3ETwo+words%3C%2Fp%3E"
    );
    assert!(talk.is_creating() && !talk.is_created());
    ask(talk.answered(&redirect("/cms/node.php?id=501")));
    assert!(talk.is_created() && !talk.is_creating());
    assert_eq!(talk.answered(&page("another node")), Err(CmsFault::Title));
    assert!(talk.is_created(), "the site has said so all the same");
    assert_eq!(talk.answered(&page("<h1>7-0-1</h1>")), Ok(CmsNext::Done));
}

#[test]
fn a_lost_login_is_a_403_of_the_form() {
    let (mut talk, _) = begin(Contract::Smallcms, story());
    assert_eq!(talk.answered(&status(403)), Err(CmsFault::Status(403)));
    let (mut talk, _) = begin(Contract::Smallcms, story());
    assert_eq!(talk.answered(&page("no form")), Err(CmsFault::NoForm));
}

#[test]
fn a_redirect_to_another_site_is_never_followed() {
    let (mut talk, _) = begin(Contract::Smallcms, login());
    ask(talk.answered(&page(LOGIN_FORM)));
    let elsewhere = CmsAnswer {
        status: 302,
        location: Some(CmsLocation::Elsewhere),
        body: b"",
    };
    assert_eq!(talk.answered(&elsewhere), Err(CmsFault::RedirectElsewhere));
    ask(talk.answered(&redirect("/a")));
    for _ in 0..3 {
        ask(talk.answered(&redirect("/a")));
    }
    assert_eq!(talk.answered(&redirect("/a")), Err(CmsFault::RedirectLoop));
}

#[test]
fn a_logout_is_two_requests() {
    let (mut talk, first) = begin(Contract::Smallcms, CmsWork::Logout { link: None });
    assert_eq!(
        (first.step, first.target.as_str()),
        (CmsStep::Submit, "/cms/logout.php")
    );
    ask(talk.answered(&redirect("/cms/index.php")));
    assert_eq!(
        talk.answered(&page("<body class=\"anonymous\">")),
        Ok(CmsNext::Done)
    );
    let (mut talk, _) = begin(Contract::Smallcms, CmsWork::Logout { link: None });
    assert_eq!(talk.answered(&status(403)), Err(CmsFault::Status(403)));
}

#[test]
fn references_are_resolved_within_the_site() {
    for (reference, target) in [
        ("http://other:81/a?b#c", "/a?b"),
        ("//other", "/"),
        ("/x", "/x"),
        ("y.php?z", "/cms/y.php?z"),
        ("?q", "/cms/a.php?q"),
        ("", "/cms/a.php"),
    ] {
        assert_eq!(within_site(reference, "/cms/a.php?kind=page"), target);
    }
}

const WORDPRESS_ADMIN: &str = "<li id=\"wp-admin-bar-logout\"><a \
                               href=\"http://h/wp-login.php?action=logout&#038;_wpnonce=a1\">";

#[test]
fn wordpress_says_to_each_user_where_it_logs_out() {
    let (mut talk, first) = begin(Contract::Wordpress, login());
    assert_eq!(first.target, "/wp-login.php");
    let form = "<form name=\"loginform\" id=\"loginform\" action=\"http://h/wp-login.php\" \
                method=\"post\"><input type=\"hidden\" name=\"testcookie\" value=\"1\">";
    let sent = ask(talk.answered(&page(form)));
    assert_eq!(
        content(&sent),
        "testcookie=1&wp-submit=Log+In&log=user00001&pwd=password"
    );
    ask(talk.answered(&redirect("/wp-admin/")));
    assert_eq!(talk.answered(&page(WORDPRESS_ADMIN)), Ok(CmsNext::Done));
    let link = talk.logout_link().map(str::to_owned);
    assert_eq!(
        link.as_deref(),
        Some("/wp-login.php?action=logout&_wpnonce=a1")
    );
    let (_, out) = begin(Contract::Wordpress, CmsWork::Logout { link });
    assert_eq!(out.target, "/wp-login.php?action=logout&_wpnonce=a1");
    let (_, out) = begin(Contract::Wordpress, CmsWork::Logout { link: None });
    assert_eq!(out.target, "/wp-login.php?action=logout");
}

#[test]
fn wordpress_creates_by_a_call_with_the_token_of_the_session() {
    let (mut talk, first) = begin(Contract::Wordpress, story());
    assert_eq!(first.target, "/wp-admin/admin-ajax.php?action=rest-nonce");
    let sent = ask(talk.answered(&page("0123456789")));
    assert_eq!(sent.target, "/wp-json/wp/v2/posts");
    assert_eq!(sent.header, Some(("X-WP-Nonce", "0123456789".to_owned())));
    assert_eq!(
        content(&sent),
        "{\"title\":\"7-0-1\",\"content\":\"<p>Two words</p>\",\"status\":\"publish\"}"
    );
    assert!(talk.is_creating());
    let made = CmsAnswer {
        status: 201,
        location: None,
        body: b"{\"id\":1507,\"date\":\"2009\"}",
    };
    let seen = ask(talk.answered(&made));
    assert!(talk.is_created());
    assert_eq!(seen.target, "/archives/1507");
    assert_eq!(talk.answered(&page("<h1>7-0-1</h1>")), Ok(CmsNext::Done));
    let (mut talk, _) = begin(Contract::Wordpress, story());
    assert_eq!(talk.answered(&status(400)), Err(CmsFault::Status(400)));
    let (mut talk, _) = begin(Contract::Wordpress, story());
    ask(talk.answered(&page("0123456789")));
    let denied = talk.answered(&status(401)).expect_err("denied");
    assert!(denied == CmsFault::Status(401) && denied.refuses());
}

#[test]
fn wordpress_takes_the_form_of_its_administration() {
    let (mut talk, first) = begin(Contract::WordpressForms, story());
    assert_eq!(first.target, "/wp-admin/post-new.php");
    let form = "<form class=\"metabox-base-form\"><input type=\"hidden\" name=\"_wpnonce\" \
                value=\"n1\"><input type=\"hidden\" name=\"post_ID\" value=\"1508\">";
    let sent = ask(talk.answered(&page(form)));
    assert_eq!(sent.target, "/wp-admin/post.php");
    assert!(content(&sent).starts_with("_wpnonce=n1&post_ID=1508&action=editpost&"));
    assert!(content(&sent).contains("&post_title=7-0-1&content=%3Cp%3E"));
}

#[test]
fn the_first_page_of_the_list_of_wordpress_is_its_front_page() {
    let (mut talk, first) = begin(Contract::Wordpress, CmsWork::Listing(0));
    assert_eq!(first.target, "/");
    let front = "<body class=\"home blog\">";
    assert_eq!(talk.answered(&page(front)), Ok(CmsNext::Done));
    let (mut talk, first) = begin(Contract::Wordpress, CmsWork::Listing(4));
    assert_eq!(first.target, "/page/5/");
    assert_eq!(
        talk.answered(&page("<body class=\"home blog paged paged-5 x\">")),
        Ok(CmsNext::Done)
    );
}

/// The first request of a creation, and what is sent then.
fn sent_creation(contract: Contract, form: &str) -> String {
    let (mut talk, _) = begin(contract, story());
    content(&ask(talk.answered(&page(form))))
}

#[test]
fn drupal_takes_the_boxes_that_only_its_administrator_sees() {
    let form = "<form id=\"search-block-form\"><input type=\"hidden\" name=\"form_token\" \
                value=\"no\"></form><form id=\"article-node-form\" \
                action=\"/node/add/article\"><input type=\"hidden\" name=\"form_token\" \
                value=\"t1\"><input type=\"hidden\" name=\"form_id\" \
                value=\"article_node_form\">";
    let sent = sent_creation(Contract::Drupal7, form);
    assert!(
        sent.starts_with("form_token=t1&form_id=article_node_form&body%5Bund%5D"),
        "{sent}"
    );
    assert!(
        sent.contains("&status=1&promote=1&op=Save&title=7-0-1&body%5Bund%5D%5B0%5D%5Bvalue%5D=")
    );
    let sent = sent_creation(
        Contract::Drupal10,
        "<form id=\"node-article-form\"><input type=\"hidden\" name=\"form_token\" value=\"t2\">",
    );
    assert!(sent.contains("&status%5Bvalue%5D=1&promote%5Bvalue%5D=1&op=Save&title%5B0%5D"));
}

#[test]
fn visitors_of_drupal_are_told_from_users_by_a_whole_word() {
    let (mut talk, _) = begin(Contract::Drupal7, login());
    ask(talk.answered(&page("<form id=\"user-login\">")));
    ask(talk.answered(&redirect("/user/2")));
    let visitor = page("<body class=\"html not-front not-logged-in no-sidebars\">");
    assert_eq!(talk.answered(&visitor), Err(CmsFault::NotLoggedIn));
    let user = page("<body class=\"html not-front logged-in no-sidebars\">");
    assert_eq!(talk.answered(&user), Ok(CmsNext::Done));
    assert_eq!(talk.logout_link(), None);
}

const CONFIRM: &str = "<body class=\"user-logged-in\"><form id=\"user-logout-confirm\" \
                       action=\"/user/logout/confirm\"><input type=\"hidden\" name=\"form_token\" \
                       value=\"t3\">";

#[test]
fn drupal_lets_those_confirm_that_they_log_out_who_have_no_link() {
    let (mut talk, _) = begin(Contract::Drupal10, login());
    ask(talk.answered(&page("<form id=\"user-login-form\">")));
    ask(talk.answered(&redirect("/user/2?check_logged_in=1")));
    let menu = "<body class=\"user-logged-in\"><a href=\"/user/logout?token=a1\">Log out</a>";
    assert_eq!(talk.answered(&page(menu)), Ok(CmsNext::Done));
    assert_eq!(talk.logout_link(), Some("/user/logout?token=a1"));

    let (mut talk, first) = begin(Contract::Drupal10, CmsWork::Logout { link: None });
    assert_eq!(first.target, "/user/logout");
    ask(talk.answered(&redirect("/user/logout/confirm")));
    let sent = ask(talk.answered(&page(CONFIRM)));
    assert_eq!(
        (sent.step, sent.target.as_str()),
        (CmsStep::Submit, "/user/logout/confirm")
    );
    assert_eq!(content(&sent), "form_token=t3&op=Log+out");
    ask(talk.answered(&redirect("/")));
    let front = "<body class=\"path-frontpage\"><a href=\"/user/login\">Log in</a>";
    assert_eq!(talk.answered(&page(front)), Ok(CmsNext::Done));
}

#[test]
fn a_question_that_is_asked_for_ever_is_a_loop() {
    let (mut talk, _) = begin(Contract::Drupal10, CmsWork::Logout { link: None });
    let mut asked = 0;
    let end = loop {
        ask(talk.answered(&redirect("/user/logout/confirm")));
        match talk.answered(&page(CONFIRM)) {
            Ok(_) => asked += 1,
            Err(fault) => break fault,
        }
    };
    assert_eq!((end, asked), (CmsFault::RedirectLoop, 3));
    let (mut talk, _) = begin(Contract::Drupal10, CmsWork::Logout { link: None });
    ask(talk.answered(&redirect("/")));
    let other = page("<body class=\"user-logged-in\">");
    assert_eq!(talk.answered(&other), Err(CmsFault::Mark));
}
