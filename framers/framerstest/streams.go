package framerstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/internal/pieces"
)

// messages returns a message of each size.
func messages(sizes ...int) [][]byte {
	var msgs [][]byte
	for _, n := range sizes {
		msgs = append(msgs, pieces.Message(n))
	}
	return msgs
}

func checkRoundTrip(f framers.Framing) error {
	msgs := messages(1, 2, 3, 63, 64, 65, 99, 100, 101, 4095, 4096, 4097,
		65_535, 65_536, 65_537, 61_439, 61_440, 61_441, 10)
	var before []byte // the stream of the first destination
	for _, wire := range []destination{&bytes.Buffer{}, &gatherer{}} {
		sent, err := encode(f, wire, msgs)
		if err != nil {
			return err
		}
		if len(sent) == 0 {
			return errors.New("WriteMessage refused every message of printable ASCII")
		}
		if bytes.Equal(wire.Bytes(), before) {
			continue // a Reader would do the same again
		}
		before = wire.Bytes()
		for _, cut := range pieces.Cuts {
			r := f.NewReader(cut.Cut(bytes.NewReader(wire.Bytes())))
			if err := expect(r, sent); err != nil {
				return fmt.Errorf("the stream came %q: %w", cut.Name, err)
			}
		}
	}
	return nil
}

// checkUnusual sends messages that may look like frames. Another message follows each.
func checkUnusual(f framers.Framing) error {
	var every []byte
	for b := range 256 {
		every = append(every, byte(b))
	}
	var frame bytes.Buffer
	if _, err := encode(f, &frame, messages(10)); err != nil {
		return err
	}
	for _, msg := range [][]byte{
		{}, []byte("\n"), []byte("A\nB"), []byte("A\r\nB"), []byte("A\r"), []byte(" A "),
		{0}, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, every, frame.Bytes(),
		[]byte("Content-Length: 2\r\n\r\n"), []byte("2:A,"),
	} {
		var wire bytes.Buffer
		sent, err := encode(f, &wire, [][]byte{msg, []byte("next")})
		if err != nil {
			return err
		}
		if err := expect(f.NewReader(&wire), sent); err != nil {
			return fmt.Errorf("sent %.40q, then \"next\": %w", msg, err)
		}
	}
	return nil
}

// errAskedForMore ends a stream of which all bytes have come, as a deadline would.
var errAskedForMore = errors.New("asked for more")

// A promptReader gives its pieces, one a read, and then fails.
type promptReader struct {
	left    [][]byte
	isAsked bool // for more than there is
}

func (p *promptReader) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		p.isAsked = true
		return 0, errAskedForMore
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	if len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

func checkLastByte(f framers.Framing) error {
	for _, msg := range messages(1, 50, 200, 5000, 70_000) {
		var buffer bytes.Buffer
		sent, err := encode(f, &buffer, [][]byte{msg})
		if err != nil {
			return err
		}
		if len(sent) == 0 {
			continue
		}
		wire := buffer.Bytes()
		last := len(wire) - 1
		for _, came := range [][][]byte{{wire}, {wire[:1], wire[1:]}, {wire[:last], wire[last:]}} {
			src := &promptReader{left: came}
			got, err := read(f.NewReader(src))
			if src.isAsked {
				return fmt.Errorf("%s: ReadMessage reads on although all of the message came; "+
					"want the message, because its sender may wait for an answer", describe(msg))
			}
			if err != nil || !bytes.Equal(got, msg) {
				return fmt.Errorf("%s, alone on a stream: ReadMessage returned %d bytes, %s",
					describe(msg), len(got), say(err))
			}
		}
	}
	return nil
}

// checkEnd ends a stream at each offset of its second message.
func checkEnd(f framers.Framing) error {
	msgs := messages(70, 130)
	var both, one bytes.Buffer
	sent, err := encode(f, &both, msgs)
	if err != nil || len(sent) < 2 {
		return err
	}
	if _, err := encode(f, &one, msgs[:1]); err != nil {
		return err
	}
	wire := both.Bytes()
	first := one.Len()
	for end := first + 1; end < len(wire); end++ {
		for _, cut := range pieces.Cuts[:2] {
			r := f.NewReader(cut.Cut(bytes.NewReader(wire[:end])))
			if err := expectMessage(r, msgs[0]); err != nil {
				return fmt.Errorf("before a message that is cut: %w", err)
			}
			if err := expectEnd(r, wire[first:end], msgs[1]); err != nil {
				return fmt.Errorf("the stream ends after %d of %d bytes that were written for a "+
					"message of %d bytes: %w", end-first, len(wire)-first, len(msgs[1]), err)
			}
		}
	}
	return nil
}

