//! The pages of a kind of site: where they are, which forms they have, and what shows that an
//! answer is the right one.

use super::NodeKind;

/// A page that is read.
#[derive(Debug, PartialEq)]
pub(super) struct PageRule {
    /// Path and query; `{n}` stands for its number, `{n+1}` and `{n-1}` for the next and for the
    /// one before.
    pub(super) path: &'static str,
    /// What stands in it; numbers as above.
    pub(super) mark: &'static str,
}

impl PageRule {
    pub(super) fn target(&self, number: u64) -> String {
        filled(self.path, number)
    }

    pub(super) fn mark(&self, number: u64) -> String {
        filled(self.mark, number)
    }
}

fn filled(pattern: &str, number: u64) -> String {
    pattern
        .replace("{n}", &number.to_string())
        .replace("{n+1}", &number.saturating_add(1).to_string())
        .replace("{n-1}", &number.saturating_sub(1).to_string())
}

/// A form that is asked for, filled in and sent.
#[derive(Debug, PartialEq)]
pub(super) struct FormRule {
    /// Path of the page in which it stands.
    pub(super) path: &'static str,
    /// Its id, its name or one of its classes.
    pub(super) id: &'static str,
    /// Where it is sent, whatever the page says; none = where the page says.
    pub(super) action: Option<&'static str>,
    /// Fields with fixed values, beside the hidden ones.
    pub(super) fields: &'static [(&'static str, &'static str)],
}

/// How a user logs in.
#[derive(Debug, PartialEq)]
pub(super) struct LoginRule {
    pub(super) form: FormRule,
    /// Fields of the name and of the password.
    pub(super) name: &'static str,
    pub(super) password: &'static str,
    /// What stands in the refusal of a site that has seen too many logins fail; none where no site
    /// counts them.
    pub(super) blocked: Option<&'static str>,
}

/// How a node is created.
#[derive(Debug, PartialEq)]
pub(super) enum CreateRule {
    /// By a form.
    Form(CreateForm),
    /// By a call of a service that takes JSON.
    Service(CreateService),
}

/// The calls of a service by which a node is created.
#[derive(Debug, PartialEq)]
pub(super) struct CreateService {
    /// Where the session's token is asked for; the answer is the token.
    pub(super) token: &'static str,
    /// The header that carries it.
    pub(super) header: &'static str,
    /// Where stories and pages are sent.
    pub(super) story: &'static str,
    pub(super) page: &'static str,
    /// Where they are seen then; `{n}` stands for the id.
    pub(super) story_seen: &'static str,
    pub(super) page_seen: &'static str,
}

impl CreateService {
    /// Where a node of this id is seen.
    pub(super) fn seen(&self, kind: NodeKind, id: u64) -> String {
        match kind {
            NodeKind::Story => filled(self.story_seen, id),
            NodeKind::Page => filled(self.page_seen, id),
        }
    }
}

/// The forms by which a node is created.
#[derive(Debug, PartialEq)]
pub(super) struct CreateForm {
    pub(super) story: FormRule,
    pub(super) page: FormRule,
    /// Fields of title and text.
    pub(super) title: &'static str,
    pub(super) body: &'static str,
}

/// How a user logs out.
#[derive(Debug, PartialEq)]
pub(super) struct LogoutRule {
    /// Where, unless the site says so to each user.
    pub(super) path: &'static str,
    /// What the link has in it by which a user logs out, in the page that shows that it is logged
    /// in; none = where it always is.
    pub(super) link: Option<&'static str>,
    /// The form by which a site lets those confirm who come without the link; none where no site
    /// asks.
    pub(super) confirm: Option<FormRule>,
}

/// The pages of a kind of site.
#[derive(Debug, PartialEq)]
pub struct PageContract {
    /// Its name in study files.
    pub name: &'static str,
    /// Which sites keep it.
    pub what: &'static str,
    pub(super) front: PageRule,
    pub(super) listing: PageRule,
    /// The first page of the list has no address but that of the front page.
    pub(super) first_is_front: bool,
    pub(super) node: PageRule,
    /// Whether nodes have the titles of our own data.
    pub(super) titles: bool,
    pub(super) login: LoginRule,
    pub(super) create: CreateRule,
    pub(super) logout: LogoutRule,
    /// What stands in pages for who is logged in.
    pub(super) logged_in: &'static str,
    /// What stands in the page that a user sees who has logged out.
    pub(super) logged_out: &'static str,
}

/// Which contract a site keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contract {
    /// That of the sites that come with Rookery.
    #[default]
    Smallcms,
    /// WordPress, whose users create by its REST interface.
    Wordpress,
    /// WordPress, whose users create by the forms of its administration.
    WordpressForms,
    /// Drupal 7.
    Drupal7,
    /// Drupal 10 and 11.
    Drupal10,
}

