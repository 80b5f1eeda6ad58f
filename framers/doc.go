// Package framers turns messages into bytes and back, by the framings that programs use on stdin
// and stdout. Its Readers are exact about what they accept, and hold a bounded number of bytes.
//
//	f, err := framers.Parse("chunked:60KiB")
//	w := f.NewWriter(os.Stdout)
//	err = w.WriteMessage(msg)
//	...
//	r := f.NewReader(os.Stdin, framers.WithMaxMessage(1<<20))
//	msg, err := r.ReadMessage() // valid until the next call
//
// A Framing may be shared. A Writer and a Reader belong to one goroutine each; a [Mux] is for many.
// What a Writer accepts, a Reader with the same options gives back unchanged, however the bytes are
// cut on the way. To send many small messages in one system call, make the Writer over a
// [bufio.Writer], and flush that when no more messages are at hand.
//
// # Behaviours
//
// The tables say what a Reader does with unusual input, and in their last two lines what a Writer
// does with unusual messages. "The end" means that the Reader gives the stream up, by the policy
// [Close]; with the policy [Resync] ("same, Resync") it reads on. "Cut at the end" is a stream that
// ends inside a message. If a byte stream ends between messages, the Reader returns io.EOF. An
// error of the underlying reader, such as a deadline, loses nothing. ndjson-bytewise and
// ndjson-rescan behave like ndjson, but hold a whole line before they look at its length.
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
// A Reader reads 256 KiB at a time (WithReadBuffer) into a buffer of that size, and messages are
// slices of it. For a message that does not fit, the buffer grows as bytes arrive, not when a
// header declares a size. While it grows, the old and the new buffer together take at most
// 1.5 × the limit and one read. After 32 messages in a row that would have fitted a quarter of it,
// a grown buffer is given back.
//
// A Reader of chunks also holds the messages of which chunks are missing, as many as
// WithMaxInFlight allows. A message whose chunks come out of order is held twice while it is put
// together. For the next messages such a Reader keeps at most one large buffer: its read buffer, or
// that of a message of several chunks. Its Reset drops the incomplete messages and gives their
// memory back (see [Resetter]).
//
// # Speed
//
// After warm-up nothing is allocated for a message, on either side, unless the chunks of several
// messages are interleaved. A Writer sends most frames in one call, into which it copies header and
// message together. Three kinds of writers are served differently: a [Vectored] gets a frame of
// 16 KiB or more as a gather list, without a copy; an *os.File gets a frame of more than 64 KiB in
// two or three writes, of which the first is a copy of 64 KiB at most; a bufio.Writer gets every
// frame piece by piece. WithWriteSize bounds each call, except those to a bufio.Writer.
//
// Some processors copy slowly if the destination lies 1 to 31 bytes behind the source, counted
// modulo 4096 (measured: AMD Zen 3, 4 to 5 times as slowly). There the place of buffers in memory
// matters more than the framing. Read buffers therefore begin at offset 128 of a page
// (WithReadOffset). And a Vectored gets a header in a call of its own if the message has 16 KiB or
// more and would otherwise be copied to such an address. This concerns messages at the start of a
// page, where Go allocates large ones, behind the 4 bytes of a length-prefix header or the 25 of a
// content-length header. On a processor that copies equally fast everywhere (AMD Zen 5) the extra
// call is lost time: 12 % at 16 KiB, 3 to 4 % at 24 to 32 KiB, 1 % at 65,000 B.
//
// "go test ./framers -run TestFigures -figures 15" measures these framings and those of other
// packages, through a pipe on one CPU, as ratios to plain reads into one buffer, without any
// framing. "pipebench help framings" tells what was found, and why.
//
// # What is not promised
//
// Nothing here looks into a message: whether it is JSON is the caller's question. No framing
// detects bytes that were altered on the way. The text of errors may change: programs should look
// at their types, fields and causes.
package framers
