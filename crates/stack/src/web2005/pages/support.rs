//! The pages of support, which know no sessions.

use rookery_workload::web2005::besim::{
    Reply, Row,
    support::{CATEGORIES, FILE_CATEGORIES, LANGUAGES, PRODUCTS, SYSTEMS},
};

use super::{
    arguments::{Arguments, BadInput},
    html::{Html, Values},
    site::{Fault, Made, Site},
};
use crate::http_server::{FullAnswer, Request};

/// Most words of a search, and most letters of a word.
const MOST_WORDS: usize = 3;
const MOST_LETTERS: usize = 20;

impl Site {
    /// A page of support.
    pub(super) async fn support(
        &self,
        page: &'static str,
        request: &Request<'_>,
    ) -> Result<FullAnswer, Fault> {
        let query = Self::query(request)?;
        let (html, values) = match page {
            "home" => self.home().await?,
            "search" => self.search(&query).await?,
            "catalog" => self.catalog(&query).await?,
            "product" => self.product(&query).await?,
            "fileCatalog" => self.file_catalog(&query).await?,
            "file" => self.one_file(&query).await?,
            _ => return Err(Fault::NoFile),
        };
        self.finish(Made {
            page,
            html,
            id: None,
            values,
            cookie: None,
        })
    }

    async fn home(&self) -> Result<(Html, Values), Fault> {
        let reply = self.need(1, &[]).await?;
        let mut html = Html::new("Support: home");
        html.raw("<h1>Categories</h1>\n").table(reply.rows.iter());
        html.raw("<form action=\"/support/search.php\"><input name=\"q\"></form>\n");
        let mut values = Values::default();
        values.push_rows(&reply.rows);
        Ok((html, values))
    }

    async fn search(&self, query: &Arguments<'_>) -> Result<(Html, Values), Fault> {
        let words = words(query)?;
        let reply = self.need(2, &words).await?;
        let mut html = Html::new(&format!("Support: search {}", words.join(" ")));
        html.raw("<h1>Results</h1>\n").table(reply.rows.iter());
        let mut values = Values::default();
        values.push(words.into_iter());
        values.push(firsts(&reply));
        Ok((html, values))
    }

    async fn catalog(&self, query: &Arguments<'_>) -> Result<(Html, Values), Fault> {
        let category = query.number("id", 1..=CATEGORIES)?.to_string();
        let reply = self.need(3, &[&category]).await?;
        let mut html = Html::new("Support: catalog");
        html.raw("<h1>Products</h1>\n").table(reply.rows.iter());
        let mut values = Values::of(&[&category]);
        values.push(firsts(&reply));
        Ok((html, values))
    }

    async fn product(&self, query: &Arguments<'_>) -> Result<(Html, Values), Fault> {
        let product = query.number("id", 1..=PRODUCTS)?;
        let text = product.to_string();
        let reply = self.need(4, &[&text]).await?;
        let mut html = Html::new("Support: product");
        let mut lists = reply.rows.iter();
        let named = lists.next().and_then(Row::exactly);
        let [product_name] = named.ok_or(Fault::NoBackend)?;
        html.raw("<h1>").escaped(product_name);
        html.raw("</h1>\n<form action=\"/support/fileCatalog.php\">\n");
        let mut counts = Vec::new();
        for (name, row) in ["lang", "os", "category"].into_iter().zip(lists) {
            html.raw("<select name=\"").raw(name).raw("\">\n");
            let mut count = 0;
            for field in row.fields() {
                html.raw("<option>").escaped(field).raw("</option>\n");
                count += 1;
            }
            html.raw("</select>\n");
            counts.push(count.to_string());
        }
        html.raw("</form>\n");
        let mut values = Values::of(&[&text, product_name]);
        values.push(counts.iter().map(String::as_str));
        Ok((html, values))
    }

    async fn file_catalog(&self, query: &Arguments<'_>) -> Result<(Html, Values), Fault> {
        let numbers = [
            query.number("id", 1..=PRODUCTS)?,
            query.number("category", 1..=FILE_CATEGORIES)?,
            query.number("os", 1..=SYSTEMS)?,
            query.number("lang", 1..=LANGUAGES)?,
        ]
        .map(|number| number.to_string());
        let texts = numbers.each_ref().map(String::as_str);
        let reply = self.need(5, &texts).await?;
        let mut html = Html::new("Support: fileCatalog");
        html.raw("<h1>Files</h1>\n");
        let mut values = Values::of(&texts);
        for row in reply.rows.iter() {
            let [id, name, size, line] = row.exactly().ok_or(Fault::NoBackend)?;
            html.raw("<p><a href=\"/support/file.php?id=")
                .escaped(id)
                .raw("\">");
            html.escaped(name)
                .raw("</a> ")
                .escaped(size)
                .raw(" ")
                .escaped(line);
            html.raw("</p>\n");
            values.push([id, size].into_iter());
        }
        Ok((html, values))
    }

    async fn one_file(&self, query: &Arguments<'_>) -> Result<(Html, Values), Fault> {
        let id = query.number("id", 0..=999_999_999)?.to_string();
        let reply = self.need(6, &[&id]).await?;
        let row = reply.rows.iter().next().and_then(Row::exactly);
        let [path, size, name, text] = row.ok_or(Fault::NoBackend)?;
        let mut html = Html::new("Support: file");
        html.raw("<h1>")
            .escaped(name)
            .raw("</h1>\n<p>")
            .escaped(text);
        html.raw("</p>\n<a href=\"")
            .escaped(path)
            .raw("\">download</a>\n");
        Ok((html, Values::of(&[&id, size, path])))
    }
}

/// The first field of every row.
fn firsts(reply: &Reply) -> impl Iterator<Item = &str> {
    reply.rows.iter().filter_map(|row| row.fields().next())
}

/// One to three words of small letters.
fn words<'a>(query: &'a Arguments<'_>) -> Result<Vec<&'a str>, BadInput> {
    let words: Vec<&str> = query.get("q").ok_or(BadInput)?.split(' ').collect();
    let word = |text: &&str| {
        (1..=MOST_LETTERS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let right = words.len() <= MOST_WORDS && words.iter().all(word);
    right.then_some(words).ok_or(BadInput)
}
