//! The pages of banking.

use rookery_workload::web2005::besim::{Cents, Reply, Rows, md5_hex};

use super::{
    arguments::{Arguments, BadInput},
    files::Asked,
    html::{Html, Values},
    site::{Fault, Made, Site},
    visit::BankUser,
};
use crate::http_server::{FullAnswer, Method, Request, SessionId};

/// Most payees of a payment.
const MOST_PAYEES: usize = 3;

/// A request of a user who logged in.
struct Call<'a> {
    site: &'a Site,
    page: &'static str,
    session: SessionId,
    user: String,
    id: u32,
    query: Arguments<'a>,
    form: Arguments<'a>,
}

impl Site {
    /// A page of banking.
    pub(super) async fn banking(
        &self,
        page: &'static str,
        request: &Request<'_>,
    ) -> Result<FullAnswer, Fault> {
        if page == "login" {
            let made = match request.method {
                Method::Post => self.log_in(&Self::form(request)?).await?,
                Method::Get | Method::Other => bank_form(),
            };
            return self.finish(made);
        }
        let query = Self::query(request)?;
        let form = Self::form(request)?;
        let session = Self::session_id(request)
            .and_then(|session| Some((session, self.bank_users.get(session)?)));
        let Some((session, BankUser(id))) = session else {
            return self.finish(bank_form());
        };
        let call = Call {
            site: self,
            page,
            session,
            user: id.to_string(),
            id,
            query,
            form,
        };
        call.answer().await
    }

    async fn log_in(&self, form: &Arguments<'_>) -> Result<Made, Fault> {
        let user = form.number("userid", 0..=999_999_999)?;
        let password = form.password("password")?;
        let text = user.to_string();
        let known = self.ask(1, &[&text]).await?;
        let wanted = known.rows.iter().next().and_then(|row| row.exactly());
        if wanted != Some([md5_hex(password).as_str()]) {
            let mut html = title("login");
            html.raw("<p>The user or the password is wrong.</p>\n");
            html.form("/bank/login.php", &["userid", "password"]);
            return Ok(Made {
                page: "login",
                html,
                id: None,
                values: Values::of(&["refused"]),
                cookie: None,
            });
        }
        let accounts = self.need(2, &[&text]).await?;
        let cookie = self.bank_users.begin(BankUser(user))?;
        let mut html = title("login");
        html.raw("<h1>Welcome</h1>\n").table(accounts.rows.iter());
        let mut values = Values::of(&["ok"]);
        values.push_rows(&accounts.rows);
        Ok(Made {
            page: "login",
            html,
            id: Some(user),
            values,
            cookie: Some(cookie),
        })
    }
}

/// The form to log in, which everyone without a session is shown.
fn bank_form() -> Made {
    let mut html = title("login");
    html.raw("<h1>Log in</h1>\n")
        .form("/bank/login.php", &["userid", "password"]);
    Made {
        page: "login",
        html,
        id: None,
        values: Values::of(&["form"]),
        cookie: None,
    }
}

fn title(page: &str) -> Html {
    Html::new(&format!("Bank: {page}"))
}

