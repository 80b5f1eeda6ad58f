package framers_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/textproto"
	"os"
	"strconv"

	"github.com/creachadair/jrpc2/channel"
	"github.com/pipebench/pipebench/framers"
	lsp "go.lsp.dev/jsonrpc2"
)

// A subject is something that carries messages over a pipe.
type subject struct {
	format, name string
	// open returns how to send a message, and how to receive one of size bytes.
	open func(r, w *os.File, size int) (send func(msg []byte) error, receive func() ([]byte, error))
}

// subjects are the package's framings beside what else speaks the same format. The first two are
// what they are held to.
func subjects() []subject {
	return []subject{
		{"raw", "stream", rawStream},
		{"raw", "whole", rawWhole},
		{"ndjson", "framers", ownSubject(framers.NDJSON())},
		{"ndjson", "jrpc2", channelSubject(channel.Line)},
		{"ndjson", "lsp.dev", lspSubject(lsp.NewNDJSONStream)},
		{"ndjson", "Scanner", scannerSubject},
		{"ndjson", "ReadSlice", readSliceSubject},
		{"content-length", "framers", ownSubject(framers.ContentLength())},
		{"content-length", "jrpc2", channelSubject(channel.Header(""))},
		{"content-length", "lsp.dev", lspSubject(lsp.NewHeaderStream)},
		{"content-length", "textproto", textprotoSubject},
		{"chunked", "framers", ownSubject(chunked60)},
		{"length-prefix", "framers", ownSubject(framers.LengthPrefix())},
	}
}

var chunked60 = func() framers.Framing { f, _ := framers.Chunked(0); return f }()

// limit lets every size through that is measured.
const limit = 64 << 20

func ownSubject(f framers.Framing) func(r, w *os.File, size int) (func([]byte) error, func() ([]byte, error)) {
	return func(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
		return f.NewWriter(w).WriteMessage, f.NewReader(r, framers.WithMaxMessage(limit)).ReadMessage
	}
}

// rawStream writes messages as they are and reads 256 KiB at a time, whatever comes: what the pipe
// gives.
func rawStream(r, w *os.File, size int) (func([]byte) error, func() ([]byte, error)) {
	buf := make([]byte, framers.DefaultReadBuffer)
	have := 0
	send := func(msg []byte) error { _, err := w.Write(msg); return err }
	return send, func() ([]byte, error) {
		for have < size {
			n, err := r.Read(buf)
			if err != nil {
				return nil, err
			}
			have += n
		}
		have -= size
		return nil, nil
	}
}

// rawWhole reads each message whole into one buffer: what hardly a framing passes that delivers
// messages whole, as a large one does not fit the cache that rawStream's buffer stays in. Like a
// message in a stream, it does not begin a page.
func rawWhole(r, w *os.File, size int) (func([]byte) error, func() ([]byte, error)) {
	const into = 3 << 10
	buf := make([]byte, into+size)[into:]
	send := func(msg []byte) error { _, err := w.Write(msg); return err }
	return send, func() ([]byte, error) {
		_, err := io.ReadFull(r, buf)
		return buf, err
	}
}

func channelSubject(f channel.Framing) func(r, w *os.File, size int) (func([]byte) error, func() ([]byte, error)) {
	return func(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
		c := f(r, w)
		return c.Send, c.Recv
	}
}

func lspSubject(open func(io.ReadWriteCloser) lsp.Stream) func(r, w *os.File, size int) (func([]byte) error, func() ([]byte, error)) {
	return func(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
		s := open(struct {
			io.Reader
			io.WriteCloser
		}{r, w}).(interface {
			ReadFrame(context.Context) ([]byte, int64, error)
			WriteFrame(context.Context, []byte) (int64, error)
		})
		ctx := context.Background()
		send := func(msg []byte) error { _, err := s.WriteFrame(ctx, msg); return err }
		receive := func() ([]byte, error) { msg, _, err := s.ReadFrame(ctx); return msg, err }
		return send, receive
	}
}

// scannerSubject reads with bufio.Scanner as its documentation shows, lines up to the limit
// allowed.
func scannerSubject(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), limit+1)
	return framers.NDJSON().NewWriter(w).WriteMessage, func() ([]byte, error) {
		if s.Scan() {
			return s.Bytes(), nil
		}
		return nil, errors.Join(s.Err(), io.EOF)
	}
}

// readSliceSubject reads with a bufio.Reader that holds two of the largest messages: the fastest
// line reader of the standard library, for those who can spare the memory.
func readSliceSubject(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
	b := bufio.NewReaderSize(r, 32<<20)
	return framers.NDJSON().NewWriter(w).WriteMessage, func() ([]byte, error) {
		line, err := b.ReadSlice('\n')
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// textprotoSubject reads headers with net/textproto and writes header and body apart.
func textprotoSubject(r, w *os.File, _ int) (func([]byte) error, func() ([]byte, error)) {
	b := bufio.NewReaderSize(r, framers.DefaultReadBuffer)
	t := textproto.NewReader(b)
	var header, body []byte
	send := func(msg []byte) error {
		header = append(strconv.AppendInt(append(header[:0], "Content-Length: "...), int64(len(msg)), 10), "\r\n\r\n"...)
		if _, err := w.Write(header); err != nil {
			return err
		}
		_, err := w.Write(msg)
		return err
	}
	return send, func() ([]byte, error) {
		h, err := t.ReadMIMEHeader()
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(h.Get("Content-Length"))
		if err != nil {
			return nil, err
		}
		if cap(body) < n {
			body = make([]byte, n)
		}
		_, err = io.ReadFull(b, body[:n])
		return body[:n], err
	}
}
