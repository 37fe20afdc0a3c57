//! Statements and answers as text, over the same client that terminals use: schema, checks, and
//! rows in bulk.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    client::MysqlClient,
    packet::{self, Done, Reader, column_count},
};
use crate::{
    ClientError,
    limits::{LARGEST_ANSWER, MessageRefusal},
    options::TextRow,
};

/// Stands for null in a row of text.
const NULL: u8 = 0xfb;

impl MysqlClient {
    /// Executes a statement, and gives the rows of its first result.
    pub(crate) async fn rows(&mut self, statement: &str) -> Result<Vec<TextRow>, ClientError> {
        self.text(statement);
        self.send().await?;
        let mut rows = Vec::new();
        let answered = self.read_text(&mut rows).await;
        self.landed(answered.map(|_| rows))
    }

    /// Executes a `LOAD DATA LOCAL INFILE`, whose file is what `next` gives until it gives nothing.
    /// Gives the rows that were stored, and the number of warnings. Each step may take as long as
    /// `patience`.
    pub(crate) async fn load_local(
        &mut self,
        statement: &str,
        patience: Duration,
        next: impl FnMut() -> Option<Vec<u8>>,
    ) -> Result<(u64, u64), ClientError> {
        self.text(statement);
        self.send().await?;
        let answered = self.send_local(patience, next).await;
        self.landed(answered.map(|done| (done.affected, done.warnings)))
    }

    async fn send_local(
        &mut self,
        patience: Duration,
        mut next: impl FnMut() -> Option<Vec<u8>>,
    ) -> Result<Done, ClientError> {
        let late = |_| ClientError::Timeout(patience);
        let (packet, number) = timeout(patience, self.read_packet())
            .await
            .map_err(late)??;
        match packet.first() {
            // Whatever file the server names, it gets our rows.
            Some(0xfb) => {}
            Some(0xff) => return Err(packet::error(packet)),
            _ => {
                return Err(ClientError::Session(
                    "the server does not ask for the rows".to_owned(),
                ));
            }
        }
        let mut number = number.wrapping_add(1);
        let mut out = Vec::new();
        loop {
            let chunk = next();
            out.clear();
            packet::write(&mut out, number, |out| {
                out.extend_from_slice(chunk.as_deref().unwrap_or_default());
            });
            number = number.wrapping_add(1);
            timeout(patience, self.send_bytes(&out))
                .await
                .map_err(late)??;
            if chunk.is_none() {
                break;
            }
        }
        let (packet, _) = timeout(patience, self.read_packet())
            .await
            .map_err(late)??;
        match packet.first() {
            Some(0x00) => packet::done(packet),
            Some(0xff) => Err(packet::error(packet)),
            _ => Err(packet::cut()),
        }
    }

    /// Reads all results of one statement; the rows of the first go into `rows`.
    async fn read_text(&mut self, rows: &mut Vec<TextRow>) -> Result<(), ClientError> {
        let mut bytes = 0;
        let mut is_first = true;
        loop {
            let done = self
                .read_text_result(is_first.then_some(&mut *rows), &mut bytes)
                .await?;
            is_first = false;
            if !done.more {
                return Ok(());
            }
        }
    }

    async fn read_text_result(
        &mut self,
        mut rows: Option<&mut Vec<TextRow>>,
        bytes: &mut usize,
    ) -> Result<Done, ClientError> {
        let (packet, _) = self.read_packet().await?;
        match packet.first() {
            None => return Err(packet::cut()),
            Some(0x00) => return packet::done(packet),
            Some(0xff) => return Err(packet::error(packet)),
            Some(0xfb) => {
                return Err(ClientError::Session(
                    "the server asks for a file".to_owned(),
                ));
            }
            Some(_) => {}
        }
        let count = column_count(&mut Reader(packet))?;
        for _ in 0..count {
            self.read_packet().await?;
        }
        loop {
            let (packet, _) = self.read_packet().await?;
            *bytes += packet.len() + packet::HEADER;
            if *bytes > LARGEST_ANSWER {
                return Err(MessageRefusal::LargeAnswer.into());
            }
            match packet.first() {
                // A text of this length would not fit into a packet.
                Some(0xfe) => return packet::done(packet),
                Some(0xff) => return Err(packet::error(packet)),
                Some(_) => {
                    let row = text_row(packet, count)?;
                    if let Some(rows) = &mut rows {
                        rows.push(row);
                    }
                }
                None => return Err(packet::cut()),
            }
        }
    }
}

fn text_row(packet: &[u8], columns: usize) -> Result<TextRow, ClientError> {
    let mut reader = Reader(packet);
    (0..columns)
        .map(|_| {
            if reader.0.first() == Some(&NULL) {
                reader.bytes(1)?;
                return Ok(None);
            }
            Ok(Some(String::from_utf8_lossy(reader.text()?).into_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_text_has_its_nulls() {
        let row = text_row(b"\x02ab\xfb\x00", 3).expect("whole");
        assert_eq!(row, [Some("ab".to_owned()), None, Some(String::new())]);
        assert!(text_row(b"\x02ab\xfb", 3).is_err(), "a column is missing");
    }
}
