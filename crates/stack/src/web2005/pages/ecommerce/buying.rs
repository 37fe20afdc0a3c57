//! From the cart to the order.

use rookery_workload::web2005::besim::{
    Cents, Reply, Row,
    ecommerce::{CARDS, MOST_QUANTITY, SHIPPING_METHODS, STAGES},
    md5_hex,
};

use super::{Call, choosing::choice_text};
use crate::web2005::pages::{
    html::Values,
    site::{Fault, Made},
    visit::{CartLine, Customer},
};

/// Most lines of a cart.
const MOST_LINES: usize = 5;

impl Call<'_> {
    pub(super) async fn cart(&self, customer: &mut Customer) -> Result<Made, Fault> {
        match self.form.get("action") {
            Some("add") => self.add(customer).await?,
            Some("update") => {
                let line = self.form.number("line", 0..=4)? as usize;
                let quantity = self.form.number("quantity", 1..=MOST_QUANTITY)?;
                let Some(old) = customer.cart.get(line).copied() else {
                    return self.index(customer).await;
                };
                let wanted = CartLine { quantity, ..old };
                customer.cart[line] = self.priced(wanted, customer.region).await?;
            }
            _ => return Err(Fault::BadInput),
        }
        let mut html = self.html();
        let mut values = Values::default();
        for line in &customer.cart {
            let fields = [
                line.model.to_string(),
                line.quantity.to_string(),
                line.total.to_string(),
                line.tax.to_string(),
            ];
            html.raw("<p>");
            for field in &fields {
                html.raw(field).raw(" ");
            }
            html.raw("</p>\n");
            values.push(fields.iter().map(String::as_str));
        }
        values.push([customer.cart_total().to_string().as_str()].into_iter());
        Ok(self.made(customer, html, values))
    }

    async fn add(&self, customer: &mut Customer) -> Result<(), Fault> {
        let model = self.form.number("i", 0..=999_999_999)?;
        let choice = self.form.choice("o")?;
        if customer.cart.len() == MOST_LINES {
            return Err(Fault::BadInput);
        }
        customer.choose(model);
        customer.choices[STAGES as usize - 1] = Some(choice);
        let line = CartLine {
            model,
            choices: customer.choices,
            quantity: 1,
            total: Cents(0),
            tax: Cents(0),
        };
        let line = self.priced(line, customer.region).await?;
        customer.cart.push(line);
        Ok(())
    }

    /// A line with its price as the back-end has it.
    async fn priced(&self, line: CartLine, region: u32) -> Result<CartLine, Fault> {
        let [first, second, third] = line.choices.map(choice_text);
        let arguments = [
            line.model.to_string(),
            first,
            second,
            third,
            line.quantity.to_string(),
            region.to_string(),
        ];
        let reply = self
            .site
            .need(7, &arguments.each_ref().map(String::as_str))
            .await?;
        let [total, tax] = only(&reply)?;
        Ok(CartLine {
            total: Cents::parse(total).ok_or(Fault::NoBackend)?,
            tax: Cents::parse(tax).ok_or(Fault::NoBackend)?,
            ..line
        })
    }

    pub(super) fn login_form(&self) -> Made {
        let mut html = self.html();
        html.raw("<h1>Log in</h1>\n");
        html.form("/ecommerce/login.php", &["customer", "password", "new"]);
        Made {
            page: "login",
            html,
            id: None,
            values: Values::of(&["form"]),
            cookie: self.begins.then_some(self.session),
        }
    }

    pub(super) async fn log_in(&self, customer: &mut Customer) -> Result<Made, Fault> {
        let form = &self.form;
        let number = form.number("customer", 0..=999_999_999)?;
        let password = form.password("password")?;
        let given = match form.get("new") {
            Some("no") => None,
            Some("yes") => Some([
                form.text("name")?,
                form.text("street")?,
                form.text("city")?,
                form.state("state")?,
                form.digits("zip", 5..=5)?,
                form.phone("phone")?,
            ]),
            _ => return Err(Fault::BadInput),
        };
        if customer.cart.is_empty() {
            return self.index(customer).await;
        }
        let reply = self.site.ask(8, &[&number.to_string()]).await?;
        let known: Option<[&str; 7]> = reply.rows.iter().next().and_then(Row::exactly);
        let known = known.filter(|known| known[0] == md5_hex(password));
        let mut html = self.html();
        let Some([_, name, street, city, state, zip, phone]) = known else {
            html.raw("<p>The customer or the password is wrong.</p>\n");
            return Ok(self.made(customer, html, Values::of(&["refused"])));
        };
        let (kind, person) = match given {
            None => ("known", [name, street, city, state, zip, phone]),
            Some(given) => ("new", given),
        };
        customer.customer = Some(number);
        html.raw("<h1>Welcome</h1>\n<p>");
        for field in person {
            html.escaped(field).raw("<br>\n");
        }
        html.raw("</p>\n");
        let mut values = Values::of(&[kind]);
        values.push(person.into_iter());
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn shipping(&self, customer: &mut Customer) -> Result<Made, Fault> {
        let form = &self.form;
        for name in ["street", "city"] {
            form.text(name)?;
        }
        form.state("state")?;
        form.digits("zip", 5..=5)?;
        let method = form.number("method", 1..=SHIPPING_METHODS)?.to_string();
        let Some(number) = customer.customer.filter(|_| !customer.cart.is_empty()) else {
            return self.index(customer).await;
        };
        let reply = self.site.need(9, &[&number.to_string(), &method]).await?;
        let [cost, date] = only(&reply)?;
        customer.shipping = Some(Cents::parse(cost).ok_or(Fault::NoBackend)?);
        let mut html = self.html();
        html.raw("<h1>Shipping</h1>\n").table(reply.rows.iter());
        let values = Values::of(&[&method, cost, date]);
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn billing(&self, customer: &mut Customer) -> Result<Made, Fault> {
        let card = self.form.number("card", 1..=CARDS)?.to_string();
        let digits = self.form.digits("number", 16..=16)?;
        let Some((number, total)) = customer.bill() else {
            return self.index(customer).await;
        };
        let arguments = [number.to_string(), card, digits[12..].to_owned()];
        let reply = self
            .site
            .need(10, &arguments.each_ref().map(String::as_str))
            .await?;
        let [approved, masked] = only(&reply)?;
        customer.billed = true;
        let mut html = self.html();
        html.raw("<h1>Billing</h1>\n").table(reply.rows.iter());
        let values = Values::of(&[&arguments[1], approved, masked, &total.to_string()]);
        Ok(self.made(customer, html, values))
    }

    pub(super) async fn confirm(&self, customer: &mut Customer) -> Result<Made, Fault> {
        if self.form.get("order") != Some("yes") {
            return Err(Fault::BadInput);
        }
        let Some((number, total)) = customer.bill().filter(|_| customer.billed) else {
            return self.index(customer).await;
        };
        let total = total.to_string();
        let reply = self.site.need(11, &[&number.to_string(), &total]).await?;
        let [order] = only(&reply)?;
        // The customer stays known; everything else begins anew.
        let known = customer.customer;
        *customer = Customer {
            region: customer.region,
            customer: known,
            ..Customer::new()
        };
        let mut html = self.html();
        html.raw("<h1>Thank you</h1>\n<p>")
            .escaped(order)
            .raw("</p>\n");
        Ok(self.made(customer, html, Values::of(&[order, &total])))
    }
}

impl Customer {
    /// Who pays, and how much with shipping; nothing before all of it is known.
    fn bill(&self) -> Option<(u32, Cents)> {
        let shipping = self.shipping.filter(|_| !self.cart.is_empty())?;
        Some((self.customer?, Cents(self.cart_total().0 + shipping.0)))
    }
}

/// The one row of a reply.
fn only<const N: usize>(reply: &Reply) -> Result<[&str; N], Fault> {
    let row = reply.rows.iter().next().and_then(Row::exactly);
    row.ok_or(Fault::NoBackend)
}
