//! Prepared statements in the binary protocol: calls go out together, answers are read into buffers
//! that are kept.

use rookery_cast::{index, low_u32};
use rookery_workload::orderentry::{
    Dialect,
    transaction::{Answers, Value},
};
use tokio::time::timeout;

use super::{
    handshake::{self, Purpose},
    packet::{self, Done, Reader, column_count},
    value::{self, Column, Others},
};
use crate::{
    ClientError, Target,
    limits::{LARGEST_ANSWER, MessageRefusal},
    socket::{Incoming, Socket},
};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

#[derive(Debug)]
struct Prepared {
    id: u32,
    /// As the server described them last.
    columns: Vec<Column>,
    /// Types that the schema of order entry does not have.
    others: Others,
}

/// A connection to MariaDB or MySQL.
#[derive(Debug)]
pub(crate) struct MysqlClient {
    socket: Socket,
    incoming: Incoming,
    dialect: Dialect,
    keeps_columns: bool,
    out: Vec<u8>,
    prepared: Vec<Prepared>,
    /// The calls that wait in `out`; nothing for a statement that is sent as text.
    calls: Vec<Option<usize>>,
    /// Answers are still under way: what comes next belongs to an earlier call.
    flying: bool,
}

impl Drop for MysqlClient {
    fn drop(&mut self) {
        self.socket.farewell(&[1, 0, 0, 0, COM_QUIT]);
    }
}

impl MysqlClient {
    /// Connects and introduces the target's user, within its patience.
    pub(crate) async fn connect(target: &Target, purpose: Purpose) -> Result<Self, ClientError> {
        let patience = target.patience.answer;
        let connecting = async {
            let socket = Socket::connect_plain(target).await?;
            handshake::greet(socket, target, purpose).await
        };
        let late = |_| ClientError::Timeout(patience);
        let greeted = timeout(patience, connecting).await.map_err(late)??;
        Ok(Self {
            socket: greeted.socket,
            incoming: greeted.incoming,
            dialect: greeted.dialect,
            keeps_columns: greeted.keeps_columns,
            out: Vec::new(),
            prepared: Vec::new(),
            calls: Vec::new(),
            flying: false,
        })
    }

    /// Which of the two databases it is.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Prepares a statement, and gives its number.
    pub(crate) async fn prepare(&mut self, text: &str) -> Result<usize, ClientError> {
        self.prepare_for(text, Others::Refused).await
    }

    /// As [`Self::prepare`], on a schema of any types.
    pub(crate) async fn prepare_any(&mut self, text: &str) -> Result<usize, ClientError> {
        self.prepare_for(text, Others::AsText).await
    }

    async fn prepare_for(&mut self, text: &str, others: Others) -> Result<usize, ClientError> {
        packet::write(&mut self.out, 0, |out| {
            out.push(COM_STMT_PREPARE);
            out.extend_from_slice(text.as_bytes());
        });
        self.send().await?;
        let (answer, _) = self.read_packet().await?;
        if answer.first() == Some(&0xff) {
            let refused = packet::error(answer);
            return self.landed(Err(refused));
        }
        let mut reader = Reader(answer);
        reader.bytes(1)?;
        let id = low_u32(reader.number(4)?);
        let columns = index(reader.number(2)?);
        let parameters = index(reader.number(2)?);
        let mut described = Vec::new();
        self.read_columns(parameters, &mut described).await?;
        self.read_columns(columns, &mut described).await?;
        self.prepared.push(Prepared {
            id,
            columns: described,
            others,
        });
        self.flying = false;
        Ok(self.prepared.len() - 1)
    }

