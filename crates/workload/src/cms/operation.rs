//! The eight operations.

use serde::{Deserialize, Serialize};

/// What a user does, one or several requests each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CmsOperation {
    /// The front page.
    FrontPage,
    /// A page of the list of what was promoted to the front page.
    RandomPage,
    /// One node.
    RandomNode,
    /// One of the users logs in.
    UserLogin,
    /// The administrator logs in.
    AdminLogin,
    /// Who is logged in creates a page.
    CreatePage,
    /// Who is logged in creates a story.
    CreateStory,
    /// Who is logged in logs out.
    Logout,
}

/// Operations, and rows and columns of the matrix.
pub const OPERATION_COUNT: usize = CmsOperation::ALL.len();

impl CmsOperation {
    /// Every operation, in the order of rows and columns of the matrix.
    pub const ALL: [Self; 8] = [
        Self::FrontPage,
        Self::RandomPage,
        Self::RandomNode,
        Self::UserLogin,
        Self::AdminLogin,
        Self::CreatePage,
        Self::CreateStory,
        Self::Logout,
    ];

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The operation of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Its name in study files, tables and stored runs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FrontPage => "front-page",
            Self::RandomPage => "random-page",
            Self::RandomNode => "random-node",
            Self::UserLogin => "user-login",
            Self::AdminLogin => "admin-login",
            Self::CreatePage => "create-page",
            Self::CreateStory => "create-story",
            Self::Logout => "logout",
        }
    }

    /// Whether only a user who is logged in can do it; a login needs the opposite, and what is read
    /// needs nothing.
    #[must_use]
    pub const fn needs_login(self) -> Option<bool> {
        match self {
            Self::FrontPage | Self::RandomPage | Self::RandomNode => None,
            Self::UserLogin | Self::AdminLogin => Some(false),
            Self::CreatePage | Self::CreateStory | Self::Logout => Some(true),
        }
    }

    /// What a creation makes.
    #[must_use]
    pub const fn creates(self) -> Option<NodeKind> {
        match self {
            Self::CreatePage => Some(NodeKind::Page),
            Self::CreateStory => Some(NodeKind::Story),
            _ => None,
        }
    }
}

/// The two kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Promoted to the front page when it is created.
    Story,
    /// Never promoted by its kind alone.
    Page,
}

impl NodeKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Story, Self::Page];

    /// Its name in addresses and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Story => "story",
            Self::Page => "page",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_where_their_index_says_and_names_lead_back() {
        for (place, operation) in CmsOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation.index(), place);
            assert_eq!(CmsOperation::of_name(operation.name()), Some(operation));
            assert_eq!(
                serde_json::to_value(operation).expect("a name"),
                operation.name()
            );
        }
        assert_eq!(CmsOperation::of_name("login"), None);
        for kind in NodeKind::ALL {
            assert_eq!(NodeKind::of_name(kind.name()), Some(kind));
        }
    }
}
