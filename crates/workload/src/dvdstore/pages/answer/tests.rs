//! Tests of reading the pages.

use proptest::prelude::*;

use super::*;

const FORM: &str =
    "<FORM ACTION='./dsbrowse.php' METHOD=GET><INPUT TYPE=HIDDEN NAME=customerid VALUE=123></FORM>";
const HISTORY: &str = "<H3>Your previous purchases:</H3><TABLE border=2><TR><TH>Title</TH></TR>\
    <TR><TD>A B</TD><TD>C D</TD><TD>E F</TD></TR></TABLE>";

fn results(rows: &str) -> String {
    format!("<H2>Search Results</H2><TABLE border=2><TR><TH>Add</TH></TR>{rows}</TABLE>")
}

fn row(id: &str) -> String {
    format!(
        "<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE={id}></TD><TD>RED SEA</TD><TD>ANN \
         LEE</TD><TD>29.99</TD></TR>\n"
    )
}

#[test]
fn the_customer_id_is_read_before_and_after_the_history() {
    for body in [
        format!("x{HISTORY}{FORM}"),
        format!("x{FORM}{HISTORY}"),
        format!("x{FORM}"),
    ] {
        assert_eq!(read_login(body.as_bytes()), Ok(123));
    }
}

#[test]
fn the_customer_id_may_be_quoted_either_way() {
    for value in ["123", "\"123\"", "'123'", " 123 "] {
        let body = format!("<INPUT TYPE=HIDDEN NAME=customerid VALUE={value}>");
        assert_eq!(read_login(body.as_bytes()), Ok(123), "{value}");
    }
    for value in ["", "0", "12a", "\"12", "-5", "9999999999999999999", "\"\""] {
        let body = format!(
            "New Customer Successfully Added <INPUT TYPE=HIDDEN NAME=customerid VALUE={value}>"
        );
        let fault = Err(PageFault::Missing("a customer id that is a number above 0"));
        assert_eq!(read_new_customer(body.as_bytes()), fault, "{value}");
    }
}

#[test]
fn refusals_are_told_from_broken_pages() {
    let refused = b"Username/password incorrect. Please re-enter your username and password";
    assert_eq!(
        read_login(refused),
        Err(PageFault::Rejected("user name or password incorrect"))
    );
    assert_eq!(
        read_login(b"<html>"),
        Err(PageFault::Missing("a customer id"))
    );
    let form = b"New Customer - Please Complete All Required Fields Below (marked with *)";
    assert_eq!(
        read_new_customer(form),
        Err(PageFault::Rejected(
            "a required field of the new customer was empty"
        ))
    );
    let login = b"You have not logged in - Please click below to Login to DVD Store";
    assert_eq!(
        read_browse(login),
        Err(PageFault::Rejected("the customer is not logged in"))
    );
    assert_eq!(
        read_browse(b"Search Results"),
        Err(PageFault::Missing("a table of results"))
    );
}

#[test]
fn new_customers_are_added_or_their_name_is_taken() {
    let added = format!("New Customer Successfully Added.  Click below to begin shopping{FORM}");
    assert_eq!(
        read_new_customer(added.as_bytes()),
        Ok(NewCustomerAnswer::Added(123))
    );
    let taken = b"<H2>Username already in use! Please try another username</H2>";
    assert_eq!(read_new_customer(taken), Ok(NewCustomerAnswer::NameTaken));
}

#[test]
fn results_are_counted_row_by_row() {
    assert_eq!(read_browse(b"<H2>No DVDs Found</H2>"), Ok(0));
    assert_eq!(read_browse(results("").as_bytes()), Ok(0));
    let body = results(&[row("1"), row("\"20\""), row("300")].concat());
    assert_eq!(read_browse(body.as_bytes()), Ok(3));
    let cart = format!(
        "{body}<H2>Shopping Cart</H2><TABLE \
         border=2><TR><TH>Item</TH></TR><TR><TD>1</TD></TR></TABLE>"
    );
    assert_eq!(
        read_browse(cart.as_bytes()),
        Ok(3),
        "rows of a cart are no results"
    );
    assert_eq!(
        read_browse(results(&row("7").repeat(150)).as_bytes()),
        Ok(100),
        "bounded"
    );
}

#[test]
fn rows_that_lack_something_are_faults() {
    let fault =
        |change: &dyn Fn(String) -> String| read_browse(results(&change(row("7"))).as_bytes());
    assert_eq!(fault(&|row| row), Ok(1));
    assert_eq!(
        fault(&|row| row.replace("VALUE=7", "VALUE=x")),
        Err(PageFault::Missing("the product id of a row"))
    );
    assert_eq!(
        fault(&|row| row.replace("RED SEA", "")),
        Err(PageFault::Missing("the title of a row"))
    );
    assert_eq!(
        fault(&|row| row.replace("<TD>ANN LEE</TD>", "")),
        Err(PageFault::Missing("the price of a row"))
    );
    assert_eq!(
        fault(&|row| row.replace("29.99", "free")),
        Err(PageFault::Missing("the price of a row"))
    );
    assert_eq!(
        read_browse(b"<TABLE><tr></tr></TABLE>"),
        Err(PageFault::Missing("the header of the results")),
        "tags are case-sensitive"
    );
}

#[test]
fn purchases_are_ordered_short_or_in_conflict() {
    let ordered = b"Order Completed Successfully --- ORDER NUMBER:  12001</H2>";
    assert_eq!(read_purchase(ordered), Ok(PurchaseAnswer::Ordered(12_001)));
    assert_eq!(
        read_purchase(b"ORDER NUMBER: 7<BR>"),
        Ok(PurchaseAnswer::Ordered(7))
    );
    let short =
        b"Insufficient quantity for prod 39<H3>Insufficient stock - order not processed</H3>";
    assert_eq!(read_purchase(short), Ok(PurchaseAnswer::Shortage));
    assert_eq!(
        read_purchase(b"Insufficient stock - order not processed"),
        Ok(PurchaseAnswer::Conflict)
    );
    for broken in [
        "",
        "Purchase complete",
        "ORDER NUMBER:  </H2>",
        "ORDER NUMBER:  x<",
        "ORDER NUMBER:  12",
    ] {
        assert_eq!(
            read_purchase(broken.as_bytes()),
            Err(PageFault::Missing("an order number")),
            "{broken}"
        );
    }
}

proptest! {
    #[test]
    fn garbage_never_panics_and_never_passes_as_an_order(body in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_login(&body);
        let _ = read_new_customer(&body);
        let _ = read_browse(&body);
        prop_assert!(read_purchase(&body).is_err());
    }

    #[test]
    fn any_cut_of_a_page_is_read_without_panic(cut in 0usize..1000) {
        let page = [results(&row("7").repeat(4)), FORM.to_owned(), HISTORY.to_owned(), "ORDER \
            NUMBER:  7<".to_owned()].concat();
        let body = &page.as_bytes()[..cut.min(page.len())];
        prop_assert!(read_browse(body).is_ok_and(|rows| rows <= 4) || read_browse(body).is_err());
        prop_assert!(matches!(read_purchase(body), Err(_) | Ok(PurchaseAnswer::Ordered(7))));
    }
}
