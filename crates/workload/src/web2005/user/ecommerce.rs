//! Sessions of `ecommerce`: the server keeps region, choices and cart; a user knows what they are.

use super::{Address, Draw};
use crate::web2005::{
    Arrival, Expected, Model, PageRequest,
    besim::{
        Cents, Person, confirmation,
        ecommerce::{self, Choice, Choices},
    },
    ledger,
    request::{Shown, path},
};

/// What a user has of its session.
#[derive(Clone, Debug, Default)]
pub(super) struct EcommerceSession {
    /// The page type before; none at the begin.
    before: Option<usize>,
    /// Zero before the first page.
    region: u32,
    line: u32,
    model: u32,
    choices: Choices,
    quantity: u32,
    /// What the last request makes of the cart when it is answered.
    asked_quantity: u32,
    customer: u32,
    shipping: Cents,
}

const MODEL: Model = Model::Ecommerce;
/// The region of a new session.
const FIRST_REGION: u32 = 1;
/// Regions that users pick from, of all.
const USED_REGIONS: u32 = 10;
/// Command of the back-end that confirms an order.
const ORDER: u8 = 11;

/// Page types by their place in the table.
const INDEX: usize = 0;
const PRODUCT: usize = 4;
const FIRST_STAGE: usize = 5;
const LAST_STAGE: usize = 7;
const CART: usize = 8;

impl EcommerceSession {
    pub(super) fn request(&mut self, draw: &mut Draw<'_>, arrival: Arrival) -> PageRequest {
        if self.region == 0 {
            self.region = FIRST_REGION;
        }
        match arrival.page {
            INDEX => self.index(draw),
            1 => self.search(draw),
            2 => self.browse(draw),
            3 => self.product_line(draw),
            PRODUCT => self.product(draw),
            page @ FIRST_STAGE..=LAST_STAGE => self.options(draw, page - FIRST_STAGE),
            CART => self.cart(draw),
            9 => self.login(draw),
            10 => self.shipping(draw),
            11 => self.billing(draw),
            _ => self.confirm(draw),
        }
    }

    /// The last page came as it should.
    pub(super) fn answered(&mut self, arrival: Arrival) {
        self.before = Some(arrival.page);
        if arrival.page == CART {
            self.quantity = self.asked_quantity;
        }
    }

    fn page(&self, name: &str, shown: Shown) -> Expected {
        let customer = Some(self.customer).filter(|customer| *customer > 0);
        shown.page(MODEL, name, customer)
    }

    fn get(&self, name: &str, query: &str, shown: Shown) -> PageRequest {
        let target = format!("{}{query}", path(MODEL, name));
        PageRequest::get(target, self.page(name, shown))
    }

    fn post(&self, name: &str, fields: &[(&str, &str)], shown: Shown) -> PageRequest {
        PageRequest::post(path(MODEL, name), fields, self.page(name, shown))
    }

    /// From the index to the index a user changes its region, and is redirected.
    fn index(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        let changes = self.before == Some(INDEX);
        if changes {
            self.region = draw.one_of(USED_REGIONS);
        }
        let state = &draw.data.state;
        let row = |region| {
            // Hundredths of a per cent are written as cents are.
            let rate = Cents(ecommerce::tax_rate(state, region)).to_string();
            [ecommerce::region_code(region), rate]
        };
        let shown = Shown::new()
            .row([self.region.to_string()])
            .rows((1..=ecommerce::REGIONS).map(row));
        if !changes {
            return self.get("index", "", shown);
        }
        let region = self.region.to_string();
        PageRequest {
            redirects_to: Some(format!("{}?region={region}", path(MODEL, "index"))),
            ..self.post("index", &[("region", &region)], shown)
        }
    }

    fn search(&self, draw: &mut Draw<'_>) -> PageRequest {
        let segment = draw.one_of(ecommerce::SEGMENTS);
        let word = draw.one_of(ecommerce::SEARCH_WORDS);
        let state = &draw.data.state;
        let found = ecommerce::search(state, segment, word, self.region);
        let rows = found.map(|model| {
            [
                model.to_string(),
                ecommerce::line_of(model).to_string(),
                ecommerce::model_price(state, model).to_string(),
            ]
        });
        let query = format!("?seg={segment}&kw={word}");
        self.get("search", &query, Shown::new().rows(rows))
    }

