//! Request targets of the pages, as the original driver sends them.

use super::{LineItem, NewCustomer, Search};
use crate::digits::push_number;

/// Where the pages are, and in which dialect their fields are written.
///
/// Every method appends one request target, such as `/ds2/dslogin.php?username=..`, to `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSite<'a> {
    /// Directory of the pages, `ds2` by default; slashes at its ends do not matter.
    pub directory: &'a str,
    /// Suffix of the pages. `php` takes array fields with brackets (`item[]`); every other type
    /// repeats plain fields.
    pub page_type: &'a str,
}

impl PageSite<'_> {
    /// The start page.
    pub fn index(&self, out: &mut Vec<u8>) {
        self.directory(out);
        out.extend_from_slice(b"index.html");
    }

    /// The login of a customer.
    pub fn login(&self, out: &mut Vec<u8>, username: &str, password: &str) {
        self.page(out, "dslogin");
        text(out, "?username=", username);
        text(out, "&password=", password);
    }

    /// The registration of a new customer under `username`.
    pub fn new_customer(&self, out: &mut Vec<u8>, person: &NewCustomer, username: &str) {
        self.page(out, "dsnewcustomer");
        text(out, "?firstname=", person.first_name());
        text(out, "&lastname=", person.last_name());
        out.extend_from_slice(b"&address1=");
        phone(out, person);
        out.extend_from_slice(b"%20Dell%20Way&address2=");
        text(out, "&city=", person.city());
        text(out, "&state=", person.state);
        match person.zip {
            Some(zip) => number(out, "&zip=", u64::from(zip)),
            None => out.extend_from_slice(b"&zip="),
        }
        text(out, "&country=", person.country);
        text(out, "&email=", person.last_name());
        out.extend_from_slice(b"@dell.com&phone=");
        phone(out, person);
        number(out, "&creditcardtype=", u64::from(person.card_type));
        number(out, "&creditcard=", u64::from(person.card_halves[0]));
        number(out, "", u64::from(person.card_halves[1]));
        number(out, "&ccexpmon=", u64::from(person.expiration_month));
        number(out, "&ccexpyr=", u64::from(person.expiration_year));
        text(out, "&username=", username);
        text(out, "&password=", NewCustomer::PASSWORD);
        number(out, "&age=", u64::from(person.age));
        number(out, "&income=", u64::from(person.income));
        text(out, "&gender=", person.gender);
    }

    /// A search for at most `limit` rows on behalf of `customer`; the fields of the other kinds of
    /// search are sent empty.
    pub fn browse(&self, out: &mut Vec<u8>, search: &Search<'_>, limit: u32, customer: u64) {
        self.page(out, "dsbrowse");
        match *search {
            Search::Category(category) => {
                number(
                    out,
                    "?browsetype=category&browse_category=",
                    u64::from(category),
                );
                out.extend_from_slice(b"&browse_actor=&browse_title=");
            }
            Search::Actor { first, last } => {
                text(
                    out,
                    "?browsetype=actor&browse_category=&browse_actor=",
                    first,
                );
                text(out, "%20", last);
                out.extend_from_slice(b"&browse_title=");
            }
            Search::Title { first, second } => {
                text(
                    out,
                    "?browsetype=title&browse_category=&browse_actor=&browse_title=",
                    first,
                );
                text(out, "%20", second);
            }
        }
        number(out, "&limit_num=", u64::from(limit));
        number(out, "&customerid=", customer);
    }

    /// The confirmed purchase of `items`.
    pub fn purchase(&self, out: &mut Vec<u8>, customer: u64, items: &[LineItem]) {
        self.page(out, "dspurchase");
        number(out, "?confirmpurchase=yes&customerid=", customer);
        let (item, quantity) = if self.page_type == "php" {
            ("&item%5B%5D=", "&quan%5B%5D=")
        } else {
            ("&item=", "&quan=")
        };
        for line in items {
            number(out, item, line.product);
            number(out, quantity, u64::from(line.quantity));
        }
    }

    fn directory(&self, out: &mut Vec<u8>) {
        out.push(b'/');
        let directory = self.directory.trim_matches('/');
        if !directory.is_empty() {
            for byte in directory.bytes() {
                if byte == b'/' {
                    out.push(byte)
                } else {
                    encode(out, byte)
                }
            }
            out.push(b'/');
        }
    }

    fn page(&self, out: &mut Vec<u8>, name: &str) {
        self.directory(out);
        out.extend_from_slice(name.as_bytes());
        text(out, ".", self.page_type);
    }
}

/// Appends `prefix` as it is, then `value` encoded.
fn text(out: &mut Vec<u8>, prefix: &str, value: &str) {
    out.extend_from_slice(prefix.as_bytes());
    for byte in value.bytes() {
        encode(out, byte);
    }
}

fn number(out: &mut Vec<u8>, prefix: &str, value: u64) {
    out.extend_from_slice(prefix.as_bytes());
    push_number(value, out);
}

