//! Tables as Parquet files: one per table, optional columns, compressed by Snappy.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::Type,
};
use rookery_store::{Cell, CellKind};

use crate::{Column, ExportError, Table, TableWriter};

/// Cells that are gathered before they are written as a row group.
const CELLS_OF_GROUP: usize = 1 << 18;

/// One Parquet file per table in a directory.
#[derive(Debug)]
pub struct ParquetFiles {
    directory: PathBuf,
    open: Option<OpenTable>,
}

#[derive(Debug)]
struct OpenTable {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Gathered>,
    /// Rows in `columns`.
    rows: usize,
}

/// Cells of a column that wait to be written: the values, and for every row whether it has one.
#[derive(Debug)]
struct Gathered {
    values: Values,
    present: Vec<i16>,
}

#[derive(Debug)]
enum Values {
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl ParquetFiles {
    /// Files in `directory`, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(directory: &Path) -> Result<Self, ExportError> {
        std::fs::create_dir_all(directory).map_err(|error| ExportError::write(directory, error))?;
        Ok(Self {
            directory: directory.to_owned(),
            open: None,
        })
    }
}

impl TableWriter for ParquetFiles {
    fn begin(&mut self, table: &'static Table) -> Result<(), ExportError> {
        let path = self.directory.join(format!("{}.parquet", table.name));
        let file = File::create(&path).map_err(|error| ExportError::write(&path, error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let writer = schema(table)
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)))
            .map_err(|error| failed(&path, error))?;
        self.open = Some(OpenTable {
            path,
            writer,
            columns: table.columns.iter().map(Gathered::new).collect(),
            rows: 0,
        });
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        let Some(table) = &mut self.open else {
            return Ok(());
        };
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        table.rows += 1;
        if table.rows * cells.len() >= CELLS_OF_GROUP {
            table.write_group()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let Some(mut table) = self.open.take() else {
            return Ok(());
        };
        table.write_group()?;
        let OpenTable { path, writer, .. } = table;
        let file = writer.into_inner().map_err(|error| failed(&path, error))?;
        file.sync_all()
            .map_err(|error| ExportError::write(&path, error))
    }
}

impl OpenTable {
    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let columns = &mut self.columns;
        let group = self.writer.next_row_group();
        group
            .and_then(|mut group| {
                for column in columns {
                    column.write(&mut group)?;
                }
                group.close().map(|_| ())
            })
            .map_err(|error| failed(&self.path, error))
    }
}

impl Gathered {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            CellKind::Whole => Values::Whole(Vec::new()),
            CellKind::Number => Values::Number(Vec::new()),
            CellKind::Flag => Values::Flag(Vec::new()),
            CellKind::Text => Values::Text(Vec::new()),
        };
        Self {
            values,
            present: Vec::new(),
        }
    }

    /// A cell of another kind than its column counts as none; there are none by the tests over all
    /// tables.
    fn push(&mut self, cell: &Cell<'_>) {
        let present = match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(number)) => push(values, *number),
            (Values::Number(values), Cell::Number(number)) => push(values, *number),
            (Values::Flag(values), Cell::Flag(flag)) => push(values, *flag),
            (Values::Text(values), Cell::Text(text)) => push(values, text.as_bytes().into()),
            _ => 0,
        };
        self.present.push(present);
    }

    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, File>,
    ) -> Result<(), ParquetError> {
        match &mut self.values {
            Values::Whole(values) => write_column::<Int64Type>(group, values, &self.present),
            Values::Number(values) => write_column::<DoubleType>(group, values, &self.present),
            Values::Flag(values) => write_column::<BoolType>(group, values, &self.present),
            Values::Text(values) => write_column::<ByteArrayType>(group, values, &self.present),
        }?;
        self.present.clear();
        Ok(())
    }
}

fn push<T>(values: &mut Vec<T>, value: T) -> i16 {
    values.push(value);
    1
}

fn write_column<D: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &mut Vec<D::T>,
    present: &[i16],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column too many".to_owned()));
    };
    column
        .typed::<D>()
        .write_batch(values, Some(present), None)?;
    values.clear();
    column.close()
}

fn schema(table: &Table) -> Result<Arc<Type>, ParquetError> {
    let fields = table
        .columns
        .iter()
        .map(|column| {
            let (physical, logical) = match column.kind {
                CellKind::Whole => (Physical::INT64, None),
                CellKind::Number => (Physical::DOUBLE, None),
                CellKind::Flag => (Physical::BOOLEAN, None),
                CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            Type::primitive_type_builder(column.name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(table.name)
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

fn failed(path: &Path, error: ParquetError) -> ExportError {
    ExportError::write(path, io::Error::other(error))
}
