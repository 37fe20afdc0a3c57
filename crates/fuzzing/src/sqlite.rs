//! Any bytes on a line of the server of SQLite: no more read than there is, and one meaning for
//! both readers of answers.

use rookery_oltp::fuzzing::sqlite_frames;

pub(crate) fn wire(bytes: &[u8]) {
    let frames = sqlite_frames(bytes);
    assert_eq!(frames.disputed, 0);
    // A frame has a length of four bytes and a kind, a value a tag, an answer its affected rows,
    // rows and columns.
    assert!(5 * frames.requests.max(frames.replies) <= bytes.len());
    assert!(frames.values <= bytes.len() && 14 * frames.answers <= bytes.len());
    // What was read whole reads the same before more of the line has come.
    let cut = sqlite_frames(&bytes[..bytes.len() / 2]);
    assert!(cut.requests <= frames.requests && cut.replies <= frames.replies);
}
