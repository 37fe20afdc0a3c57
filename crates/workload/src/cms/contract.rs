//! The pages of a kind of site: where they are, which forms they have, and what shows that an
//! answer is the right one.

/// A page that is read.
#[derive(Debug, PartialEq)]
pub(super) struct PageRule {
    /// Path and query; `{n}` stands for its number.
    pub(super) path: &'static str,
    /// What stands in it; `{n}` as above.
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
    pattern.replace("{n}", &number.to_string())
}

/// A form that is asked for, filled in and sent.
#[derive(Debug, PartialEq)]
pub(super) struct FormRule {
    /// Path of the page in which it stands.
    pub(super) path: &'static str,
    /// Its id, its name or one of its classes.
    pub(super) id: &'static str,
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
    /// What stands in the refusal of a site that has seen too many logins fail.
    pub(super) blocked: &'static str,
}

/// How a node is created: by a form.
#[derive(Debug, PartialEq)]
pub(super) struct CreateRule {
    pub(super) story: FormRule,
    pub(super) page: FormRule,
    /// Fields of title and text.
    pub(super) title: &'static str,
    pub(super) body: &'static str,
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
    pub(super) node: PageRule,
    pub(super) login: LoginRule,
    pub(super) create: CreateRule,
    /// Where a user logs out.
    pub(super) logout: &'static str,
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
}

impl Contract {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Smallcms];

    /// Its pages.
    #[must_use]
    pub fn pages(self) -> &'static PageContract {
        match self {
            Self::Smallcms => &SMALLCMS,
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
    node: PageRule {
        path: "/cms/node.php?id={n}",
        mark: "id=\"node-{n}\"",
    },
    login: LoginRule {
        form: FormRule {
            path: "/cms/login.php",
            id: "login",
            fields: &[],
        },
        name: "name",
        password: "pass",
        blocked: "too many failed login attempts",
    },
    create: CreateRule {
        story: FormRule {
            path: "/cms/create.php?kind=story",
            id: "create",
            fields: &[],
        },
        page: FormRule {
            path: "/cms/create.php?kind=page",
            id: "create",
            fields: &[],
        },
        title: "title",
        body: "body",
    },
    logout: "/cms/logout.php",
    logged_in: "class=\"logged-in\"",
    logged_out: "class=\"anonymous\"",
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
        assert_eq!(Contract::of_name("joomla"), None);
    }
}