impl Call<'_> {
    async fn answer(&self) -> Result<FullAnswer, Fault> {
        let made = match self.page {
            "account_summary" => self.rows(3).await?,
            "check_detail_html" => self.check_detail().await?,
            "check_image" => return self.check_image().await,
            "bill_pay" => self.asked(5).await?,
            "add_payee" => self.add_payee()?,
            "payee_info" => self.payee_info().await?,
            "quick_pay" => self.quick_pay().await?,
            "billpay_status" => self.status().await?,
            "chg_profile" => self.asked(9).await?,
            "post_profile" => self.post_profile().await?,
            "req_checks" => self.asked(2).await?,
            "post_chk_order" => self.order_checks().await?,
            "req_xfer_form" => self.rows(2).await?,
            "post_fund_xfer" => self.transfer().await?,
            "logout" => self.log_out()?,
            _ => return Err(Fault::NoFile),
        };
        self.site.finish(made)
    }

    fn made(&self, html: Html, values: Values) -> Made {
        Made {
            page: self.page,
            html,
            id: Some(self.id),
            values,
            cookie: None,
        }
    }

    /// Rows of the user, as a table.
    async fn rows(&self, command: u8) -> Result<Made, Fault> {
        let reply = self.site.need(command, &[&self.user]).await?;
        Ok(self.table(&reply.rows))
    }

    fn table(&self, rows: &Rows) -> Made {
        let mut html = title(self.page);
        html.raw("<h1>")
            .raw(self.page)
            .raw("</h1>\n")
            .table(rows.iter());
        let mut values = Values::default();
        values.push_rows(rows);
        self.made(html, values)
    }

    /// The same for pages whose address names the user.
    async fn asked(&self, command: u8) -> Result<Made, Fault> {
        self.own_address()?;
        self.rows(command).await
    }

    /// The address must not name another user.
    fn own_address(&self) -> Result<(), BadInput> {
        self.query.number("userid", self.id..=self.id).map(drop)
    }

    async fn check(&self) -> Result<(u32, Reply), Fault> {
        let check = self.query.number("check_no", 1..=999_999)?;
        let reply = self.site.need(4, &[&self.user, &check.to_string()]).await?;
        Ok((check, reply))
    }

    async fn check_detail(&self) -> Result<Made, Fault> {
        let (check, reply) = self.check().await?;
        let row = reply.rows.iter().next().and_then(|row| row.exactly());
        let Some([account, _, _]) = row else {
            return Err(Fault::NoBackend);
        };
        let mut html = title(self.page);
        html.raw("<h1>Check</h1>\n").raw(account);
        for side in ["front", "back"] {
            let path = format!("/bank/check_image.php?side={side}&check_no={check}");
            html.raw("<a href=\"")
                .escaped(&path)
                .raw("\">")
                .raw(side)
                .raw("</a>\n");
        }
        let values = Values::of(&[account, &format!("{check:06}")]);
        Ok(self.made(html, values))
    }

    async fn check_image(&self) -> Result<FullAnswer, Fault> {
        let side = match self.query.get("side") {
            Some("front") => 1,
            Some("back") => 2,
            _ => return Err(Fault::BadInput),
        };
        let (_, reply) = self.check().await?;
        let row = reply.rows.iter().next().ok_or(Fault::NoBackend)?;
        let path = row.fields().nth(side).ok_or(Fault::NoBackend)?;
        self.site.file(path, Asked::default())
    }

    fn add_payee(&self) -> Result<Made, Fault> {
        self.own_address()?;
        let mut html = title(self.page);
        html.raw("<h1>Add a payee</h1>\n").form(
            "/bank/payee_info.php",
            &[
                "payee_id", "name", "street", "city", "state", "zip", "phone",
            ],
        );
        Ok(self.made(html, Values::of(&["form"])))
    }

    async fn payee_info(&self) -> Result<Made, Fault> {
        let form = &self.form;
        let arguments = [
            self.user.as_str(),
            form.payee("payee_id")?,
            form.text("name")?,
            form.text("street")?,
            form.text("city")?,
            form.state("state")?,
            form.digits("zip", 5..=5)?,
            form.phone("phone")?,
        ];
        self.confirmed(6, &arguments).await
    }

    async fn post_profile(&self) -> Result<Made, Fault> {
        let form = &self.form;
        let arguments = [
            self.user.as_str(),
            form.text("street")?,
            form.text("city")?,
            form.state("state")?,
            form.digits("zip", 5..=5)?,
            form.email("email")?,
            form.phone("phone")?,
        ];
        self.confirmed(10, &arguments).await
    }

    async fn order_checks(&self) -> Result<Made, Fault> {
        let account = self.form.digits("account_no", 10..=10)?;
        self.form.number("design", 1..=5)?;
        let number = self.form.number("number", 1..=1_000)?.to_string();
        let today = self.site.today.to_string();
        self.confirmed(11, &[&self.user, account, &today, &number])
            .await
    }

    /// A write whose answer is its confirmation.
    async fn confirmed(&self, command: u8, arguments: &[&str]) -> Result<Made, Fault> {
        let reply = self.site.need(command, arguments).await?;
        Ok(self.table(&reply.rows))
    }

    async fn quick_pay(&self) -> Result<Made, Fault> {
        let payments = self.payments()?;
        let mut html = title(self.page);
        html.raw("<h1>Payments</h1>\n");
        let mut values = Values::default();
        for (payee, date, typed, amount) in payments {
            let reply = self.site.ask(7, &[&self.user, payee, date, typed]).await?;
            let confirmation = reply.rows.iter().next().and_then(|row| row.exactly());
            let [confirmation] = confirmation.unwrap_or(["refused"]);
            let amount = amount.to_string();
            html.raw("<p>")
                .escaped(payee)
                .raw(": ")
                .raw(confirmation)
                .raw("</p>\n");
            values.push([payee, &amount, date, confirmation].into_iter());
        }
        Ok(self.made(html, values))
    }

    /// Payee, date, amount as typed and as understood, of every payment; all of them are right
    /// before the first goes to the back-end.
    fn payments(&self) -> Result<Vec<(&str, &str, &str, Cents)>, BadInput> {
        let mut payments = Vec::new();
        for index in 0..=MOST_PAYEES {
            let name = |field: &str| format!("{field}[{index}]");
            if self.form.get(&name("payee")).is_none() {
                break;
            }
            if index == MOST_PAYEES {
                return Err(BadInput);
            }
            let (typed, amount) = self.form.amount(&name("amount"))?;
            let payee = self.form.payee(&name("payee"))?;
            payments.push((payee, self.form.day(&name("date"))?, typed, amount));
        }
        if payments.is_empty() {
            return Err(BadInput);
        }
        Ok(payments)
    }

    async fn status(&self) -> Result<Made, Fault> {
        self.own_address()?;
        let (start, end) = (self.query.day("start")?, self.query.day("end")?);
        let reply = self.site.need(8, &[&self.user, start, end]).await?;
        Ok(self.table(&reply.rows))
    }

    async fn transfer(&self) -> Result<Made, Fault> {
        let from = self.form.digits("from", 10..=10)?;
        let to = self.form.digits("to", 10..=10)?;
        let (amount, _) = self.form.amount("amount")?;
        let today = self.site.today.to_string();
        if from != to {
            let reply = self
                .site
                .ask(12, &[&self.user, from, to, amount, &today])
                .await?;
            if reply.ok {
                return Ok(self.table(&reply.rows));
            }
        }
        let mut html = title(self.page);
        html.raw("<p>The transfer is refused.</p>\n");
        Ok(self.made(html, Values::of(&["refused"])))
    }

    fn log_out(&self) -> Result<Made, Fault> {
        self.own_address()?;
        self.site.bank_users.end(self.session);
        let mut html = title(self.page);
        html.raw("<h1>Good bye</h1>\n");
        Ok(self.made(html, Values::of(&["bye"])))
    }
}
