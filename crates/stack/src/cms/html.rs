//! Pages as text.

use std::fmt::Write as _;

use rookery_workload::cms::NodeKind;

use super::store::ShownNode;

/// Who a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader<'r> {
    Anonymous,
    /// Logged in, with this name.
    Account(&'r str),
}

/// A page of this title around this content.
pub(super) fn page(title: &str, reader: Reader<'_>, content: &str) -> String {
    let (class, menu) = match reader {
        Reader::Anonymous => (
            "anonymous",
            "<a href=\"/cms/login.php\">Log in</a>".to_owned(),
        ),
        Reader::Account(name) => (
            "logged-in",
            format!(
                "{} <a href=\"/cms/create.php?kind=story\">Create a story</a> <a \
                 href=\"/cms/create.php?kind=page\">Create a page</a> <a \
                 href=\"/cms/logout.php\">Log out</a>",
                escaped(name)
            ),
        ),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{}</title>\n</head>\n<body class=\"{class}\">\n<nav><a \
         href=\"/cms/index.php\">Front page</a> {menu}</nav>\n<main>\n{content}</main>\n\
         </body>\n</html>\n",
        escaped(title)
    )
}

/// The nodes of a page of the list.
pub(super) fn list(number: u32, nodes: &[ShownNode]) -> String {
    let mut out = format!("<div id=\"list-{number}\">\n");
    for node in nodes {
        let teaser = node.body.split_inclusive("</p>").next().unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<article><h2><a href=\"/cms/node.php?id={}\">{}</a></h2>\n{}{}</article>",
            node.id,
            escaped(&node.title),
            byline(node),
            filtered(teaser)
        );
    }
    if number > 0 {
        let _ = writeln!(
            out,
            "<a href=\"/cms/index.php?page={}\">Newer</a>",
            number - 1
        );
    }
    let _ = writeln!(
        out,
        "<a href=\"/cms/index.php?page={}\">Older</a>\n</div>",
        number.saturating_add(1)
    );
    out
}

/// A whole node.
pub(super) fn node(node: &ShownNode) -> String {
    format!(
        "<article id=\"node-{}\" class=\"{}\"><h1>{}</h1>\n{}{}\n</article>\n",
        node.id,
        escaped(&node.kind),
        escaped(&node.title),
        byline(node),
        filtered(&node.body)
    )
}

fn byline(node: &ShownNode) -> String {
    format!(
        "<p>By {} at {}</p>\n",
        escaped(&node.author),
        node.created_s
    )
}

/// The form of a login; `rejected` where one was tried.
pub(super) fn login_form(rejected: bool) -> String {
    let message = if rejected {
        "<p class=\"error\">Name and password do not fit together.</p>\n"
    } else {
        ""
    };
    format!(
        "{message}<form id=\"login\" method=\"post\" action=\"/cms/login.php\">\n<label>Name <input \
         type=\"text\" name=\"name\"></label>\n<label>Password <input type=\"password\" \
         name=\"pass\"></label>\n<input type=\"submit\" value=\"Log in\">\n</form>\n"
    )
}

/// The form of a new node; `error` says why what was sent is not one.
pub(super) fn create_form(kind: NodeKind, token: &str, error: Option<&str>) -> String {
    let message = error.map_or_else(String::new, |error| {
        format!("<p class=\"error\">{}</p>\n", escaped(error))
    });
    let kind = kind.name();
    format!(
        "{message}<form id=\"create\" method=\"post\" action=\"/cms/create.php?kind={kind}\">\n<input \
         type=\"hidden\" name=\"token\" value=\"{token}\">\n<label>Title <input type=\"text\" \
         name=\"title\" maxlength=\"200\"></label>\n<label>Text <textarea \
         name=\"body\"></textarea></label>\n<input type=\"submit\" value=\"Save\">\n</form>\n"
    )
}

/// A heading and a sentence.
pub(super) fn notice(heading: &str, sentence: &str) -> String {
    format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escaped(heading),
        escaped(sentence)
    )
}

/// Text without markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Text with paragraphs as its only markup.
fn filtered(text: &str) -> String {
    escaped(text)
        .replace("&lt;p&gt;", "<p>")
        .replace("&lt;/p&gt;", "</p>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write_is_shown_and_does_nothing() {
        let shown = node(&ShownNode {
            id: 7,
            kind: "story".to_owned(),
            title: "<b>\"a\" & 'b'".to_owned(),
            body: "<p>x</p><script>y</script>".to_owned(),
            author: "user00001".to_owned(),
            created_s: 1,
        });
        assert!(shown.contains("<h1>&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;</h1>"));
        assert!(shown.contains("<p>x</p>&lt;script&gt;y&lt;/script&gt;"));
    }
}