impl Contract {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Smallcms,
        Self::Wordpress,
        Self::WordpressForms,
        Self::Drupal7,
        Self::Drupal10,
    ];

    /// Its pages.
    #[must_use]
    pub fn pages(self) -> &'static PageContract {
        match self {
            Self::Smallcms => &SMALLCMS,
            Self::Wordpress => &WORDPRESS,
            Self::WordpressForms => &WORDPRESS_FORMS,
            Self::Drupal7 => &DRUPAL7,
            Self::Drupal10 => &DRUPAL10,
        }
    }

    /// Its name in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.pages().name
    }

    /// The contract of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

static SMALLCMS: PageContract = PageContract {
    name: "smallcms",
    what: "the sites that come with Rookery",
    front: PageRule {
        path: "/cms/index.php",
        mark: "id=\"list-0\"",
    },
    listing: PageRule {
        path: "/cms/index.php?page={n}",
        mark: "id=\"list-{n}\"",
    },
    first_is_front: false,
    node: PageRule {
        path: "/cms/node.php?id={n}",
        mark: "id=\"node-{n}\"",
    },
    titles: true,
    login: LoginRule {
        form: FormRule {
            path: "/cms/login.php",
            id: "login",
            action: None,
            fields: &[],
        },
        name: "name",
        password: "pass",
        blocked: Some("too many failed login attempts"),
    },
    create: CreateRule::Form(CreateForm {
        story: FormRule {
            path: "/cms/create.php?kind=story",
            id: "create",
            action: None,
            fields: &[],
        },
        page: FormRule {
            path: "/cms/create.php?kind=page",
            id: "create",
            action: None,
            fields: &[],
        },
        title: "title",
        body: "body",
    }),
    logout: LogoutRule {
        path: "/cms/logout.php",
        link: None,
        confirm: None,
    },
    logged_in: "class=\"logged-in\"",
    logged_out: "class=\"anonymous\"",
};

const WORDPRESS_FRONT: PageRule = PageRule {
    path: "/",
    mark: "class=\"home ",
};
const WORDPRESS_LISTING: PageRule = PageRule {
    path: "/page/{n+1}/",
    mark: " paged-{n+1} ",
};
const WORDPRESS_NODE: PageRule = PageRule {
    path: "/archives/{n}",
    mark: " postid-{n} ",
};
const WORDPRESS_LOGIN: LoginRule = LoginRule {
    form: FormRule {
        path: "/wp-login.php",
        id: "loginform",
        action: None,
        fields: &[("wp-submit", "Log In")],
    },
    name: "log",
    password: "pwd",
    blocked: None,
};
const WORDPRESS_LOGOUT: LogoutRule = LogoutRule {
    path: "/wp-login.php?action=logout",
    link: Some("action=logout"),
    confirm: None,
};
const WORDPRESS_LOGGED_IN: &str = "wp-admin-bar-logout";
const WORDPRESS_LOGGED_OUT: &str = "loginform";

static WORDPRESS: PageContract = PageContract {
    name: "wordpress",
    what: "WordPress; users create by its REST interface",
    front: WORDPRESS_FRONT,
    listing: WORDPRESS_LISTING,
    first_is_front: true,
    node: WORDPRESS_NODE,
    titles: false,
    login: WORDPRESS_LOGIN,
    create: CreateRule::Service(CreateService {
        token: "/wp-admin/admin-ajax.php?action=rest-nonce",
        header: "X-WP-Nonce",
        story: "/wp-json/wp/v2/posts",
        page: "/wp-json/wp/v2/pages",
        story_seen: "/archives/{n}",
        page_seen: "/?page_id={n}",
    }),
    logout: WORDPRESS_LOGOUT,
    logged_in: WORDPRESS_LOGGED_IN,
    logged_out: WORDPRESS_LOGGED_OUT,
};

static WORDPRESS_FORMS: PageContract = PageContract {
    name: "wordpress-forms",
    what: "WordPress; users create by the forms of its administration",
    front: WORDPRESS_FRONT,
    listing: WORDPRESS_LISTING,
    first_is_front: true,
    node: WORDPRESS_NODE,
    titles: false,
    login: WORDPRESS_LOGIN,
    create: CreateRule::Form(CreateForm {
        story: wordpress_form("/wp-admin/post-new.php"),
        page: wordpress_form("/wp-admin/post-new.php?post_type=page"),
        title: "post_title",
        body: "content",
    }),
    logout: WORDPRESS_LOGOUT,
    logged_in: WORDPRESS_LOGGED_IN,
    logged_out: WORDPRESS_LOGGED_OUT,
};