    /// Adds a call of a prepared statement to what is sent next.
    pub(crate) fn call<'a>(
        &mut self,
        statement: usize,
        values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
    ) -> Result<(), ClientError> {
        let Some(prepared) = self.prepared.get(statement) else {
            return Err(ClientError::Session(format!(
                "statement {statement} was not prepared"
            )));
        };
        let id = prepared.id;
        packet::write(&mut self.out, 0, |out| {
            out.push(COM_STMT_EXECUTE);
            out.extend_from_slice(&id.to_le_bytes());
            // No cursor, once.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            value::put_parameters(out, values);
        });
        self.calls.push(Some(statement));
        Ok(())
    }

    /// Drops what was added: half a flight must not go out with a later one.
    pub(crate) fn forget(&mut self) {
        self.out.clear();
        self.calls.clear();
    }

    /// Adds a statement as text to what is sent next.
    pub(crate) fn text(&mut self, statement: &str) {
        packet::write(&mut self.out, 0, |out| {
            out.push(COM_QUERY);
            out.extend_from_slice(statement.as_bytes());
        });
        self.calls.push(None);
    }

    /// Sends what was added and reads all answers. The first error is told, when the last answer
    /// has been read.
    pub(crate) async fn fly(&mut self, answers: &mut Answers) -> Result<(), ClientError> {
        self.send().await?;
        let mut first = None;
        let mut bytes = 0;
        for index in 0..self.calls.len() {
            match self
                .read_answer(self.calls[index], answers, &mut bytes)
                .await
            {
                Ok(()) => {}
                Err(error @ ClientError::Server { .. }) => first = first.or(Some(error)),
                // Where this answer ends is not known.
                Err(error) => return Err(error),
            }
        }
        self.calls.clear();
        self.flying = false;
        first.map_or(Ok(()), Err)
    }

    /// Sends what was added.
    pub(super) async fn send(&mut self) -> Result<(), ClientError> {
        self.begin()?;
        self.socket.send(&self.out).await?;
        self.out.clear();
        Ok(())
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        Ok(self.socket.send(bytes).await?)
    }

    /// The next packet, and its number.
    pub(super) async fn read_packet(&mut self) -> Result<(&[u8], u8), ClientError> {
        let (range, number) = packet::read(&mut self.socket, &mut self.incoming).await?;
        Ok((self.incoming.taken(range), number))
    }

    /// An answer has been read to its end, unless it is an error of another than the server.
    pub(super) fn landed<T>(&mut self, answer: Result<T, ClientError>) -> Result<T, ClientError> {
        if matches!(answer, Ok(_) | Err(ClientError::Server { .. })) {
            self.calls.clear();
            self.flying = false;
        }
        answer
    }

    /// A call that was given up leaves answers behind, which nobody could tell from those to later
    /// calls.
    fn begin(&mut self) -> Result<(), ClientError> {
        if std::mem::replace(&mut self.flying, true) {
            return Err(ClientError::Io(std::io::Error::new(
                std::io::ErrorKind::ConnectionAborted,
                "an earlier call on this connection was given up",
            )));
        }
        Ok(())
    }

    /// A procedure answers with an empty result behind its rows: the first result is the answer.
    async fn read_answer(
        &mut self,
        statement: Option<usize>,
        answers: &mut Answers,
        bytes: &mut usize,
    ) -> Result<(), ClientError> {
        let mut first = None;
        loop {
            let done = self
                .read_result(statement, first.is_none().then_some(&mut *answers), bytes)
                .await?;
            let affected = *first.get_or_insert(done.affected);
            if !done.more {
                answers.end_answer(affected);
                return Ok(());
            }
        }
    }

    async fn read_result(
        &mut self,
        statement: Option<usize>,
        answers: Option<&mut Answers>,
        bytes: &mut usize,
    ) -> Result<Done, ClientError> {
        let keeps_columns = self.keeps_columns;
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
        let mut reader = Reader(packet);
        let count = column_count(&mut reader)?;
        let described = !keeps_columns || reader.number(1)? != 0;
        // Only what is prepared has rows in the binary form, and a place for its columns.
        let Some(statement) = statement else {
            return Err(ClientError::Session(
                "a statement that is not prepared answers with rows".to_owned(),
            ));
        };
        let mut columns = std::mem::take(&mut self.prepared[statement].columns);
        if described {
            self.read_columns(count, &mut columns).await?;
        } else if columns.len() != count {
            return Err(ClientError::Session(
                "the server sends columns that it has not described".to_owned(),
            ));
        }
        let others = self.prepared[statement].others;
        let done = self.read_rows(&columns, others, answers, bytes).await;
        self.prepared[statement].columns = columns;
        done
    }

    async fn read_rows(
        &mut self,
        columns: &[Column],
        others: Others,
        mut answers: Option<&mut Answers>,
        bytes: &mut usize,
    ) -> Result<Done, ClientError> {
        loop {
            let (packet, _) = self.read_packet().await?;
            *bytes += packet.len() + packet::HEADER;
            if *bytes > LARGEST_ANSWER {
                return Err(MessageRefusal::LargeAnswer.into());
            }
            match packet.first() {
                Some(0xfe) => return packet::done(packet),
                Some(0xff) => return Err(packet::error(packet)),
                Some(_) => {
                    if let Some(answers) = &mut answers {
                        value::push_row(packet, columns, others, answers)?;
                    }
                }
                None => return Err(packet::cut()),
            }
        }
    }

    /// Reads `count` descriptions into `columns`, in place of what it held.
    async fn read_columns(
        &mut self,
        count: usize,
        columns: &mut Vec<Column>,
    ) -> Result<(), ClientError> {
        columns.clear();
        for _ in 0..count {
            let (packet, _) = self.read_packet().await?;
            columns.push(Column::parse(packet)?);
        }
        Ok(())
    }
}
