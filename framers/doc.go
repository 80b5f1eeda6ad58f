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
// A Framing may be shared. A Writer, a Reader, a Coalescer and a File belong to one goroutine each;
// a [Mux] is for many. What a Writer accepts, a Reader with the same options gives back unchanged,
// however the bytes are cut on the way.
//
// # Behaviours
//
// What a Reader makes of oddities, and a Writer of messages:
//
//	                    ndjson                  content-length          chunked                  adaptive                  length-prefix
//	blank line          skipped                 ErrNoLength             skipped                  skipped                   a length
//	CR LF               as LF                   and LF                  CR is data               as LF, in a frame data    data
//	space around        dropped                 kept                    kept                     dropped, in a frame kept  kept
//	cut at the end      a message               ErrUnexpectedEOF        ErrUnexpectedEOF         a line a message          ErrUnexpectedEOF
//	garbage before      a message               HeaderError, next read  ErrMalformed, next read  a message                 a length
//	beyond the limit    TooLargeError, the end  TooLargeError, the end  TooLargeError, the end   TooLargeError, the end    TooLargeError, the end
//	same, Resync        next read               next read               next read                next read                 next read
//	chunks interleaved  -                       -                       reassembled              reassembled               -
//	chunk twice         -                       -                       ErrDuplicate, goes on    ErrDuplicate, goes on     -
//	chunk missing       -                       -                       ErrMissing, ErrExpired   ErrMissing, ErrExpired    -
//	sending empty       ErrEmpty                sent                    sent                     sent as a frame           sent
//	sending a newline   ErrNewline              sent                    ErrNewline               ErrNewline                sent
//
// "The end" is of the stream, by the policy [Close]; [Resync] reads on. ndjson-bytewise and
// ndjson-rescan do as ndjson, but hold a line whole before they look at its length. A byte stream
// that ends between messages ends with io.EOF. An error of the underlying reader, such as a
// deadline, loses nothing.
//
// # Memory
//
// A Reader reads 256 KiB at a time (WithReadBuffer) into a buffer of that size, and messages are
// slices of it. A message that does not fit has the buffer grow with what arrives, never with what
// is declared, to 1.5 × the limit and one read at most while it grows. After 32 messages in a row
// that would have fitted a quarter of it, a grown buffer is given back. Beside its buffer, a chunk
// reader holds the messages that frames of others have interrupted, as WithMaxInFlight allows; a
// message whose chunks come out of order is held twice while it is put together. By the same rule
// as its own it keeps the buffer of one large message for the next, and instead of its own where
// both would be large.
//
// # Speed
//
// After warm-up nothing is allocated for a message, on either side. A Writer sends a message in one
// system call: a copy below 16 KiB, a gather list above where the stream is a [Vectored] or an
// *os.File (writev through SyscallConn). The chunk reader puts most data where it belongs in the
// message as it is read.
//
// "go test ./framers -run TestFigures -figures 15" measures all of it beside other packages,
// through a pipe on one core, as ratios to bytes that are read into one buffer whatever comes. On a
// virtual machine of 2 CPUs with 2 MiB of second-level cache each (Linux 6.18, Go 1.26.8; medians
// of 15 interleaved rounds):
//
//	                 256 B  4 KiB  64 KiB  1 MiB  16 MiB
//	ndjson             .91    .66     .73    .80     .62
//	content-length     .85    .70     .82    .80     .73
//	chunked:61440      .71    .60     .68    .65     .59
//	length-prefix      .93    .70     .84    .80     .66
//	received whole     .58    .83    1.00    .82     .73
//
// and on one with an AMD EPYC, 1 MiB of second-level cache a CPU, which moves 4 KiB at 8.9 GB/s
// where the other did 5:
//
//	                 256 B  4 KiB  64 KiB  1 MiB  16 MiB
//	ndjson             .87    .62     .72    .73     .55
//	content-length     .84    .66     .77    .86     .61
//	chunked:61440      .69    .59     .66    .68     .50
//	length-prefix      .89    .67     .78    .88     .61
//	received whole     .59    .79    1.00    .93     .66
//
// The last line is no framing, but the same bytes read whole into a buffer of the message's size,
// once for each message. It bounds what delivers messages whole: at 16 MiB they come from memory
// and not from the cache. On the first machine that varied from .57 to .81 between five runs of the
// program, and the framings with it (length-prefix .65 to .72, content-length .64 to .75, ndjson
// .51 to .66); a byte costs 1.7 times that of 1 MiB to receive whole, 1.9 times as ndjson, whose
// Writer looks at all of a message, at 29 GB/s, before it sends a byte. At 4 KiB three quarters of
// the time are system calls, and the byte of a newline begins a page of the pipe.
//
// # What is not promised
//
// Nothing here looks into a message: whether it is JSON is the caller's question. No framing
// detects bytes that were altered on the way. The text of errors may change; their types, fields
// and causes are what to read.
package framers
