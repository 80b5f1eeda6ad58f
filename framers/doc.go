// Package framers turns messages into bytes and back: the framings that programs use on stdin and
// stdout, exact in what they accept and bounded in what they hold.
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
// What a Reader does with unusual input, and a Writer with unusual messages:
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
// "The end" means that the Reader gives the stream up, by the policy [Close]; with [Resync] it
// reads on. ndjson-bytewise and ndjson-rescan behave like ndjson, but hold a whole line before they
// look at its length. A byte stream that ends between messages ends with io.EOF. An error of the
// underlying reader, such as a deadline, loses nothing.
//
// # Memory
//
// A Reader reads 256 KiB at a time (WithReadBuffer) into a buffer of that size, and messages are
// slices of it. For a message that does not fit, the buffer grows as bytes arrive, and never
// because a size is declared; while it grows, it takes at most 1.5 × the limit and one read. After
// 32 messages in a row that would have fitted a quarter of it, a grown buffer is given back.
// Besides its buffer, which holds the frame that comes, a chunk reader holds the messages of which
// chunks are missing, as WithMaxInFlight allows. A message whose chunks come out of order is held
// twice while it is put together. A chunk reader keeps at most one large buffer for the next
// messages: its read buffer, or that of a message of several chunks. Reset drops the incomplete
// messages and gives their memory back.
//
// # Speed
//
// After warm-up nothing is allocated for a message, on either side, unless the chunks of several
// messages are interleaved. A Writer copies the pieces of a frame of less than 16 KiB together and
// sends them in one call. A larger frame goes to a [Vectored] as a gather list, without a copy; to
// an *os.File in two or three writes, the first of which has the header and up to 64 KiB; to a
// bufio.Writer piece by piece; to any other writer in one Write, copied. WithWriteSize bounds each
// call, except those to a bufio.Writer.
//
// Some processors copy slowly if the destination lies 1 to 31 bytes behind the source, counted
// modulo 4096 (measured: AMD Zen 3, 4 to 5 times as slowly). There the place of buffers in memory
// matters more than the framing. Read buffers therefore begin at offset 128 of a page
// (WithReadOffset). And a Vectored gets a header in a call of its own if the payload has 16 KiB or
// more and would be copied to such an address otherwise. This happens to a message at the start of
// a page, where Go allocates large ones, behind the 4 bytes of length-prefix or the 25 of
// content-length. On a processor that copies equally fast everywhere (AMD Zen 5) the extra call is
// lost time: 12 % at 16 KiB, 3 to 4 % at 24 to 32 KiB, 1 % at 65,000 B.
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
