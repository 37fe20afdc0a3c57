//! The schema as SQL text, in the order in which it is needed: tables, then rows, then what comes
//! after the rows.

use super::{
    dialect::Dialect,
    schema::{Column, ColumnType, REFERENCES, Table},
};

/// What of the schema may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaOptions {
    /// Whether the ten references are declared.
    pub foreign_keys: bool,
    /// Whether payments have a key, `h_id`.
    pub history_key: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            foreign_keys: false,
            history_key: true,
        }
    }
}

/// The statements that make the empty tables, one for each.
///
/// Primary keys are part of them where the engine keeps rows in that order; PostgreSQL and DB2 get
/// theirs from [`after_load`].
#[must_use]
pub fn create_tables(dialect: Dialect, options: SchemaOptions) -> Vec<String> {
    Table::ALL
        .iter()
        .map(|&table| create_table(dialect, options, table))
        .collect()
}

/// The statements that follow when all rows are in: keys, indexes, references, statistics.
#[must_use]
pub fn after_load(dialect: Dialect, options: SchemaOptions) -> Vec<String> {
    let mut statements = Vec::new();
    if keys_come_later(dialect) {
        for table in keyed_tables(options) {
            statements.push(format!(
                "ALTER TABLE {} ADD PRIMARY KEY ({})",
                table.name(),
                table.primary_key().join(", ")
            ));
        }
    }
    // Engines that do not cluster read the name's customer from the index alone when it holds the
    // number too.
    let id = if clusters(dialect) { "" } else { ", c_id" };
    statements.push(format!(
        "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first{id})"
    ));
    statements.push(
        "CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)".to_owned(),
    );
    if options.foreign_keys && dialect != Dialect::Sqlite {
        statements.extend(REFERENCES.iter().enumerate().map(|(number, reference)| {
            format!(
                "ALTER TABLE {} ADD CONSTRAINT oe_reference_{} FOREIGN KEY ({}) REFERENCES {} ({})",
                reference.table.name(),
                number + 1,
                reference.columns.join(", "),
                reference.to.name(),
                reference.to.primary_key().join(", ")
            )
        }));
    }
    if dialect == Dialect::Db2 {
        for table in ["history", "order_line"] {
            statements.push(format!("ALTER TABLE {table} APPEND ON"));
        }
        statements.push("ALTER TABLE item LOCKSIZE TABLE".to_owned());
    }
    statements.extend(statistics(dialect));
    statements
}

/// The statements that remove the tables, references first.
#[must_use]
pub fn drop_tables(dialect: Dialect) -> Vec<String> {
    let guard = if matches!(dialect, Dialect::Db2 | Dialect::Generic) {
        ""
    } else {
        "IF EXISTS "
    };
    let order = [
        Table::OrderLine,
        Table::NewOrders,
        Table::History,
        Table::Orders,
        Table::Stock,
        Table::Customer,
        Table::District,
        Table::Warehouse,
        Table::Item,
        Table::Meta,
    ];
    order
        .iter()
        .map(|table| format!("DROP TABLE {guard}{}", table.name()))
        .collect()
}

/// The statement that inserts one row of the population with `?` for each field, for databases that
/// have no bulk path of ours.
#[must_use]
pub fn insert_row(table: Table) -> String {
    let names: Vec<&str> = table
        .loaded_columns()
        .iter()
        .map(|column| column.name)
        .collect();
    let marks = vec!["?"; names.len()].join(", ");
    format!(
        "INSERT INTO {} ({}) VALUES ({marks})",
        table.name(),
        names.join(", ")
    )
}

fn keyed_tables(options: SchemaOptions) -> impl Iterator<Item = Table> {
    Table::ALL
        .into_iter()
        .filter(move |&table| table != Table::History || options.history_key)
}

fn clusters(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Mariadb | Dialect::Mysql)
}

fn keys_come_later(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Postgresql | Dialect::Db2)
}

fn create_table(dialect: Dialect, options: SchemaOptions, table: Table) -> String {
    let columns = if table == Table::History && !options.history_key {
        table.loaded_columns()
    } else {
        table.columns()
    };
    let mut lines: Vec<String> = columns
        .iter()
        .map(|column| column_line(dialect, column))
        .collect();
    let serial_is_key = dialect == Dialect::Sqlite && table == Table::History;
    if keyed_tables(options).any(|keyed| keyed == table)
        && !keys_come_later(dialect)
        && !serial_is_key
    {
        lines.push(format!("PRIMARY KEY ({})", table.primary_key().join(", ")));
    }
    if dialect == Dialect::Sqlite && options.foreign_keys {
        // SQLite takes references here or never.
        lines.extend(
            REFERENCES
                .iter()
                .filter(|reference| reference.table == table)
                .map(|reference| {
                    format!(
                        "FOREIGN KEY ({}) REFERENCES {} ({})",
                        reference.columns.join(", "),
                        reference.to.name(),
                        reference.to.primary_key().join(", ")
                    )
                }),
        );
    }
    format!(
        "CREATE TABLE {} (\n  {}\n){}",
        table.name(),
        lines.join(",\n  "),
        table_end(dialect, table)
    )
}

