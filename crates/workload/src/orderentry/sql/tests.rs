//! The texts: numbers of parameters, golden texts where no server can try them.

use std::collections::BTreeSet;

use super::*;

#[test]
fn indexes_are_small_and_their_own() {
    for dialect in Dialect::ALL {
        for style in Style::ALL
            .into_iter()
            .filter(|style| style.on(dialect).is_ok())
        {
            let statements = Statement::used(style, dialect);
            let indexes: BTreeSet<_> = statements
                .iter()
                .map(|statement| statement.index())
                .collect();
            assert_eq!(indexes.len(), statements.len(), "{dialect:?} {style:?}");
            assert!(indexes.iter().all(|&index| index < Statement::COUNT));
            let texts: BTreeSet<_> = statements
                .iter()
                .map(|statement| statement.sql(dialect))
                .collect();
            let begins = usize::from(dialect != Dialect::Sqlite);
            let same = texts.len() + begins;
            assert!(
                same >= statements.len() - 1,
                "{dialect:?} {style:?}: texts are different"
            );
        }
    }
}

#[test]
fn plain_needs_about_forty_statements() {
    let count = Statement::used(Style::Plain, Dialect::Mariadb).len();
    assert!((40..=50).contains(&count), "{count}");
}

#[test]
fn styles_are_refused_where_they_do_not_exist() {
    assert!(Style::Procs.on(Dialect::Postgresql).is_ok());
    let error = Style::Procs
        .on(Dialect::Sqlite)
        .expect_err("SQLite has no procedures");
    assert_eq!(
        error.to_string(),
        "sqlite has no statements = \"procs\"; use plain, batched or pipelined"
    );
    assert!(Style::Batched.on(Dialect::Generic).is_err());
    assert_eq!("pipelined".parse(), Ok(Style::Pipelined));
    assert!("fast".parse::<Style>().is_err());
}

#[test]
fn nothing_is_left_to_fill_in() {
    for dialect in Dialect::ALL {
        for style in Style::ALL
            .into_iter()
            .filter(|style| style.on(dialect).is_ok())
        {
            for statement in Statement::used(style, dialect) {
                let text = statement.sql(dialect);
                assert!(!text.contains('{') && !text.contains("  "), "{text}");
                assert_eq!(
                    text.contains('?'),
                    dialect != Dialect::Postgresql && text.contains('?'),
                    "{text}"
                );
            }
        }
        let procedures = create_procedures(dialect);
        assert!(procedures.iter().all(|text| !text.contains('{')));
        assert_eq!(procedures.len(), drop_procedures(dialect).len());
    }
}

#[test]
fn odbc_gets_marks_in_every_dialect() {
    for dialect in Dialect::ALL {
        for statement in Statement::used(Style::Plain, dialect) {
            let text = statement.sql_with_marks(dialect);
            assert_eq!(dialect.placeholders(text.clone()), statement.sql(dialect));
            assert!(!text.contains('$'), "{text}");
        }
    }
}

#[test]
fn other_dialects_keep_their_texts() {
    let texts: Vec<String> = [Dialect::Mariadb, Dialect::Postgresql, Dialect::Sqlite]
        .into_iter()
        .flat_map(|dialect| {
            [
                Statement::with_variant(Verb::StockForUpdate, 3).sql(dialect),
                Statement::with_variant(Verb::StocksUpdate, 2).sql(dialect),
                Statement::with_variant(Verb::CustomersDeliver, 2).sql(dialect),
                Statement::with_variant(Verb::InsertLines, 2).sql(dialect),
                Statement::one(Verb::BeginWrite).sql(dialect),
            ]
        })
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}
