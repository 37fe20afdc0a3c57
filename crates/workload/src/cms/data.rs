//! What a site holds before the load, as numbers: the same numbers give the same users and nodes,
//! to the byte.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{NodeKind, words};
use crate::random::{RandomSource as _, SplitMix64, mix};

/// The administrator.
pub const ADMIN: &str = "admin";
/// The password of every account.
pub const PASSWORD: &str = "password";
/// A password that no account has.
pub(super) const WRONG_PASSWORD: &str = "mistyped";
/// Nodes of one page of the list.
pub const NODES_PER_PAGE: u32 = 10;

/// Nodes are at most this old when the data are made, s.
const TIME_RANGE_S: u64 = 7 * 86_400;
/// When the data are made, seconds since 1970: the eighth of March 2009.
const NOW_S: u64 = 1_236_470_400;
/// Words of a title.
const TITLE_WORDS: u64 = 6;
/// Paragraphs of a body.
const PARAGRAPHS: (u64, u64) = (1, 12);
/// Words of a paragraph.
const PARAGRAPH_WORDS: (u64, u64) = (10, 60);
/// Mean bytes of a node with its title, its body and what a table needs beside them.
const NODE_BYTES: u64 = 1_900;
/// Mean bytes of a user.
const USER_BYTES: u64 = 160;
/// Millionths of a whole.
const PPM: u64 = 1_000_000;

/// Keeps the streams of nodes and their texts apart.
const HEADS: u64 = 0x726f_6f6b_6572_7910;
const TEXTS: u64 = 0x726f_6f6b_6572_7911;
const CREATIONS: u64 = 0x726f_6f6b_6572_7912;

/// The data of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CmsData {
    /// Nodes.
    pub nodes: u32,
    /// Users beside the administrator.
    pub users: u32,
    /// Nodes are by the first so many users.
    pub authors: u32,
    /// The id of the first node.
    pub first_node: u32,
    /// Share of nodes that are stories, millionths.
    pub story_ppm: u32,
    /// Share of nodes that are promoted to the front page, millionths.
    pub promoted_ppm: u32,
    /// Of everything.
    pub seed: u64,
}

/// One node, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: u32,
    /// Its kind.
    pub kind: NodeKind,
    /// The number of its author, from 1.
    pub author: u32,
    /// Whether it is on the front page, or on one of the pages behind it.
    pub promoted: bool,
    /// When it was created, seconds since 1970.
    pub created_s: u64,
}

/// The text of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeText {
    /// Its title: letters and spaces.
    pub title: String,
    /// Its body: paragraphs of HTML.
    pub body: String,
}

impl CmsData {
    /// The node at a place, from 0.
    #[must_use]
    pub fn node(&self, place: u32) -> Node {
        let mut source = self.stream(HEADS, place);
        let mut is = |ppm: u32| source.below(PPM) < u64::from(ppm);
        let kind = if is(self.story_ppm) {
            NodeKind::Story
        } else {
            NodeKind::Page
        };
        let promoted = is(self.promoted_ppm);
        let author = 1 + source.below(self.authors.clamp(1, self.users.max(1)).into());
        Node {
            id: self.first_node.saturating_add(place),
            kind,
            author: rookery_cast::low_u32(author),
            promoted,
            created_s: NOW_S - source.below(TIME_RANGE_S),
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self, place: u32) -> NodeText {
        let mut source = self.stream(TEXTS, place);
        let title_words = 1 + source.below(TITLE_WORDS);
        NodeText {
            title: words::words(title_words, &mut source),
            body: words::paragraphs(PARAGRAPHS, PARAGRAPH_WORDS, &mut source),
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(&self, place: u32) -> String {
        let mut source = self.stream(TEXTS, place);
        let title_words = 1 + source.below(TITLE_WORDS);
        words::words(title_words, &mut source)
    }

    /// Every node.
    pub fn each_node(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.nodes).map(|place| self.node(place))
    }

    /// Nodes on the front page and on the pages behind it.
    #[must_use]
    pub fn promoted(&self) -> u32 {
        rookery_cast::count_u32(self.each_node().filter(|node| node.promoted).count())
    }

    /// Pages of the list of promoted nodes; the front page is the first.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.promoted().div_ceil(NODES_PER_PAGE).max(1)
    }

    /// The name of user `number`, from 1.
    #[must_use]
    pub fn user_name(number: u32) -> String {
        format!("user{number:05}")
    }

    /// Bytes of everything, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.nodes) * NODE_BYTES + u64::from(self.users) * USER_BYTES
    }

