package framers_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/framers"
)

func Example() {
	f, err := framers.Parse("content-length")
	if err != nil {
		fmt.Println(err)
		return
	}
	var stream bytes.Buffer
	w := f.NewWriter(&stream)
	for _, msg := range []string{`{"jsonrpc":"2.0","method":"ping"}`, `{}`} {
		if err := w.WriteMessage([]byte(msg)); err != nil {
			fmt.Println(err)
			return
		}
	}
	r := f.NewReader(&stream)
	for {
		msg, err := r.ReadMessage()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", msg)
	}
	// Output:
	// {"jsonrpc":"2.0","method":"ping"}
	// {}
}

func ExampleParse() {
	for _, spec := range []string{"chunked:60KiB", "adaptive:4k", "raw:4096", "ndjson:5"} {
		f, err := framers.Parse(spec)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(f)
	}
	// Output:
	// chunked:61440
	// adaptive:4096
	// raw:4096
	// framing "ndjson:5": ndjson takes no argument
}

func ExampleAll() {
	for _, f := range framers.All() {
		var wire bytes.Buffer
		if err := f.NewWriter(&wire).WriteMessage(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
			fmt.Println(err)
		}
		fmt.Println(f, wire.Len()-1<<20)
	}
	// Output:
	// raw 0
	// ndjson 1
	// ndjson-bytewise 1
	// ndjson-rescan 1
	// content-length 27
	// chunked:61440 782
	// adaptive:61440 782
	// length-prefix 4
}

func ExampleCarries() {
	indented := []byte("{\n  \"id\": 1\n}")
	fmt.Println(framers.Carries(framers.NDJSON(), indented))
	fmt.Println(framers.Carries(framers.ContentLength(), indented))
	// Output:
	// write message: byte 1: the message holds a newline, which would end the frame
	// <nil>
}

// A message beyond the limit is skipped, and its beginning tells whose request it was.
func ExampleWithPolicy() {
	stream := strings.NewReader(`{"id":7,"params":"` + strings.Repeat("x", 100) + "\"}\n" + `{"id":8}` + "\n")
	r := framers.NDJSON().NewReader(stream, framers.WithMaxMessage(64), framers.WithPolicy(framers.Resync))
	for {
		msg, err := r.ReadMessage()
		var large *framers.TooLargeError
		switch {
		case errors.As(err, &large):
			fmt.Printf("refused at byte %d: %.8s\n", large.Offset, large.Head)
			continue
		case err == io.EOF:
			return
		}
		fmt.Printf("%s\n", msg)
	}
	// Output:
	// refused at byte 0: {"id":7,
	// {"id":8}
}

func ExampleWithIDs() {
	f, _ := framers.Chunked(64)
	n := byte(0)
	w := f.NewWriter(os.Stdout, framers.WithIDs(func() [16]byte { n++; return [16]byte{15: n} }))
	w.WriteMessage([]byte("a message of more than one frame"))
	// Output:
	// 00000000-0000-0000-0000-000000000001:0:2:a message of more than
	// 00000000-0000-0000-0000-000000000001:1:2: one frame
}

// Frames of several messages may interleave on a stream; each is delivered when it is whole.
func ExampleWithProgress() {
	stream := strings.NewReader("a:0:2:Hello, \nb:0:1:small\na:1:2:world\nc:0:9:never whole\n")
	f, _ := framers.Chunked(0)
	r := f.NewReader(stream, framers.WithProgress(func(c framers.Chunk) {
		fmt.Printf("chunk %d of %d of %s\n", c.Index+1, c.Total, c.ID)
	}))
	for range 2 {
		msg, _ := r.ReadMessage()
		fmt.Printf("%s\n", msg)
	}
	_, err := r.ReadMessage()
	fmt.Println(err)
	// Output:
	// chunk 1 of 2 of a
	// chunk 1 of 1 of b
	// small
	// chunk 2 of 2 of a
	// Hello, world
	// chunk 1 of 9 of c
	// read chunk 1 of 9 of message c at byte 38 (1 received): chunks are missing at the end of the stream
}

func ExampleChunker() {
	f, _ := framers.Chunked(64)
	for frame := range f.Frames([]byte("data that takes more than one frame")) {
		fmt.Printf("%s", frame[1])
		fmt.Println()
	}
	// Output:
	// data that takes more t
	// han one frame
}

// While a large message is under way, small ones wait for a frame of it, not for all of it.
func ExampleMux() {
	f, _ := framers.Chunked(0)
	r, w := io.Pipe()
	mux := framers.NewMux(w, f)
	var senders sync.WaitGroup
	senders.Go(func() { mux.Send(context.Background(), 0, bytes.Repeat([]byte("x"), 1<<20)) })
	senders.Go(func() { mux.Send(context.Background(), 1, []byte("urgent")) })
	go func() { senders.Wait(); w.Close() }()

	total := 0
	reader := f.NewReader(r)
	for {
		msg, err := reader.ReadMessage()
		if err != nil {
			break
		}
		total += len(msg)
	}
	fmt.Println(total == 1<<20+len("urgent"))
	// Output: true
}

// Many small messages go out in one system call through a bufio.Writer.
func Example_buffered() {
	var stream countingWriter
	c := bufio.NewWriter(&stream)
	w := framers.NDJSON().NewWriter(c)
	for range 100 {
		w.WriteMessage([]byte(`{"jsonrpc":"2.0","method":"tick"}`))
	}
	fmt.Println(stream.calls, "calls,", c.Buffered(), "bytes waiting")
	c.Flush()
	fmt.Println(stream.calls, "call,", c.Buffered(), "bytes waiting")
	// Output:
	// 0 calls, 3400 bytes waiting
	// 1 call, 0 bytes waiting
}

type countingWriter struct{ calls int }

func (c *countingWriter) Write(b []byte) (int, error) { c.calls++; return len(b), nil }