fn table_end(dialect: Dialect, table: Table) -> &'static str {
    match dialect {
        Dialect::Mariadb | Dialect::Mysql => {
            " ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin"
        }
        // Short rows live in their key; long ones would make its tree deep.
        Dialect::Sqlite
            if matches!(
                table,
                Table::District | Table::Orders | Table::NewOrders | Table::OrderLine
            ) =>
        {
            " WITHOUT ROWID"
        }
        _ => "",
    }
}

fn column_line(dialect: Dialect, column: &Column) -> String {
    let null = if column.nullable { "" } else { " NOT NULL" };
    let name = column.name;
    match (column.kind, dialect) {
        (ColumnType::Serial, Dialect::Mariadb | Dialect::Mysql) => {
            format!("{name} bigint NOT NULL AUTO_INCREMENT")
        }
        (ColumnType::Serial, Dialect::Sqlite) => format!("{name} integer PRIMARY KEY"),
        (ColumnType::Serial, _) => format!("{name} bigint GENERATED ALWAYS AS IDENTITY NOT NULL"),
        (kind, _) => format!("{name} {}{null}", type_name(dialect, kind)),
    }
}

fn type_name(dialect: Dialect, kind: ColumnType) -> String {
    let collation = if dialect == Dialect::Postgresql {
        " COLLATE \"C\""
    } else {
        ""
    };
    match kind {
        ColumnType::Small => "smallint".to_owned(),
        ColumnType::Int => "integer".to_owned(),
        ColumnType::Serial => "bigint".to_owned(),
        // Cents and ten-thousandths: a decimal of SQLite is a float.
        ColumnType::Decimal(..) if dialect.stores_unscaled() => "integer".to_owned(),
        ColumnType::Decimal(digits, scale) => format!("decimal({digits},{scale})"),
        ColumnType::Char(length) => format!("char({length}){collation}"),
        ColumnType::Varchar(length) => format!("varchar({length}){collation}"),
        // A `timestamp` of these two is converted by time zones and may change itself on update.
        ColumnType::Time if dialect.is_mysql_like() => "datetime".to_owned(),
        ColumnType::Time if dialect == Dialect::Sqlite => "text".to_owned(),
        ColumnType::Time => "timestamp".to_owned(),
    }
}

fn statistics(dialect: Dialect) -> Vec<String> {
    let names = Table::LOADED.iter().map(|table| table.name());
    match dialect {
        Dialect::Mariadb | Dialect::Mysql => vec![format!(
            "ANALYZE TABLE {}",
            names.collect::<Vec<_>>().join(", ")
        )],
        Dialect::Postgresql => vec!["VACUUM (ANALYZE)".to_owned(), "CHECKPOINT".to_owned()],
        Dialect::Sqlite => vec!["ANALYZE".to_owned()],
        Dialect::Db2 => names
            .map(|name| {
                format!(
                    "CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE {name} WITH \
                                 DISTRIBUTION AND DETAILED INDEXES ALL')"
                )
            })
            .collect(),
        Dialect::Generic => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_every_table() {
        for dialect in Dialect::ALL {
            let tables = create_tables(dialect, SchemaOptions::default());
            assert_eq!(tables.len(), 10);
            assert!(tables.iter().all(|text| text.starts_with("CREATE TABLE ")));
            let later = after_load(dialect, SchemaOptions::default());
            assert!(
                later.iter().any(|text| text.contains("orders_customer")),
                "{dialect:?}"
            );
            assert!(
                !later.iter().any(|text| text.contains("FOREIGN KEY")),
                "{dialect:?}"
            );
        }
    }

    #[test]
    fn references_are_declared_on_request() {
        let options = SchemaOptions {
            foreign_keys: true,
            history_key: false,
        };
        let later = after_load(Dialect::Mariadb, options);
        assert_eq!(
            later
                .iter()
                .filter(|text| text.contains("FOREIGN KEY"))
                .count(),
            10
        );
        let sqlite = create_tables(Dialect::Sqlite, options).join(";");
        assert_eq!(sqlite.matches("FOREIGN KEY").count(), 10);
        assert!(!sqlite.contains("h_id"));
        assert!(
            !after_load(Dialect::Postgresql, options)
                .join(";")
                .contains("h_id")
        );
    }

    #[test]
    fn money_is_never_a_float() {
        for dialect in Dialect::ALL {
            let text = create_tables(dialect, SchemaOptions::default())
                .join(";")
                .to_lowercase();
            for word in ["float", "real", "double"] {
                assert!(!text.contains(word), "{dialect:?}: {word}");
            }
        }
    }
}
