//! From the search to the last stage of customization.

use rookery_workload::web2005::besim::{
    Reply, Row,
    ecommerce::{CUSTOMER_TYPES, Choice, SEARCH_WORDS, SEGMENTS, STAGES},
};

use super::Call;
use crate::web2005::pages::{
    html::Values,
    site::{Fault, Made},
    visit::Customer,
};

/// The highest number of a line or model that is looked for.
const MOST_NUMBER: u32 = 999_999_999;

impl Call<'_> {
    pub(super) async fn search(&self, customer: &Customer) -> Result<Made, Fault> {
        let segment = self.query.number("seg", 1..=SEGMENTS)?.to_string();
        let word = self.query.number("kw", 1..=SEARCH_WORDS)?.to_string();
        let region = customer.region.to_string();
        let reply = self.site.need(2, &[&segment, &word, &region]).await?;
        let mut html = self.html();
        html.raw("<h1>Results</h1>\n").table(reply.rows.iter());
        let mut values = Values::default();
        for row in rows::<4>(&reply)? {
            let [model, line, _name, price] = row;
            values.push([model, line, price].into_iter());
        }
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn browse(&self, customer: &Customer) -> Result<Made, Fault> {
        let kind = self.query.number("s", 1..=CUSTOMER_TYPES)?.to_string();
        let region = customer.region.to_string();
        let reply = self.site.need(3, &[&kind, &region]).await?;
        let mut html = self.html();
        html.raw("<h1>Product lines</h1>\n")
            .table(reply.rows.iter());
        let mut values = Values::of(&[&kind]);
        values.push(reply.rows.iter().filter_map(|row| row.fields().next()));
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn line(&self, customer: &Customer) -> Result<Made, Fault> {
        let line = self.query.number("p", 1..=MOST_NUMBER)?.to_string();
        let region = customer.region.to_string();
        let reply = self.site.need(4, &[&line, &region]).await?;
        let mut html = self.html();
        html.raw("<h1>Models</h1>\n");
        let mut values = Values::default();
        for [model, name, price, image] in rows::<4>(&reply)? {
            html.raw("<p>")
                .escaped(name)
                .raw(" ")
                .escaped(price)
                .raw("</p>\n");
            html.product_image(image);
            values.push([model, price].into_iter());
        }
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn detail(&self, customer: &Customer) -> Result<Made, Fault> {
        let model = self.query.number("i", 0..=MOST_NUMBER)?.to_string();
        let region = customer.region.to_string();
        let reply = self.site.need(5, &[&model, &region]).await?;
        let mut lines = reply.rows.iter();
        let first = lines
            .next()
            .and_then(Row::exactly)
            .ok_or(Fault::NoBackend)?;
        let [name, price, image] = first;
        let mut html = self.html();
        html.raw("<h1>")
            .escaped(name)
            .raw("</h1>\n")
            .table(lines.clone());
        html.product_image(image);
        let mut values = Values::of(&[&model, price]);
        for line in lines {
            values.push(line.fields());
        }
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn customize(
        &self,
        customer: &mut Customer,
        stage: u32,
    ) -> Result<Made, Fault> {
        let model = self.form.number("i", 0..=MOST_NUMBER)?;
        let from = self.form.number("from", 0..=STAGES)?;
        let chosen = match from {
            0 => None,
            _ => Some(self.form.choice("o")?),
        };
        let (model_text, stage_text) = (model.to_string(), stage.to_string());
        let reply = self.site.need(6, &[&model_text, &stage_text]).await?;
        customer.choose(model);
        if let Some(place) = from.checked_sub(1) {
            customer.choices[place as usize] = chosen;
        }
        let mut html = self.html();
        html.raw("<h1>Options</h1>\n").table(reply.rows.iter());
        let mut values = Values::of(&[&model_text, &stage_text]);
        let choices = customer.choices.map(choice_text);
        values.push(choices.iter().map(String::as_str));
        values.push_rows(&reply.rows);
        Ok(self.made(customer, html, values))
    }
}

/// A stored choice as pages and the back-end have it.
pub(super) fn choice_text(choice: Option<Choice>) -> String {
    choice.map_or_else(|| "-".to_owned(), |choice| choice.to_string())
}

/// Every row of a reply, each of so many fields.
fn rows<const N: usize>(reply: &Reply) -> Result<Vec<[&str; N]>, Fault> {
    let rows: Option<Vec<[&str; N]>> = reply.rows.iter().map(Row::exactly).collect();
    rows.ok_or(Fault::NoBackend)
}
