// Package framers turns messages into bytes and back: the framings that programs use on stdin and stdout, exact in what
// they accept and bounded in what they hold.
//
//	f, err := framers.Parse("chunked:60KiB")
//	w := f.NewWriter(os.Stdout)
//	err = w.WriteMessage(msg)
//	...
//	r := f.NewReader(os.Stdin, framers.WithMaxMessage(1<<20))
//	msg, err := r.ReadMessage() // valid until the next call
//
// A Framing may be shared. A Writer, a Reader, a Coalescer and a File belong to one goroutine each; a [Mux] is for many.
//
// # Memory
//
// A Reader reads 256 KiB at a time (WithReadBuffer) into a buffer of that size, and messages are slices of it. A message
// that does not fit has the buffer grow with what arrives, never with what is declared, to 1.5 × the limit and one read at
// most while it grows. After 32 messages in a row that would have fitted a quarter of it, a grown buffer is given back.
//
// # What is not promised
//
// Nothing here looks into a message: whether it is JSON is the caller's question. No framing detects bytes that were
// altered on the way. Errors other than the typed ones may change their text.
package framers
