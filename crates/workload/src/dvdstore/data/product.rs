//! Products: one row of PRODUCTS, drawn in the order of the kit.

use rookery_cast::index;

use super::Cents;
use crate::dvdstore::{
    Rows, WordLists,
    random::{CRand, GnuRand},
};

/// One row of PRODUCTS; the texts borrow from the word lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product<'w> {
    /// `1..=products`.
    pub id: u64,
    /// `1..=16`, an index (from 1) into [`super::CATEGORIES`].
    pub category: u8,
    /// The two words of the title.
    pub title_words: [&'w str; 2],
    /// First and last name of the actor.
    pub actor_names: [&'w str; 2],
    /// 9.99 to 29.99.
    pub price: Cents,
    /// Whether a search by category finds the product.
    pub special: bool,
    /// The product that buyers of this one also bought, `1..=products`.
    pub common_product: u64,
}

impl Product<'_> {
    /// The title: two words. Titles are unique up to a million products.
    #[must_use]
    pub fn title(&self) -> String {
        self.title_words.join(" ")
    }

    /// The actor: first and last name.
    #[must_use]
    pub fn actor(&self) -> String {
        self.actor_names.join(" ")
    }
}

/// The products, in order of their ids.
#[derive(Clone, Debug)]
pub struct Products<'w> {
    rand: GnuRand,
    words: &'w WordLists,
    products: u64,
    next: u64,
}

impl<'w> Products<'w> {
    /// The products of a database of `rows`, named from `words`; the stream always starts from seed
    /// 1.
    #[must_use]
    pub fn new(rows: Rows, words: &'w WordLists) -> Self {
        Self {
            rand: GnuRand::new(1),
            words,
            products: rows.products,
            next: 1,
        }
    }
}

impl<'w> Iterator for Products<'w> {
    type Item = Product<'w>;

    #[inline]
    fn next(&mut self) -> Option<Product<'w>> {
        if self.next > self.products {
            return None;
        }
        let id = self.next;
        self.next += 1;
        let index = index(id - 1);
        let titles = &self.words.titles;
        let rand = &mut self.rand;
        let category = rand.pick_as::<u8>(1, 16);
        let last_name = usize::from(rand.pick_as(0_u8, 199));
        let first_name = usize::from(rand.pick_as(0_u8, 199));
        let price = Cents(99 + 100 * rand.pick(9, 29));
        // A large catalogue has about 100 specials, not 1 %.
        let one_in = if self.products <= 100_000 {
            100
        } else {
            10_000
        };
        Some(Product {
            id,
            category,
            title_words: [&titles[index / 1000 % 1000], &titles[index % 1000]],
            actor_names: [
                &self.words.first_names[first_name],
                &self.words.last_names[last_name],
            ],
            price,
            special: rand.pick(1, one_in) == one_in,
            common_product: rand.pick(1, self.products),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = index(self.products + 1 - self.next);
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvdstore::Size;

    /// Specials in all and in the categories with the fewest and the most.
    fn specials(size: Size) -> (usize, usize, usize) {
        let mut counts = [0; 16];
        let products = Products::new(size.rows(), WordLists::own());
        products
            .filter(|product| product.special)
            .for_each(|product| counts[usize::from(product.category) - 1] += 1);
        let fewest = counts.into_iter().min().expect("sixteen categories");
        let most = counts.into_iter().max().expect("sixteen categories");
        (counts.iter().sum(), fewest, most)
    }

    #[test]
    fn the_draws_give_the_known_numbers_of_specials() {
        // Known of the kit's own catalogues; any other order of draws gives other numbers.
        assert_eq!(specials(Size::Mb(10)), (104, 3, 11));
        assert_eq!(specials(Size::Gb(1)).0, 1026);
        // Above 100 000 products one in 10 000 is special; counted by an independent generator.
        assert_eq!(specials(Size::Mb(500)).0, 45);
    }

    #[test]
    fn titles_follow_from_the_id_and_actors_from_the_lists() {
        let words = WordLists::own();
        for (product, id) in Products::new(Size::Mb(20).rows(), words).zip(1..) {
            assert_eq!(product.id, id);
            let index = id as usize - 1;
            assert_eq!(
                product.title_words,
                [
                    words.titles[index / 1000].as_str(),
                    words.titles[index % 1000].as_str()
                ]
            );
            assert!(
                words
                    .first_names
                    .iter()
                    .any(|name| name == product.actor_names[0])
            );
            assert!(
                words
                    .last_names
                    .iter()
                    .any(|name| name == product.actor_names[1])
            );
            assert!((999..=2999).contains(&product.price.0) && product.price.0 % 100 == 99);
            assert!(
                (1..=16).contains(&product.category)
                    && (1..=20_000).contains(&product.common_product)
            );
        }
    }

    #[test]
    fn rows_are_printed_with_a_price_of_five_characters() {
        let product = Product {
            id: 7,
            category: 3,
            title_words: ["RED", "SEA"],
            actor_names: ["ANN", "LEE"],
            price: Cents(999),
            special: true,
            common_product: 12,
        };
        let mut out = Vec::new();
        super::super::csv::write_product(&product, super::super::LineEnd::Unix, &mut out);
        assert_eq!(out, b"7,3,RED SEA,ANN LEE, 9.99,1,12\n");
        assert_eq!(
            (product.title(), product.actor()),
            ("RED SEA".to_owned(), "ANN LEE".to_owned())
        );
    }
}