    fn browse(&self, draw: &mut Draw<'_>) -> PageRequest {
        let customer_type = draw.one_of(ecommerce::CUSTOMER_TYPES);
        let lines = ecommerce::lines(&draw.data.state, customer_type, self.region);
        let shown = Shown::new()
            .row([customer_type.to_string()])
            .row(lines.map(|line| line.to_string()));
        self.get("browse", &format!("?s={customer_type}"), shown)
    }

    /// Any line of the file set, whichever were shown.
    fn product_line(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        self.line = draw.one_of(draw.data.shape.lines());
        let state = &draw.data.state;
        let models: Vec<u32> = ecommerce::line_models(state, self.line, self.region).collect();
        let rows = models.iter().map(|&model| {
            [
                model.to_string(),
                ecommerce::model_price(state, model).to_string(),
            ]
        });
        let shown = Shown::new().rows(rows);
        PageRequest {
            products: models.iter().map(|&model| image(draw, model, 0)).collect(),
            ..self.get("browse_productline", &format!("?p={}", self.line), shown)
        }
    }

    /// Any product of the line.
    fn product(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        let first = self.line.saturating_sub(1) * ecommerce::MODELS_PER_LINE;
        self.model = first + draw.below(ecommerce::MODELS_PER_LINE);
        let state = &draw.data.state;
        let price = ecommerce::model_price(state, self.model);
        let details = ecommerce::details(state, self.model);
        let shown = Shown::new()
            .row([self.model.to_string(), price.to_string()])
            .rows(details.map(|(key, value)| [key.to_owned(), value.to_string()]));
        PageRequest {
            products: vec![image(draw, self.model, 1)],
            ..self.get("productdetail", &format!("?i={}", self.model), shown)
        }
    }

