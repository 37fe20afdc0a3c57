//! Commands of e-commerce.

use super::{Arguments, Effect, Outcome, confirmed};
use crate::web2005::{
    Model,
    besim::{
        ecommerce::{
            CARDS, CUSTOMER_TYPES, Choice, Choices, GROUPS, MOST_QUANTITY, OPTIONS, REGIONS,
            SEARCH_WORDS, SEGMENTS, SHIPPING_METHODS, STAGES, details, image_path, is_customer,
            line_models, line_name, line_of, lines, masked, model_name, model_price, models,
            option_price, price, region_code, search, shipping_cost, shipping_day, tax_rate,
        },
        money::Cents,
        person::Person,
        state::{EcommerceReset, State},
        wire::Rows,
    },
    files::LARGEST_IDENTITY,
};

pub(super) fn run(state: &State, command: u8, arguments: &Arguments<'_>) -> Outcome {
    let call = Call { state, arguments };
    let rows = match command {
        0 => return call.reset(),
        1 => call.regions()?,
        2 => call.search()?,
        3 => call.lines()?,
        4 => call.models()?,
        5 => call.detail()?,
        6 => call.options()?,
        7 => call.price()?,
        8 => call.login()?,
        9 => call.shipping()?,
        10 => call.billing()?,
        11 => return call.order(),
        _ => return None,
    };
    Some((rows, Effect::None))
}

struct Call<'a> {
    state: &'a State,
    arguments: &'a Arguments<'a>,
}

impl Call<'_> {
    fn reset(&self) -> Outcome {
        let arguments = self.arguments;
        arguments.count(6)?;
        let ecommerce = EcommerceReset {
            time_s: arguments.time(0)?,
            min_customer: arguments.number(1)?,
            max_customer: arguments.within(2, LARGEST_IDENTITY)?,
            load: arguments.number(3)?,
            image_base: arguments.path(4)?.trim_end_matches('/').to_owned(),
            lines: arguments.within(5, LARGEST_IDENTITY)?,
        };
        let state = State {
            ecommerce,
            ..self.state.clone()
        };
        Some((arguments.echo(), Effect::Reset(Box::new(state))))
    }

    fn regions(&self) -> Option<Rows> {
        self.arguments.count(1)?;
        self.arguments.within(0, REGIONS)?;
        let mut rows = Rows::default();
        for region in 1..=REGIONS {
            // Hundredths of a per cent are written as cents are.
            let rate = Cents(tax_rate(self.state, region));
            rows.push(&[&region_code(region), &rate]);
        }
        Some(rows)
    }

    fn search(&self) -> Option<Rows> {
        self.arguments.count(3)?;
        let segment = self.arguments.within(0, SEGMENTS)?;
        let word = self.arguments.within(1, SEARCH_WORDS)?;
        let region = self.arguments.within(2, REGIONS)?;
        let mut rows = Rows::default();
        for model in search(self.state, segment, word, region) {
            rows.push(&[
                &model,
                &line_of(model),
                &model_name(self.state, model),
                &model_price(self.state, model),
            ]);
        }
        Some(rows)
    }

    fn lines(&self) -> Option<Rows> {
        self.arguments.count(2)?;
        let customer_type = self.arguments.within(0, CUSTOMER_TYPES)?;
        let region = self.arguments.within(1, REGIONS)?;
        let mut rows = Rows::default();
        for line in lines(self.state, customer_type, region) {
            rows.push(&[&line, &line_name(self.state, line)]);
        }
        Some(rows)
    }

    fn models(&self) -> Option<Rows> {
        self.arguments.count(2)?;
        let line = self.arguments.within(0, self.state.ecommerce.lines)?;
        let region = self.arguments.within(1, REGIONS)?;
        let mut rows = Rows::default();
        for model in line_models(self.state, line, region) {
            rows.push(&[
                &model,
                &model_name(self.state, model),
                &model_price(self.state, model),
                &image_path(self.state, model, 0),
            ]);
        }
        Some(rows)
    }

    fn detail(&self) -> Option<Rows> {
        self.arguments.count(2)?;
        let model = self.model(0)?;
        self.arguments.within(1, REGIONS)?;
        let mut rows = Rows::default();
        rows.push(&[
            &model_name(self.state, model),
            &model_price(self.state, model),
            &image_path(self.state, model, 1),
        ]);
        for (key, value) in details(self.state, model) {
            rows.push(&[&key, &value]);
        }
        Some(rows)
    }

    fn options(&self) -> Option<Rows> {
        self.arguments.count(2)?;
        let model = self.model(0)?;
        let stage = self.arguments.within(1, STAGES)?;
        let mut rows = Rows::default();
        for group in 1..=GROUPS {
            for option in 0..OPTIONS {
                let price = option_price(self.state, model, stage, group, option);
                rows.push(&[&group, &option, &price]);
            }
        }
        Some(rows)
    }

    /// Model, choices of the three stages (`-` for none), quantity, region.
    fn price(&self) -> Option<Rows> {
        self.arguments.count(6)?;
        let model = self.model(0)?;
        let mut choices: Choices = [None; STAGES as usize];
        for (place, choice) in (1..).zip(&mut choices) {
            *choice = match self.arguments.text(place)? {
                "-" => None,
                text => Some(Choice::parse(text)?),
            };
        }
        let quantity = self.arguments.within(4, MOST_QUANTITY)?;
        let region = self.arguments.within(5, REGIONS)?;
        let price = price(self.state, model, &choices, quantity, region);
        let mut rows = Rows::default();
        rows.push(&[&price.total, &price.tax]);
        Some(rows)
    }

    fn login(&self) -> Option<Rows> {
        self.arguments.count(1)?;
        let customer = self.customer()?;
        let person = Person::new(self.state, customer);
        let mut rows = Rows::default();
        rows.push(&[
            &self.state.password_md5(customer),
            &person.name,
            &person.street,
            &person.city,
            &person.state,
            &person.zip,
            &person.phone,
        ]);
        Some(rows)
    }

    fn shipping(&self) -> Option<Rows> {
        self.arguments.count(2)?;
        let customer = self.customer()?;
        let method = self.arguments.within(1, SHIPPING_METHODS)?;
        let cost = shipping_cost(self.state, customer, method);
        let mut rows = Rows::default();
        rows.push(&[&cost, &shipping_day(self.state, method)]);
        Some(rows)
    }

    /// Customer, kind of card, last four digits of its number.
    fn billing(&self) -> Option<Rows> {
        self.arguments.count(3)?;
        self.customer()?;
        self.arguments.within(1, CARDS)?;
        let last = self.arguments.text(2).filter(|text| text.len() == 4)?;
        let last = last
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(last)?;
        let mut rows = Rows::default();
        rows.push(&[&"approved", &masked(last.parse().ok()?)]);
        Some(rows)
    }

    fn order(&self) -> Outcome {
        self.arguments.count(2)?;
        let customer = self.customer()?;
        let total = Cents::parse(self.arguments.text(1)?)?;
        let entry = self
            .arguments
            .entry(self.state, Model::Ecommerce, 11, customer, total);
        Some(confirmed(entry))
    }

    fn customer(&self) -> Option<u32> {
        self.arguments
            .number(0)
            .filter(|customer| is_customer(self.state, *customer))
    }

    fn model(&self, place: usize) -> Option<u32> {
        self.arguments
            .number(place)
            .filter(|model| *model < models(self.state))
    }
}
