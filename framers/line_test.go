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

var lineFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan", "adaptive"}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       []string // by default
		verbatim   []string
	}{
		{"blank lines", "a\n\n \t\nb\n", []string{"a", "b"}, []string{"a", "", " \t", "b"}},
		{"CR LF", "a\r\nb\r\n", []string{"a", "b"}, []string{"a", "b"}},
		{"two CR", "a\r\r\nb\n", []string{"a", "b"}, []string{"a\r", "b"}},
		{"white space around", "  a\t \nb \n", []string{"a", "b"}, []string{"  a\t ", "b "}},
		{"white space inside", "a b\r c\n", []string{"a b\r c"}, []string{"a b\r c"}},
		{"no newline at the end", "a\nb", []string{"a", "b"}, []string{"a", "b"}},
		{"CR at the end", "a\nb\r", []string{"a", "b"}, []string{"a", "b\r"}},
		{"nothing", "", nil, nil},
		{"only newlines", "\n\n\r\n", nil, []string{"", "", ""}},
		{"not JSON", "{bad\nb\n", []string{"{bad", "b"}, []string{"{bad", "b"}},
		{"two values on a line", "{}{}\n", []string{"{}{}"}, []string{"{}{}"}},
		{"an escaped newline", `{"a":"x\ny"}` + "\n", []string{`{"a":"x\ny"}`}, []string{`{"a":"x\ny"}`}},
		{"not UTF-8", "\xff\xfe\n", []string{"\xff\xfe"}, []string{"\xff\xfe"}},
		{"other white space is kept", "\u00a0a\v\n", []string{"\u00a0a\v"}, []string{"\u00a0a\v"}},
	} {
		for _, spec := range lineFramings {
			for _, cut := range cuts {
				t.Run(c.name+"/"+spec+"/"+cut.Name, func(t *testing.T) {
					f := mustParse(t, spec)
					for want, opts := range map[*[]string][]framers.Option{&c.want: nil, &c.verbatim: {framers.WithVerbatim()}} {
						stream := cut.Cut(strings.NewReader(c.wire))
						msgs, err := decode(f.NewReader(stream, opts...))
						var got []string
						for _, m := range msgs {
							got = append(got, string(m))
						}
						if err != io.EOF || !slices.Equal(got, *want) {
							t.Errorf("got %q, %v, want %q", got, err, *want)
						}
					}
				})
			}
		}
	}
}

// A line of the limit passes with every terminator; one byte more does not, whatever the byte.
func TestLineLimitCountsNoTerminator(t *testing.T) {
	const limit = 8
	for _, spec := range lineFramings {
		for _, cut := range cuts {
			for text, pass := range map[string]bool{
				"12345678\n": true, "12345678\r\n": true, "12345678": true, "      78\n": true,
				"123456789\n": false, "123456789": false, "12345678\r\r\n": false, "12345678 \n": false, "         \n": false, "12345678\rx\n": false,
			} {
				stream := cut.Cut(strings.NewReader("a\n" + text))
				r := mustParse(t, spec).NewReader(stream, framers.WithMaxMessage(limit))
				r.ReadMessage()
				msg, err := r.ReadMessage()
				var large *framers.TooLargeError
				if pass && err != nil || !pass && !errors.As(err, &large) {
					t.Errorf("%s, %s, %q: %q, %v", spec, cut.Name, text, msg, err)
				}
				if large != nil && (large.Size != limit+1 || large.Declared || large.Offset != 2 || string(large.Head) != text[:limit+1]) {
					t.Errorf("%s, %s, %q: %+v", spec, cut.Name, text, large)
				}
			}
		}
	}
}

func TestLineWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		name, msg string
		verbatim  bool
		offset    int
		why       error
	}{
		{name: "empty", why: framers.ErrEmpty},
		{name: "newline", msg: "ab\ncd\n", offset: 2, why: framers.ErrNewline},
		{name: "newline verbatim", msg: "ab\n", verbatim: true, offset: 2, why: framers.ErrNewline},
		{name: "space before", msg: " a", why: framers.ErrSpace},
		{name: "tab behind", msg: "ab\t", offset: 2, why: framers.ErrSpace},
		{name: "CR behind", msg: "ab\r", offset: 2, why: framers.ErrSpace},
		{name: "CR behind verbatim", msg: "ab\r", verbatim: true, offset: 2, why: framers.ErrReturn},
		{name: "only space", msg: "  ", why: framers.ErrSpace},
	} {
		for _, spec := range []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"} {
			t.Run(c.name+"/"+spec, func(t *testing.T) {
				var opts []framers.Option
				if c.verbatim {
					opts = append(opts, framers.WithVerbatim())
				}
				f := mustParse(t, spec)
				var wire bytes.Buffer
				err := f.NewWriter(&wire, opts...).WriteMessage([]byte(c.msg))
				var refused *framers.PayloadError
				if !errors.As(err, &refused) || !errors.Is(err, c.why) || refused.Offset != c.offset || wire.Len() > 0 {
					t.Errorf("got %v, wrote %q; want %v at %d", err, &wire, c.why, c.offset)
				}
				if carries := framers.Carries(f, []byte(c.msg), opts...); fmt.Sprint(carries) != fmt.Sprint(err) {
					t.Errorf("Carries says %v", carries)
				}
			})
		}
	}
}

func TestVerbatimWriter(t *testing.T) {
	msgs := [][]byte{[]byte(""), []byte("  a "), []byte("\rb"), []byte("\t")}
	for _, spec := range lineFramings {
		f := mustParse(t, spec)
		wire := encode(t, f, msgs, framers.WithVerbatim())
		got, err := decode(f.NewReader(bytes.NewReader(wire), framers.WithVerbatim()))
		if err != io.EOF {
			t.Errorf("%s: %v", spec, err)
		}
		wantMessages(t, got, msgs)
	}
}
