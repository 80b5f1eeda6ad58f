package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// transcript tells what a Reader makes of a stream: messages and errors, to the end of the stream
// or the 50th.
func transcript(r framers.Reader) (events []string) {
	for range 50 {
		msg, err := r.ReadMessage()
		var chunk *framers.ChunkError
		var header *framers.HeaderError
		var large *framers.TooLargeError
		switch {
		case err == nil:
			events = append(events, fmt.Sprintf("%q", msg))
		case errors.As(err, &chunk):
			events = append(events, fmt.Sprintf("%+v", *chunk))
		case errors.As(err, &header):
			events = append(events, fmt.Sprintf("%+v", *header))
		case errors.As(err, &large):
			events = append(events, fmt.Sprintf("%+v", *large))
		default:
			return append(events, err.Error())
		}
	}
	return events
}

func TestHeader(t *testing.T) {
	const next = "Content-Length: 4\r\n\r\nnext"
	for _, c := range []struct {
		name, wire string
		want       string // the body, or
		err        error  // why it is refused
		lenient    string // the body, if lenient takes what strict refuses
	}{
		{name: "usual", wire: "Content-Length: 5\r\n\r\nhello", want: "hello"},
		{name: "zero", wire: "Content-Length: 0\r\n\r\n", want: ""},
		{name: "lower case", wire: "content-length: 5\r\n\r\nhello", want: "hello"},
		{name: "upper case", wire: "CONTENT-LENGTH: 5\r\n\r\nhello", want: "hello"},
		{name: "no space", wire: "Content-Length:5\r\n\r\nhello", want: "hello"},
		{name: "much space", wire: "Content-Length \t:\t  5  \r\n\r\nhello", want: "hello"},
		{name: "LF alone", wire: "Content-Length: 5\n\nhello", want: "hello"},
		{name: "LF and CR LF", wire: "Content-Length: 5\n\r\nhello", want: "hello"},
		{name: "leading zeros", wire: "Content-Length: 0005\r\n\r\nhello", want: "hello"},
		{name: "type before", wire: "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello", want: "hello"},
		{name: "type behind", wire: "Content-Length: 5\r\nContent-Type: text/plain; charset=utf-16\r\n\r\nhello", want: "hello"},
		{name: "unknown header", wire: "X-Y: Content-Length: 9\r\nContent-Length: 5\r\n\r\nhello", want: "hello"},
		{name: "the same twice", wire: "Content-Length: 5\r\nContent-Length: 05\r\n\r\nhello", want: "hello"},
		{name: "body of newlines", wire: "Content-Length: 5\r\n\r\n\r\n\r\n\n", want: "\r\n\r\n\n"},
		{name: "a byte is no character", wire: "Content-Length: 4\r\n\r\né\xe2\x82", want: "é\xe2\x82"},
		{name: "missing", wire: "Content-Type: x\r\n\r\n", err: framers.ErrNoLength},
		{name: "blank line before", wire: "\r\nContent-Length: 5\r\n\r\nhello", err: framers.ErrNoLength, lenient: "hello"},
		{name: "line without a colon", wire: "hello there\r\nContent-Length: 5\r\n\r\nhello", err: framers.ErrNoColon, lenient: "hello"},
		{name: "white space ends it", wire: "Content-Length: 5\r\n \t\r\nhello", err: framers.ErrNoColon, lenient: "hello"},
		{name: "white space before", wire: " \t\r\nContent-Length: 5\r\n\r\nhello", err: framers.ErrNoColon, lenient: "hello"},
		{name: "empty value", wire: "Content-Length: \r\n\r\n", err: framers.ErrBadLength},
		{name: "sign", wire: "Content-Length: +5\r\n\r\nhello", err: framers.ErrBadLength},
		{name: "separator", wire: "Content-Length: 1_000\r\n\r\n", err: framers.ErrBadLength},
		{name: "hexadecimal", wire: "Content-Length: 0x10\r\n\r\n", err: framers.ErrBadLength},
		{name: "two on a line", wire: "Content-Length: 5, 5\r\n\r\nhello", err: framers.ErrBadLength},
		{name: "float", wire: "Content-Length: 5.0\r\n\r\nhello", err: framers.ErrBadLength},
		{name: "negative", wire: "Content-Length: -5\r\n\r\nhello", err: framers.ErrNegativeLength},
		{name: "a dash", wire: "Content-Length: -\r\n\r\n", err: framers.ErrBadLength},
		{name: "just beyond 63 bits", wire: "Content-Length: 9223372036854775808\r\n\r\n", err: framers.ErrHugeLength},
		{name: "far beyond", wire: "Content-Length: 99999999999999999999999999\r\n\r\n", err: framers.ErrHugeLength},
		{name: "contradiction", wire: "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", err: framers.ErrTwoLengths},
		{name: "many lines", wire: strings.Repeat("A: b\r\n", 64) + "Content-Length: 5\r\n\r\nhello", err: framers.ErrHeaderLines},
		{name: "many bytes", wire: "A: " + strings.Repeat("b", 8<<10) + "\r\n", err: framers.ErrHeaderBytes},
		{name: "many bytes in lines", wire: strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 9), err: framers.ErrHeaderBytes},
	} {
		for _, cut := range cuts {
			t.Run(c.name+"/"+cut.Name, func(t *testing.T) {
				for _, lenient := range []bool{false, true} {
					var opts []framers.Option
					want, refused := c.want, c.err
					if lenient {
						opts = append(opts, framers.WithLenient())
						if c.lenient != "" {
							want, refused = c.lenient, nil
						}
					}
					stream := cut.Cut(strings.NewReader(c.wire + next))
					r := framers.ContentLength().NewReader(stream, opts...)
					msg, err := r.ReadMessage()
					if !errors.Is(err, refused) || err == nil && string(msg) != want {
						t.Fatalf("lenient %v: got %q, %v, want %q, %v", lenient, msg, err, want, refused)
					}
					var header *framers.HeaderError
					if err != nil && (!errors.As(err, &header) || header.Offset > int64(len(c.wire))) {
						t.Fatalf("lenient %v: %#v", lenient, err)
					}
					events := transcript(r)
					if n := len(events); n < 2 || events[n-2] != `"next"` || events[n-1] != io.EOF.Error() {
						t.Errorf("lenient %v: the next message is lost: %s", lenient, events)
					}
				}
			})
		}
	}
}

