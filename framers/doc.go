// Package framers turns messages into bytes and back, in the framings that programs use on stdin
// and stdout: ways to tell where one message ends and the next begins.
//
//	f, err := framers.Parse("chunked:60KiB")
//	w := f.NewWriter(os.Stdout)
//	err = w.WriteMessage(msg)
//	...
//	r := f.NewReader(os.Stdin, framers.WithMaxMessage(1<<20))
//	msg, err := r.ReadMessage() // valid until the next call
//
// A Framing may be shared by goroutines. A Writer or a Reader belongs to one goroutine. If many
// goroutines send on one stream, use a [Mux].
//
// To send many small messages in one system call, give NewWriter a [bufio.Writer], and flush it
// when no more messages are waiting.
//
// The buffer of a Reader takes at most 1.5 times the sum of the message limit and the size of one
// read, even if a header declares more. A Reader of chunks also holds incomplete messages (see
// [WithMaxInFlight]).
//
// No framing checks that a message is JSON, or detects bytes that were altered on the way. The text
// of errors may change: look at their types, fields and causes.
//
// # Behaviours
//
// The tables say what a Reader does with unusual input, and in their last two lines what a Writer
// does with unusual messages:
//
//   - "a message", "a length" or "data": the Reader takes the bytes for that.
//   - "next read": the next ReadMessage continues with what follows in the stream.
//   - "goes on": the message that the chunk belongs to can still become complete.
//   - "the end": the Reader gives up the stream, because its policy is [Close].
//   - "same, Resync": the input of the line above, but the policy is [Resync].
//   - "cut at the end": the stream ends inside a message.
//
// If a stream ends between two messages, the Reader returns io.EOF.
//
//	                   ndjson                  content-length          length-prefix
//	blank line         skipped                 ErrNoLength             a length
//	CR LF              as LF                   and LF                  data
//	space around       dropped                 kept                    kept
//	cut at the end     a message               ErrUnexpectedEOF        ErrUnexpectedEOF
//	garbage before     a message               HeaderError, next read  a length
//	beyond the limit   TooLargeError, the end  TooLargeError, the end  TooLargeError, the end
//	same, Resync       next read               next read               next read
//	sending empty      ErrEmpty                sent                    sent
//	sending a newline  ErrNewline              sent                    sent
//
//	                    chunked                  adaptive
//	blank line          skipped                  skipped
//	CR LF               CR is data               as LF, in a frame data
//	space around        kept                     dropped, in a frame kept
//	cut at the end      ErrUnexpectedEOF         a line a message
//	garbage before      ErrMalformed, next read  a message
//	beyond the limit    TooLargeError, the end   TooLargeError, the end
//	same, Resync        next read                next read
//	chunks interleaved  reassembled              reassembled
//	chunk twice         ErrDuplicate, goes on    ErrDuplicate, goes on
//	chunk missing       ErrMissing, ErrExpired   ErrMissing, ErrExpired
//	sending empty       sent                     sent as a frame
//	sending a newline   ErrNewline               ErrNewline
package framers
