//! Pages that only say something.

use super::{
    html::{Html, Suffix},
    login::form,
};

/// The request came without a customer.
pub(crate) fn not_logged_in(suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open("DVD Store", suffix);
    page.heading("You have not logged in - Please click below to Login to DVD Store");
    form(&mut page, "");
    page.close()
}

/// A heading and a sentence, for statuses other than 200.
pub(crate) fn notice(heading: &str, sentence: &str) -> Vec<u8> {
    let mut page = Html::open("DVD Store", Suffix::default());
    page.heading(heading)
        .raw("<P>")
        .text(sentence)
        .raw("</P>\n");
    page.close()
}