// A line that is no field of a header is text that a server printed, if the reader asks for all.
func TestVerbatimReturnsTheTextBetweenMessages(t *testing.T) {
	const framed = "Content-Length: 2\r\nContent-Type: x\r\n\r\n{}"
	wire := "up: 1\n2:3 INFO: x\n" + framed + "INFO: sent\r\n" + framed +
		"Content-Length: 1\r\nX-Y: z\r\n\r\na" + "INFO: bye\n"
	other := func(offset int, line string) string {
		return fmt.Sprintf("%+v", framers.HeaderError{
			Offset: int64(offset), Line: line, Err: framers.ErrOtherName})
	}
	want := []string{other(0, "up: 1"), other(6, "2:3 INFO: x"), `"{}"`, other(58, "INFO: sent"),
		`"{}"`, other(129, "X-Y: z"), `"a"`, other(140, "INFO: bye"), "EOF"}
	for _, cut := range cuts {
		r := framers.ContentLength().NewReader(cut.Cut(strings.NewReader(wire)),
			framers.WithVerbatim())
		if got := transcript(r); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%q, want\n%q", cut.Name, got, want)
		}
		lenient := framers.ContentLength().NewReader(cut.Cut(strings.NewReader(wire)),
			framers.WithVerbatim(), framers.WithLenient())
		got := transcript(lenient)
		if len(got) != 4 || got[2] != `"a"` {
			t.Errorf("%s: a lenient reader got %q", cut.Name, got)
		}
	}
}

func TestHeaderLimitsAreExact(t *testing.T) {
	length := "Content-Length: 1\r\n\r\n" // 21 bytes and 2 lines
	for _, c := range []struct {
		before string
		want   error
	}{
		{"A: " + strings.Repeat("b", 8<<10-26) + "\r\n", nil},
		{"A: " + strings.Repeat("b", 8<<10-25) + "\r\n", framers.ErrHeaderBytes},
		{strings.Repeat("A: b\r\n", 62), nil},
		{strings.Repeat("A: b\r\n", 63), framers.ErrHeaderLines},
	} {
		for _, cut := range cuts {
			wire := strings.NewReader(c.before + length + "x")
			r := framers.ContentLength().NewReader(cut.Cut(wire))
			if _, err := r.ReadMessage(); !errors.Is(err, c.want) {
				t.Errorf("%s, %d bytes before: %v, want %v", cut.Name, len(c.before), err, c.want)
			}
		}
	}
}

// The error names the faulty line, or the header in which a line is missing.
func TestHeaderErrorSaysWhere(t *testing.T) {
	const good = "Content-Length: 1\r\n\r\nA" // 22 bytes
	for wire, want := range map[string]string{
		good + "A: b\nContent-Length: 0x10\r\n\r\n": "read header at byte 27: " +
			`Content-Length is not a decimal number: "Content-Length: 0x10"`,
		good + "A: b\r\n\r\n": "read header at byte 22: no Content-Length",
	} {
		r := framers.ContentLength().NewReader(strings.NewReader(wire))
		if _, err := r.ReadMessage(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadMessage(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestDeclaredSizeIsRefusedBeforeItComes(t *testing.T) {
	for _, c := range []struct{ spec, wire string }{
		{"content-length", "Content-Length: 2000000000\r\n\r\nab"},
		{"length-prefix", "\x77\x35\x94\x00ab"},
	} {
		// The stream gives what it has, then fails the test if it is asked for more.
		r := mustParse(t, c.spec).NewReader(&promptReader{t: t, left: [][]byte{[]byte(c.wire)}})
		_, err := r.ReadMessage()
		var large *framers.TooLargeError
		if !errors.As(err, &large) || large.Size != 2_000_000_000 || !large.Declared || large.Offset != 0 || !bytes.Equal(large.Head, []byte("ab")) {
			t.Errorf("%s: %v, %+v", c.spec, err, large)
		}
		if _, again := r.ReadMessage(); again != err {
			t.Errorf("%s: then %v", c.spec, again)
		}
	}
}

// A stream that ends inside a header is cut, also if an error came in between.
func TestAHeaderIsCutAfterAnError(t *testing.T) {
	for _, begins := range []string{"Content-Length: 3\r\n", "Content-Length: 3\r\nX: y\r\n", "C"} {
		r := framers.ContentLength().NewReader(&pausing{left: []string{begins, ""}})
		if _, err := r.ReadMessage(); !errors.Is(err, errLater) {
			t.Fatal(err)
		}
		if _, err := r.ReadMessage(); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v, want an unexpected end", begins, err)
		}
	}
}