// expectEnd reads the end of a stream on which only the bytes came of msg. A framing of lines may
// take them for a message.
func expectEnd(r framers.Reader, came, msg []byte) error {
	got, err := read(r)
	if err == nil && (bytes.Equal(got, came) || bytes.Equal(got, msg)) {
		return expect(r, nil)
	}
	if err == nil {
		return fmt.Errorf("ReadMessage returned a message of %d bytes; want io.ErrUnexpectedEOF",
			len(got))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, framers.ErrMissing) {
		return nil
	}
	return fmt.Errorf("ReadMessage returned %s; want io.ErrUnexpectedEOF", say(err))
}

var errLater = errors.New("not now")

// A falteringReader fails before every read that succeeds, as one with deadlines may.
type falteringReader struct {
	r     io.Reader
	reads int
}

func (f *falteringReader) Read(b []byte) (int, error) {
	f.reads++
	if f.reads%2 == 1 {
		return 0, errLater
	}
	return f.r.Read(b)
}

func checkFailingReads(f framers.Framing) error {
	// A Reader that takes payload for lengths shows it soon on the short stream. On the long one it
	// would allocate for hours.
	for _, msgs := range [][][]byte{
		messages(10),
		messages(1, 63, 64, 100, 5000, 61_500, 70_000, 3),
	} {
		var wire bytes.Buffer
		sent, err := encode(f, &wire, msgs)
		if err != nil {
			return err
		}
		for _, cut := range pieces.Cuts {
			src := &falteringReader{r: cut.Cut(bytes.NewReader(wire.Bytes()))}
			if err := expect(&patientReader{f.NewReader(src), src}, sent); err != nil {
				return fmt.Errorf("each second read fails, as after a deadline: %w; "+
					"keep what came for the next call (io.ReadFull does not)", err)
			}
		}
	}
	return nil
}

// A patientReader reads on after errLater.
type patientReader struct {
	framers.Reader
	src *falteringReader
}

func (p *patientReader) ReadMessage() ([]byte, error) {
	for {
		reads := p.src.reads
		msg, err := p.Reader.ReadMessage() // read waits for the patientReader
		if !errors.Is(err, errLater) {
			return msg, err
		}
		if p.src.reads == reads {
			return nil, errors.New("the error of an earlier read, without a new read")
		}
	}
}

var errFull = errors.New("no space left")

// A fullWriter takes some bytes, and then fails.
type fullWriter struct{ room int }

func (w *fullWriter) Write(b []byte) (int, error) {
	n := min(w.room, len(b))
	w.room -= n
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func checkFailingWrites(f framers.Framing) error {
	msg := pieces.Message(20)
	var wire bytes.Buffer
	sent, err := encode(f, &wire, [][]byte{msg})
	if err != nil || len(sent) == 0 {
		return err
	}
	for room := 1; room < wire.Len(); room++ {
		dst := &fullWriter{room}
		w := f.NewWriter(dst)
		fails := fmt.Sprintf("a write fails after %d of %d bytes of a frame", room, wire.Len())
		if err := w.WriteMessage(msg); !errors.Is(err, errFull) {
			return fmt.Errorf("%s: WriteMessage returned %s; want the error of the write, "+
				"or one that wraps it", fails, say(err))
		}
		dst.room = 1 << 20
		if err := w.WriteMessage(msg); err == nil {
			return fmt.Errorf("%s: the next WriteMessage returned no error; want one from every "+
				"later call, because the stream is broken", fails)
		}
	}
	return nil
}

// checkTwoStreams uses two Writers and two Readers of f in turns, as goroutines that share f would.
func checkTwoStreams(f framers.Framing) error {
	var wires [2]bytes.Buffer
	writers := [2]framers.Writer{f.NewWriter(&wires[0]), f.NewWriter(&wires[1])}
	var sent [2][][]byte
	for i, msg := range messages(10, 20, 300, 5000, 70_000, 5, 6, 70_001, 90, 80) {
		passed, err := send(writers[i%2], &wires[i%2], msg)
		if err != nil {
			return err
		}
		if passed {
			sent[i%2] = append(sent[i%2], msg)
		}
	}
	readers := [2]framers.Reader{f.NewReader(&wires[0]), f.NewReader(&wires[1])}
	const advice = "keep nothing of a stream in the Framing, which goroutines share"
	for i := range min(len(sent[0]), len(sent[1])) {
		got, err := read(readers[0])
		if err != nil || !bytes.Equal(got, sent[0][i]) {
			return fmt.Errorf("%s: ReadMessage returned %d bytes, %s; %s",
				describe(sent[0][i]), len(got), say(err), advice)
		}
		if err := expectMessage(readers[1], sent[1][i]); err != nil {
			return fmt.Errorf("%w; %s", err, advice)
		}
		if !bytes.Equal(got, sent[0][i]) {
			return fmt.Errorf("a message changed when another Reader read; %s", advice)
		}
	}
	return nil
}
