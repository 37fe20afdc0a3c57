//! The pages of e-commerce.

mod buying;
mod choosing;

use rookery_workload::web2005::besim::ecommerce::REGIONS;

use super::{
    arguments::Arguments,
    html::{Html, Values},
    site::{Fault, Made, Site},
    visit::Customer,
};
use crate::http_server::{FullAnswer, Method, Request, SessionId};

/// A request of a customer.
struct Call<'a> {
    site: &'a Site,
    page: &'static str,
    /// Whose visit it is.
    session: SessionId,
    /// Whether the visit begins with this request.
    begins: bool,
    query: Arguments<'a>,
    form: Arguments<'a>,
}

impl Site {
    /// A page of e-commerce.
    pub(super) async fn ecommerce(
        &self,
        page: &'static str,
        request: &Request<'_>,
    ) -> Result<FullAnswer, Fault> {
        let query = Self::query(request)?;
        let form = Self::form(request)?;
        let known = Self::session_id(request)
            .and_then(|session| Some((session, self.customers.get(session)?)));
        let (session, mut customer, begins) = match known {
            Some((session, customer)) => (session, customer, false),
            None => {
                let customer = Customer::new();
                (self.customers.begin(customer.clone())?, customer, true)
            }
        };
        let call = Call {
            site: self,
            page,
            session,
            begins,
            query,
            form,
        };
        let before = customer.clone();
        let answer = call.answer(&mut customer, request).await?;
        if customer != before {
            self.customers.set(session, customer);
        }
        Ok(answer)
    }
}

impl Call<'_> {
    async fn answer(
        &self,
        customer: &mut Customer,
        request: &Request<'_>,
    ) -> Result<FullAnswer, Fault> {
        let made = match self.page {
            "index" => {
                if request.method == Method::Post && request.query.is_empty() {
                    return self.localize(customer);
                }
                if self.query.get("region").is_some() {
                    customer.region = self.query.number("region", 1..=REGIONS)?;
                }
                self.index(customer).await?
            }
            "search" => self.search(customer).await?,
            "browse" => self.browse(customer).await?,
            "browse_productline" => self.line(customer).await?,
            "productdetail" => self.detail(customer).await?,
            "customize1" => self.customize(customer, 1).await?,
            "customize2" => self.customize(customer, 2).await?,
            "customize3" => self.customize(customer, 3).await?,
            "cart" => self.cart(customer).await?,
            "login" => match request.method {
                Method::Post => self.log_in(customer).await?,
                Method::Get | Method::Other => self.login_form(),
            },
            "shipping" => self.shipping(customer).await?,
            "billing" => self.billing(customer).await?,
            "confirm" => self.confirm(customer).await?,
            _ => return Err(Fault::NoFile),
        };
        self.site.finish(made)
    }

    /// Keeps a region, and sends the customer to the page of it.
    fn localize(&self, customer: &mut Customer) -> Result<FullAnswer, Fault> {
        let region = self.form.number("region", 1..=REGIONS)?;
        customer.region = region;
        Site::redirect(
            &format!("/ecommerce/index.php?region={region}"),
            self.begins.then_some(self.session),
        )
    }

    /// The first page. What comes out of order is answered with it too.
    async fn index(&self, customer: &Customer) -> Result<Made, Fault> {
        let region = customer.region.to_string();
        let reply = self.site.need(1, &[&region]).await?;
        let mut html = Html::new("Shop: index");
        html.raw("<h1>Welcome</h1>\n").table(reply.rows.iter());
        html.raw("<ul>\n");
        for (number, name) in (1..).zip(["home", "small offices", "companies", "schools"]) {
            html.raw(&format!(
                "<li><a href=\"/ecommerce/browse.php?s={number}\">{name}</a></li>\n"
            ));
        }
        html.raw("</ul>\n");
        let mut values = Values::of(&[&region]);
        values.push_rows(&reply.rows);
        Ok(self.named("index", customer, html, values))
    }

    fn made(&self, customer: &Customer, html: Html, values: Values) -> Made {
        self.named(self.page, customer, html, values)
    }

    fn named(&self, page: &'static str, customer: &Customer, html: Html, values: Values) -> Made {
        Made {
            page,
            html,
            id: customer.customer,
            values,
            cookie: self.begins.then_some(self.session),
        }
    }

    fn html(&self) -> Html {
        Html::new(&format!("Shop: {}", self.page))
    }
}