    /// Rows of everything: nodes, users and the administrator.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::from(self.nodes) + u64::from(self.users) + 1
    }

    fn stream(&self, purpose: u64, place: u32) -> SplitMix64 {
        SplitMix64::new(mix(mix(self.seed ^ purpose).wrapping_add(u64::from(place))))
    }
}

/// The body of a node that a user creates: as long as that of a loaded one. `draw` is any number.
#[must_use]
pub(super) fn created_body(draw: u64) -> String {
    let mut source = SplitMix64::new(mix(draw ^ CREATIONS));
    words::paragraphs(PARAGRAPHS, PARAGRAPH_WORDS, &mut source)
}

impl fmt::Display for CmsData {
    /// `500 nodes, 100 users`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u32| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} node{}, {} user{}",
            self.nodes,
            plural(self.nodes),
            self.users,
            plural(self.users)
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::cms) const DATA: CmsData = CmsData {
        nodes: 5_000,
        users: 1_000,
        authors: 50,
        first_node: 1,
        story_ppm: 500_000,
        promoted_ppm: 500_000,
        seed: 7,
    };

    #[test]
    fn coins_are_fair_and_authors_are_the_first_fifty() {
        let (mut stories, mut promoted, mut highest) = (0, 0, 0);
        for node in DATA.each_node() {
            stories += u32::from(node.kind == NodeKind::Story);
            promoted += u32::from(node.promoted);
            highest = highest.max(node.author);
            assert!(node.author >= 1 && node.created_s <= NOW_S);
        }
        // Four standard errors of 5000 throws.
        for heads in [stories, promoted] {
            assert!((2_359..=2_641).contains(&heads), "{heads}");
        }
        assert_eq!(highest, 50);
        assert_eq!(
            (DATA.promoted(), DATA.pages()),
            (promoted, promoted.div_ceil(10))
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_for_ever() {
        let text = DATA.text(17);
        assert_eq!(text.title, DATA.title(17));
        assert_ne!(text, DATA.text(18));
        assert_ne!(text, CmsData { seed: 8, ..DATA }.text(17));
        // A change of this line changes every data set that was ever made.
        insta::assert_snapshot!(format!(
            "{:?}\n{}\n{}",
            DATA.node(17),
            text.title,
            &text.body[..60]
        ), @r"
        Node { id: 18, kind: Page, author: 27, promoted: true, created_s: 1236034200 }
        Dakesikon rodetel keberodon bomo kegul
        <p>Fare difan givenel mugabubir kasudin soser bun neto. Sigu
        ");
    }

    #[test]
    fn bytes_are_those_of_the_text() {
        let bytes: usize = (0..DATA.nodes)
            .map(|place| {
                let text = DATA.text(place);
                text.title.len() + text.body.len()
            })
            .sum();
        let mean = bytes as f64 / f64::from(DATA.nodes);
        // What a table needs beside the text is the rest.
        assert!((1_500.0..1_900.0).contains(&mean), "{mean}");
        assert_eq!(DATA.to_string(), "5000 nodes, 1000 users");
    }

    #[test]
    fn a_site_of_one_user_and_no_page_of_stories_is_one() {
        let small = CmsData {
            nodes: 3,
            users: 1,
            promoted_ppm: 0,
            ..DATA
        };
        assert_eq!(small.pages(), 1);
        assert!(small.each_node().all(|node| node.author == 1));
    }
}