/// The form of a new node in the administration of WordPress: what its editor sends to be kept.
const fn wordpress_form(path: &'static str) -> FormRule {
    FormRule {
        path,
        id: "metabox-base-form",
        action: Some("/wp-admin/post.php"),
        fields: &[
            ("action", "editpost"),
            ("post_status", "publish"),
            ("publish", "Publish"),
            ("original_post_status", "auto-draft"),
        ],
    }
}

static DRUPAL7: PageContract = PageContract {
    name: "drupal7",
    what: "Drupal 7",
    front: PageRule {
        path: "/",
        mark: "class=\"html front ",
    },
    // The number of the page at hand is the one of the pager that is no link.
    listing: PageRule {
        path: "/node?page={n}",
        mark: ">{n+1}</li>",
    },
    first_is_front: true,
    node: PageRule {
        path: "/node/{n}",
        mark: " page-node-{n} ",
    },
    titles: true,
    login: LoginRule {
        form: FormRule {
            path: "/user/login",
            id: "user-login",
            action: None,
            fields: &[("op", "Log in")],
        },
        name: "name",
        password: "pass",
        blocked: Some("temporarily blocked"),
    },
    create: CreateRule::Form(CreateForm {
        story: FormRule {
            path: "/node/add/article",
            id: "article-node-form",
            action: None,
            // The administrator's form has boxes, ticked as the kind says; one that is not sent is
            // not ticked.
            fields: &[
                ("body[und][0][format]", "filtered_html"),
                ("status", "1"),
                ("promote", "1"),
                ("op", "Save"),
            ],
        },
        page: FormRule {
            path: "/node/add/page",
            id: "page-node-form",
            action: None,
            fields: &[
                ("body[und][0][format]", "filtered_html"),
                ("status", "1"),
                ("op", "Save"),
            ],
        },
        title: "title",
        body: "body[und][0][value]",
    }),
    logout: LogoutRule {
        path: "/user/logout",
        link: None,
        confirm: None,
    },
    // With its spaces it is no part of the other.
    logged_in: " logged-in ",
    logged_out: " not-logged-in ",
};

static DRUPAL10: PageContract = PageContract {
    name: "drupal10",
    what: "Drupal 10 and 11",
    front: PageRule {
        path: "/",
        mark: "path-frontpage",
    },
    // The number of the page at hand stands among spaces; what leads back from it says it plainly.
    listing: PageRule {
        path: "/node?page={n}",
        mark: "href=\"?page={n-1}\" class=\"pager__link\" title=\"Go to previous page\"",
    },
    first_is_front: true,
    node: PageRule {
        path: "/node/{n}",
        mark: "/node/{n}\"",
    },
    titles: true,
    login: LoginRule {
        form: FormRule {
            path: "/user/login",
            id: "user-login-form",
            action: None,
            fields: &[("op", "Log in")],
        },
        name: "name",
        password: "pass",
        blocked: Some("temporarily blocked"),
    },
    create: CreateRule::Form(CreateForm {
        story: FormRule {
            path: "/node/add/article",
            id: "node-article-form",
            action: None,
            fields: &[
                ("body[0][format]", "basic_html"),
                ("status[value]", "1"),
                ("promote[value]", "1"),
                ("op", "Save"),
            ],
        },
        page: FormRule {
            path: "/node/add/page",
            id: "node-page-form",
            action: None,
            fields: &[
                ("body[0][format]", "basic_html"),
                ("status[value]", "1"),
                ("op", "Save"),
            ],
        },
        title: "title[0][value]",
        body: "body[0][value]",
    }),
    // From 10.3 on the link has a token of the session; without it there is a form in between.
    logout: LogoutRule {
        path: "/user/logout",
        link: Some("/user/logout"),
        confirm: Some(FormRule {
            path: "/user/logout/confirm",
            id: "user-logout-confirm",
            action: None,
            fields: &[("op", "Log out")],
        }),
    },
    logged_in: "user-logged-in",
    logged_out: "href=\"/user/login\"",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_numbers_stand_in_paths() {
        for contract in Contract::ALL {
            assert_eq!(Contract::of_name(contract.name()), Some(contract));
            assert_eq!(
                serde_json::to_value(contract).expect("a name"),
                contract.name()
            );
            assert!(contract.pages().node.target(17).contains("17"));
        }
        assert_eq!(SMALLCMS.listing.mark(3), "id=\"list-3\"");
        assert_eq!(DRUPAL7.listing.mark(3), ">4</li>");
        assert!(DRUPAL10.listing.mark(3).contains("?page=2\""));
        assert_eq!(Contract::of_name("joomla"), None);
    }
}
