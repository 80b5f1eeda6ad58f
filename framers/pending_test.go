package framers_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// Only the lines that make a header count, and each header once.
func TestHeadersWithLFAloneAreCounted(t *testing.T) {
	for _, row := range []struct {
		stream string
		want   int64
	}{
		{"Content-Length: 2\r\n\r\n{}", 0},
		{"Content-Length: 2\n\n{}Content-Length: 2\n\n{}Content-Length: 2\r\n\r\n{}", 2},
		{"Content-Length: 2\n\r\n{}", 1},
		{"Content-Length: 2\r\n\n{}", 1},
		{"debug\nContent-Length: 2\r\n\r\n{}", 0},
	} {
		for _, option := range []framers.Option{framers.WithVerbatim(), framers.WithLenient()} {
			r := framers.ContentLength().NewReader(strings.NewReader(row.stream), option)
			var err error
			for err != io.EOF {
				_, err = r.ReadMessage()
			}
			if got := r.(framers.HeaderReader).BareHeaders(); got != row.want {
				t.Errorf("%q: got %d, want %d", row.stream, got, row.want)
			}
		}
	}
}

func TestPendingSaysWhatCameOfAMessage(t *testing.T) {
	for _, row := range []struct {
		stream string
		want   framers.Pending
	}{
		{"", framers.Pending{}},
		{"Content-Length: 2\r\n\r\n{}", framers.Pending{}},
		{"Content-Length: 2\r\n\r\n{}Content-L", framers.Pending{Length: -1, Came: 9}},
		{"Content-Length: 2\r\n\r\n{}Go on? ",
			framers.Pending{Length: -1, Came: 7, Text: "Go on? "}},
		{"Content-Length: 2\r\n\r\n{}Loading 1\nLoading 2\n",
			framers.Pending{Length: -1, Came: 10, Text: "Loading 2\n"}},
		{"cont", framers.Pending{Length: -1, Came: 4}},
		{`{"id":1`, framers.Pending{Length: -1, Came: 7}},
		{"Content-Length: 9\r\n\r\n{}", framers.Pending{Length: 9, Came: 2}},
		{"Content-Length: 9\r\n\r\n", framers.Pending{Length: 9}},
	} {
		r := framers.ContentLength().NewReader(strings.NewReader(row.stream))
		var err error
		for err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			_, err = r.ReadMessage()
		}
		if got := r.(framers.LengthReader).Pending(); got != row.want {
			t.Errorf("%q: got %+v, want %+v", row.stream, got, row.want)
		}
		if err != io.EOF && row.want == (framers.Pending{}) {
			t.Errorf("%q: %v", row.stream, err)
		}
	}
}
