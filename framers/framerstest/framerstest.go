// Package framerstest tests a framing of your own, as package framers tests its framings:
//
//	func TestMine(t *testing.T) { framerstest.Check(t, mine{}) }
package framerstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// Check tests whether f keeps the contract of [framers.Framing], [framers.Writer] and
// [framers.Reader]. It sends messages of up to 70,000 bytes through memory, reads them in pieces of
// many sizes, down to one byte, and lets reads and writes fail. If it takes seconds, the Reader
// allocates memory, or copies what came, at every read; a part that takes half a minute fails.
// Check uses several Writers and Readers of f in turns, not at the same time.
//
// A Writer may refuse a message with a [framers.PayloadError] or a [framers.TooLargeError] if
// nothing of it was written. A Reader of lines may return what came of a line that is cut, as the
// last one. Check gives no options: a framing of your own need not heed any.
func Check(t testing.TB, f framers.Framing) {
	t.Helper()
	if f.String() == "" {
		t.Errorf("%T: String returned nothing; want the name of the framing", f)
	}
	for _, c := range []struct {
		name  string
		check func(framers.Framing) error
	}{
		{"messages in pieces", checkRoundTrip},
		{"messages like frames", checkUnusual},
		{"the last byte", checkLastByte},
		{"a stream that ends early", checkEnd},
		{"failing reads", checkFailingReads},
		{"failing writes", checkFailingWrites},
		{"two streams", checkTwoStreams},
	} {
		err := run(c.check, f)
		if err == nil {
			continue
		}
		t.Errorf("%s: %s: %v", f, c.name, err)
		if c.name == "messages in pieces" || errors.Is(err, errSlow) {
			return // the same fault would fail the other checks
		}
	}
}

// patience is how long a check may take. What it reads is in memory.
var patience = 30 * time.Second

var errSlow = errors.New("ReadMessage hangs, or copies or searches at each read all that came")

// run returns the error of check(f), or the panic of f as an error. If check does not return, it
// leaves it behind.
func run(check func(framers.Framing) error, f framers.Framing) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer recoverTo(&err)
		err = check(f)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("not over after %v: %w", patience, errSlow)
	}
}

// recoverTo stores a panic in *err, and prints its stack. It must be deferred.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		debug.PrintStack()
		*err = fmt.Errorf("it panicked: %v", p)
	}
}

// spare is how many bytes are behind each message in its memory, as in a buffer of the caller.
const spare = 100

// A destination is where a Writer writes, in one call or piece by piece.
type destination interface {
	io.Writer
	Len() int
	Bytes() []byte
}

// A gatherer takes several pieces in one call.
type gatherer struct{ bytes.Buffer }

func (g *gatherer) Writev(bufs [][]byte) (n int64, err error) {
	for _, b := range bufs {
		g.Write(b)
		n += int64(len(b))
	}
	return n, nil
}

// encode writes msgs to dst, and returns those that the Writer did not refuse.
func encode(f framers.Framing, dst destination, msgs [][]byte) (sent [][]byte, err error) {
	w := f.NewWriter(dst)
	for _, msg := range msgs {
		passed, err := send(w, dst, msg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(msg), err)
		}
		if passed {
			sent = append(sent, msg)
		}
	}
	return sent, nil
}

// send writes msg, and returns whether w accepted it.
func send(w framers.Writer, dst destination, msg []byte) (bool, error) {
	memory := append(bytes.Clone(msg), bytes.Repeat([]byte{'#'}, spare)...)
	before := bytes.Clone(memory)
	written := dst.Len()
	refused := w.WriteMessage(memory[:len(msg)])
	if !bytes.Equal(memory, before) {
		return false, errors.New("WriteMessage changed the message or the memory behind it, " +
			"as append to the message does")
	}
	for i := range memory { // the memory is the caller's again
		memory[i] = '#'
	}
	if refused == nil {
		if dst.Len() == written {
			return false, errors.New("WriteMessage wrote nothing; want all of the message " +
				"written when it returns")
		}
		return true, nil
	}
	if !errors.As(refused, new(*framers.PayloadError)) &&
		!errors.As(refused, new(*framers.TooLargeError)) {
		return false, fmt.Errorf("WriteMessage returned %s; want no error, or a "+
			"*framers.PayloadError if the framing cannot carry the message", say(refused))
	}
	if dst.Len() != written {
		return false, fmt.Errorf("WriteMessage refused the message (%w), but had written "+
			"%d bytes; want none", refused, dst.Len()-written)
	}
	return false, nil
}

// read returns what ReadMessage returns, or its panic as an error.
func read(r framers.Reader) (msg []byte, err error) {
	defer recoverTo(&err)
	return r.ReadMessage()
}

// expect reads want and the end of the stream from r.
func expect(r framers.Reader, want [][]byte) error {
	for _, msg := range want {
		if err := expectMessage(r, msg); err != nil {
			return err
		}
	}
	msg, err := read(r)
	if err == nil {
		return fmt.Errorf("behind the last message: ReadMessage returned a %s; want io.EOF",
			describe(msg))
	}
	if err != io.EOF {
		return fmt.Errorf("behind the last message: ReadMessage returned %s; want io.EOF itself",
			say(err))
	}
	return nil
}

func expectMessage(r framers.Reader, want []byte) error {
	got, err := read(r)
	if err == nil && bytes.Equal(got, want) {
		return nil
	}
	returned := "a " + describe(got)
	if err != nil {
		returned = say(err)
	}
	wanted := "the message"
	if len(want) == 0 {
		wanted = "an empty message"
	}
	return fmt.Errorf("%s: ReadMessage returned %s; want %s", describe(want), returned, wanted)
}

// describe names a message in an error.
func describe(msg []byte) string {
	if len(msg) == 0 {
		return "message of 0 bytes"
	}
	if len(msg) > 40 {
		return fmt.Sprintf("message of %d bytes (%.20q…)", len(msg), msg)
	}
	return fmt.Sprintf("message of %d bytes (%q)", len(msg), msg)
}

// say names an error as it is written in Go, if it is one that ends a stream.
func say(err error) string {
	switch err {
	case nil:
		return "no error"
	case io.EOF:
		return "io.EOF"
	case io.ErrUnexpectedEOF:
		return "io.ErrUnexpectedEOF"
	}
	return fmt.Sprintf("the error %q", err)
}
