// Package framers turns messages into bytes and back, in the framings that programs use on stdin
// and stdout. Its Readers are strict about what they accept (see the tables below), and hold a
// bounded number of bytes.
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
// A message that a Writer accepted comes out of a Reader with the same options unchanged, however
// the bytes were cut into pieces on the way. To send many small messages in one system call, give
// NewWriter a [bufio.Writer], and flush the bufio.Writer when no more messages are waiting.
//
// # Behaviours
//
// The tables say what a Reader does with unusual input. Their last two lines say what a Writer does
// with unusual messages. Some words in the tables stand for more:
//
//   - "a message", "a length" or "data": the Reader takes the bytes for that.
//   - "next read": the next ReadMessage continues with what follows in the stream.
//   - "goes on": the message that the chunk belongs to can still become complete.
//   - "the end": the Reader gives up the stream, because its policy is [Close].
//   - "same, Resync": the input of the line above, but the policy is [Resync].
//   - "cut at the end": the stream ends inside a message.
//
// If a stream ends between two messages, the Reader returns io.EOF. After an error of the
// underlying reader, such as a deadline that passed, no bytes are lost. The framings
// ndjson-bytewise and ndjson-rescan behave like ndjson, but receive a whole line before they check
// its length.
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
//
// # Memory
//
// A Reader asks for 256 KiB in each read (see WithReadBuffer). Its buffer has the same size, and
// the messages are slices of the buffer. If a message does not fit, the buffer grows as the bytes
// arrive. A header that declares a large size does not make it grow. The old and the new buffer
// together take at most 1.5 times the sum of the limit and the size of one read. After 32
// successive messages that would have fitted a quarter of a grown buffer, the buffer is given back.
//
// A Reader of chunks also holds incomplete messages, as many as WithMaxInFlight allows. If the
// chunks of a message come out of order, the message is held twice while it is put together. Such a
// Reader keeps either a large read buffer or the large buffers of messages of several chunks, never
// both. Its Reset drops the incomplete messages and gives their memory back (see [Resetter]).
//
// # Speed
//
// After warm-up neither a Writer nor a Reader allocates memory for a message. The exceptions are
// chunks that come out of order, and chunks of several messages that are interleaved.
//
// A Writer copies header and message together, and sends most frames in one call. Three kinds of
// underlying writers get frames in another way:
//
//   - A [Vectored] gets a frame of 16 KiB or more as a gather list, without a copy.
//   - An *os.File gets a frame of more than 64 KiB in up to three writes. Each of them is either a
//     copy of at most 64 KiB, or a part of the message that is not copied.
//   - A bufio.Writer gets header and message in calls of their own.
//
// WithWriteSize bounds the bytes of each call, except of those to a bufio.Writer.
//
// Some processors copy slowly if the destination address is 1 to 31 bytes above the source address,
// both counted modulo 4096. On an AMD Zen 3 such a copy took 4 to 5 times as long. On these
// processors the addresses of the buffers matter more than the framing. Two measures avoid slow
// copies. First, read buffers begin at offset 128 of a page (see WithReadOffset). Second, if a
// message of 16 KiB or more would be copied to such an address, a Vectored gets its header in a
// call of its own. For example, Go places a large message at the start of a page, and the kernel
// would copy it behind the 4 bytes of a length-prefix header. On a processor that copies equally
// fast everywhere (AMD Zen 5), the extra call only costs time: 12 % at 16 KiB, 3 to 4 % at 24 to 32
// KiB, 1 % at 65,000 B.
//
// "go test ./framers -run TestFigures -figures 15" measures these framings and framings of other
// packages, through a pipe on one CPU. It prints how each compares with plain reads into one
// buffer, without framing. "pipebench help framings" explains the results.
//
// # What is not promised
//
// Nothing here checks that a message is JSON, and no framing detects bytes that were altered on the
// way. The text of errors may change, so programs should look at the types, fields and causes of
// errors.
package framers