    /// The options of a stage, from 0. The form that leads here is that of the page before: a
    /// product without choices, or another stage with them.
    fn options(&mut self, draw: &mut Draw<'_>, stage: usize) -> PageRequest {
        let product = self.model;
        let model = product.to_string();
        let mut fields = vec![("i", model.clone())];
        match self.stage_before() {
            None => {
                // A product begins anew.
                self.choices = Choices::default();
                fields.push(("from", "0".to_owned()));
            }
            Some(from) => {
                let chosen = self.choose(draw, from);
                fields.push(("from", (from + 1).to_string()));
                fields.push(("o", chosen));
            }
        }
        let state = &draw.data.state;
        let number = rookery_cast::count_u32(stage) + 1;
        let rows = (1..=ecommerce::GROUPS).flat_map(|group| {
            (0..ecommerce::OPTIONS).map(move |option| {
                let price = ecommerce::option_price(state, product, number, group, option);
                [group.to_string(), option.to_string(), price.to_string()]
            })
        });
        let rows: Vec<[String; 3]> = rows.collect();
        let choices = self.choices.map(|choice| match choice {
            Some(choice) => choice.to_string(),
            None => "-".to_owned(),
        });
        let shown = Shown::new()
            .row([model, number.to_string()])
            .row(choices)
            .rows(rows);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (*a, &**b)).collect();
        self.post(&format!("customize{number}"), &fields, shown)
    }

    /// The stage of the page before, from 0.
    fn stage_before(&self) -> Option<usize> {
        let page = self.before?;
        (FIRST_STAGE..=LAST_STAGE)
            .contains(&page)
            .then(|| page - FIRST_STAGE)
    }

    /// Chooses an option of each group of a stage, and keeps the choice.
    fn choose(&mut self, draw: &mut Draw<'_>, stage: usize) -> String {
        let digits: String = (0..ecommerce::GROUPS)
            .map(|_| draw.below(ecommerce::OPTIONS).to_string())
            .collect();
        if let Some(choice) = self.choices.get_mut(stage) {
            *choice = Choice::parse(&digits);
        }
        digits
    }

    /// A customized product is added; after that its quantity changes.
    fn cart(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        if self.before == Some(CART) {
            self.asked_quantity = draw.one_of(ecommerce::MOST_QUANTITY);
            let quantity = self.asked_quantity.to_string();
            let shown = self.cart_rows(draw, self.asked_quantity);
            let fields = [
                ("action", "update"),
                ("line", "0"),
                ("quantity", &*quantity),
            ];
            return self.post("cart", &fields, shown);
        }
        let chosen = self.choose(draw, LAST_STAGE - FIRST_STAGE);
        let model = self.model.to_string();
        self.asked_quantity = 1;
        let shown = self.cart_rows(draw, 1);
        let fields = [("action", "add"), ("i", &*model), ("o", &*chosen)];
        self.post("cart", &fields, shown)
    }

    fn cart_rows(&self, draw: &Draw<'_>, quantity: u32) -> Shown {
        let state = &draw.data.state;
        let price = ecommerce::price(state, self.model, &self.choices, quantity, self.region);
        Shown::new()
            .row([
                self.model.to_string(),
                quantity.to_string(),
                price.total.to_string(),
                price.tax.to_string(),
            ])
            .row([Cents(price.total.0 + price.tax.0).to_string()])
    }

    /// What the cart costs, tax included.
    fn cart_total(&self, draw: &Draw<'_>) -> Cents {
        let state = &draw.data.state;
        let price = ecommerce::price(state, self.model, &self.choices, self.quantity, self.region);
        Cents(price.total.0 + price.tax.0)
    }

    /// Half of all customers are known; the others say where they live.
    fn login(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        self.customer = draw.identity(MODEL.identities_per_slot());
        let customer = self.customer.to_string();
        let password = draw.data.state.password(self.customer);
        if draw.below(2) == 0 {
            let person = Person::new(&draw.data.state, self.customer);
            let shown = Shown::new().row(["known"]).row([
                person.name,
                person.street,
                person.city,
                person.state,
                person.zip,
                person.phone,
            ]);
            let fields = [
                ("customer", &*customer),
                ("password", &*password),
                ("new", "no"),
            ];
            return self.post("login", &fields, shown);
        }
        let Address {
            name,
            street,
            city,
            state,
            zip,
            phone,
        } = draw.address();
        let given = [&name, &street, &city, &state, &zip, &phone];
        let shown = Shown::new().row(["new"]).row(given);
        let fields = [
            ("customer", &*customer),
            ("password", &*password),
            ("new", "yes"),
            ("name", &*name),
            ("street", &*street),
            ("city", &*city),
            ("state", &*state),
            ("zip", &*zip),
            ("phone", &*phone),
        ];
        self.post("login", &fields, shown)
    }

    fn shipping(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        let address = draw.address();
        let method = draw.one_of(ecommerce::SHIPPING_METHODS);
        let state = &draw.data.state;
        self.shipping = ecommerce::shipping_cost(state, self.customer, method);
        let shown = Shown::new().row([
            method.to_string(),
            self.shipping.to_string(),
            ecommerce::shipping_day(state, method).to_string(),
        ]);
        let method = method.to_string();
        let fields = [
            ("street", &*address.street),
            ("city", &*address.city),
            ("state", &*address.state),
            ("zip", &*address.zip),
            ("method", &*method),
        ];
        self.post("shipping", &fields, shown)
    }

    fn billing(&self, draw: &mut Draw<'_>) -> PageRequest {
        let card = draw.one_of(ecommerce::CARDS).to_string();
        let last = draw.below(10_000);
        let number = format!("{}{last:04}", draw.digits(12));
        let shown = Shown::new().row([
            card.clone(),
            "approved".to_owned(),
            ecommerce::masked(last),
            self.total(draw).to_string(),
        ]);
        self.post("billing", &[("card", &*card), ("number", &*number)], shown)
    }

    /// What the order costs, shipping included.
    fn total(&self, draw: &Draw<'_>) -> Cents {
        Cents(self.cart_total(draw).0 + self.shipping.0)
    }

    fn confirm(&self, draw: &Draw<'_>) -> PageRequest {
        let total = self.total(draw);
        let text = total.to_string();
        let state = &draw.data.state;
        let order = confirmation(state, MODEL, ORDER, self.customer, &[&text]);
        let shown = Shown::new().row([format!("{order:010}"), text]);
        self.post("confirm", &[("order", "yes")], shown)
            .writing(vec![(ledger::ORDERS, 1), (ledger::ORDER_CENTS, total.0)])
    }
}

/// Path and size of an image of a product.
fn image(draw: &Draw<'_>, model: u32, class: u32) -> (String, u64) {
    let path = ecommerce::image_path(&draw.data.state, model, class);
    let file = draw.data.shape.locate(path.trim_start_matches('/'));
    (path, file.map_or(0, |file| file.size))
}