/// Area code and number, both without padding.
fn phone(out: &mut Vec<u8>, person: &NewCustomer) {
    number(out, "", u64::from(person.phone_area));
    number(out, "", u64::from(person.phone_number));
}

/// Percent-encodes all but unreserved characters and `@`, which the original driver leaves as it
/// is.
fn encode(out: &mut Vec<u8>, byte: u8) {
    if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
        out.push(byte);
    } else {
        let hex = |nibble: u8| b"0123456789ABCDEF"[usize::from(nibble)];
        out.extend_from_slice(&[b'%', hex(byte >> 4), hex(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHP: PageSite<'_> = PageSite {
        directory: "ds2",
        page_type: "php",
    };

    fn target(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("targets are ASCII")
    }

    #[test]
    fn targets_are_those_of_the_original_driver() {
        assert_eq!(target(|out| PHP.index(out)), "/ds2/index.html");
        assert_eq!(
            target(|out| PHP.login(out, "user7", "password")),
            "/ds2/dslogin.php?username=user7&password=password"
        );
        let search = Search::Title {
            first: "RED",
            second: "SEA",
        };
        assert_eq!(
            target(|out| PHP.browse(out, &search, 5, 9)),
            "/ds2/dsbrowse.php?browsetype=title&browse_category=&browse_actor=&browse_title=RED%20SEA&limit_num=5&customerid=9"
        );
        let search = Search::Actor {
            first: "ANN",
            last: "BRAUN-FISHER",
        };
        assert_eq!(
            target(|out| PHP.browse(out, &search, 1, 9)),
            "/ds2/dsbrowse.php?browsetype=actor&browse_category=&browse_actor=ANN%20BRAUN-FISHER&browse_title=&limit_num=1&customerid=9"
        );
        assert_eq!(
            target(|out| PHP.browse(out, &Search::Category(16), 9, 9)),
            "/ds2/dsbrowse.php?browsetype=category&browse_category=16&browse_actor=&browse_title=&limit_num=9&customerid=9"
        );
    }

    #[test]
    fn brackets_are_sent_to_php_only() {
        let items = [
            LineItem {
                product: 39,
                quantity: 2,
            },
            LineItem {
                product: 10_000,
                quantity: 1,
            },
        ];
        assert_eq!(
            target(|out| PHP.purchase(out, 7, &items)),
            "/ds2/dspurchase.php?confirmpurchase=yes&customerid=7&item%5B%5D=39&quan%5B%5D=2&item%5B%5D=10000&quan%5B%5D=1"
        );
        for page_type in ["jsp", "aspx", "html"] {
            let site = PageSite {
                directory: "ds2",
                page_type,
            };
            let expected = format!(
                "/ds2/dspurchase.{page_type}?confirmpurchase=yes&customerid=7&item=39&quan=2&item=10000&quan=1"
            );
            assert_eq!(target(|out| site.purchase(out, 7, &items)), expected);
        }
    }

    #[test]
    fn new_customers_send_every_field_in_order_also_the_empty_ones() {
        let mut person = NewCustomer {
            first_name: *b"ABCDEF",
            last_name: *b"GHIJKLMNOP",
            city: *b"QRSTUVW",
            state: "NV",
            zip: Some(42),
            country: "US",
            phone_area: 100,
            phone_number: 7,
            card_type: 3,
            card_halves: [12_345_678, 87_654_321],
            expiration_month: 4,
            expiration_year: 2010,
            age: 18,
            income: 20_000,
            gender: "F",
        };
        assert_eq!(
            target(|out| PHP.new_customer(out, &person, "newuser5")),
            "/ds2/dsnewcustomer.php?firstname=ABCDEF&lastname=GHIJKLMNOP&address1=1007%20Dell%20Way&address2=&city=QRSTUVW&state=NV&zip=42\
             &country=US&email=GHIJKLMNOP@dell.com&phone=1007&creditcardtype=3&creditcard=1234567887654321&ccexpmon=4&ccexpyr=2010\
             &username=newuser5&password=password&age=18&income=20000&gender=F"
        );
        (person.state, person.zip, person.country) = ("", None, "South Africa");
        assert!(
            target(|out| PHP.new_customer(out, &person, "u"))
                .contains("&state=&zip=&country=South%20Africa&email=")
        );
    }

    #[test]
    fn nothing_that_a_user_supplies_can_end_the_request_line() {
        let site = PageSite {
            directory: "/a b/c/",
            page_type: "php",
        };
        assert_eq!(
            target(|out| site.login(out, "a&b=c\r\nX", "%é")),
            "/a%20b/c/dslogin.php?username=a%26b%3Dc%0D%0AX&password=%25%C3%A9"
        );
        assert_eq!(
            target(|out| PageSite {
                directory: "",
                page_type: "php"
            }
            .index(out)),
            "/index.html"
        );
    }
}
