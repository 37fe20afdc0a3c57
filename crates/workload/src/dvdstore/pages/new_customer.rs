//! The form of a new customer.

/// The form of a new customer, without the user name. Names are capital letters, stored without
/// allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCustomer {
    /// First name.
    pub first_name: [u8; 6],
    /// Last name; the mail address is `<last>@dell.com`.
    pub last_name: [u8; 10],
    /// City.
    pub city: [u8; 7],
    /// Two-letter state, empty outside the United States.
    pub state: &'static str,
    /// `0..=99999` printed without padding; nothing outside the United States.
    pub zip: Option<u32>,
    /// `US` or the name of the country.
    pub country: &'static str,
    /// `100..=999`, the first digits of the phone number; the address is `<phone> Dell Way`.
    pub phone_area: u16,
    /// `0..=9999999`, the other digits, without padding.
    pub phone_number: u32,
    /// `1..=5`.
    pub card_type: u8,
    /// The two halves of the card number, eight digits each.
    pub card_halves: [u32; 2],
    /// `1..=12`.
    pub expiration_month: u8,
    /// `2008..=2012`.
    pub expiration_year: u16,
    /// Years, `18..=99`.
    pub age: u8,
    /// 20 000 to 100 000 in steps of 20 000.
    pub income: u32,
    /// `M` or `F`.
    pub gender: &'static str,
}

impl NewCustomer {
    /// The password of every new customer.
    pub const PASSWORD: &'static str = "password";

    /// First name as text.
    #[must_use]
    pub fn first_name(&self) -> &str {
        letters(&self.first_name)
    }

    /// Last name as text.
    #[must_use]
    pub fn last_name(&self) -> &str {
        letters(&self.last_name)
    }

    /// City as text.
    #[must_use]
    pub fn city(&self) -> &str {
        letters(&self.city)
    }
}

fn letters(bytes: &[u8]) -> &str {
    // A caller may fill the fields with other bytes; what is no text is then sent empty.
    std::str::from_utf8(bytes).unwrap_or_default()
}
