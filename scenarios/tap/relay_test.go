package tap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"
)

// The streams of this system, and those that every system has.
var streams = []struct {
	name string
	open func(*os.File) (stream, error)
}{
	{"this system's", open},
	{"portable", func(f *os.File) (stream, error) { return file{f}, nil }},
}

func TestRelayPassesOnAndEndsWithItsSource(t *testing.T) {
	for _, row := range streams {
		t.Run(row.name, func(t *testing.T) {
			in, out, relay := relayed(t, row.open)
			text := bytes.Repeat([]byte(`{"id":1,"method":"m"}`+"\n"), 50_000) // more than fits on the way
			go func() {
				in.Write(text)
				in.Close()
			}()
			got, err := io.ReadAll(out)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes came of %d: %v", len(got), len(text), err)
			}
			<-relay.done
			if relay.track.account.Messages != 50_000 || relay.bytes.Load() != int64(len(text)) {
				t.Errorf("saw %d messages in %d bytes", relay.track.account.Messages, relay.bytes.Load())
			}
		})
	}
}

func TestRelayEndsWithItsReader(t *testing.T) {
	for _, row := range streams {
		t.Run(row.name, func(t *testing.T) {
			in, out, relay := relayed(t, row.open)
			out.Close()
			for {
				if _, err := in.Write([]byte("x\n")); err != nil {
					break
				}
			}
			<-relay.done
		})
	}
}

// relayed starts a relay between two pipes.
func relayed(t *testing.T, open func(*os.File) (stream, error)) (in, out *os.File, r *relay) {
	t.Helper()
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]stream
	for i, f := range []*os.File{from, to} {
		if ends[i], err = open(f); err != nil {
			t.Fatal(err)
		}
	}
	r = newRelay(ends[0], ends[1], newRecorder(Options{Record: io.Discard}).track(fromClient), lines())
	deadline := time.Now().Add(2 * time.Minute)
	in.SetDeadline(deadline)
	out.SetDeadline(deadline)
	t.Cleanup(func() {
		in.Close()
		out.Close()
		<-r.done
	})
	go r.run()
	return in, out, r
}

// The second run has signals of its own, since the first has let go of them.
func TestAProcessMayTapTwice(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		in, feed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		taken, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		go io.Copy(io.Discard, taken)
		o := Options{Command: []string{self, "-test.run=^$"}, Stdin: in, Stdout: out, Stderr: out}
		end, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		end.Release()
	}
}

// A fullStream takes nothing, and gives one message without a newline.
type fullStream struct {
	given  bool
	closed func()
}

func (f *fullStream) read(p []byte) (int, error) {
	if f.given {
		return 0, io.EOF
	}
	f.given = true
	return copy(p, "last"), nil
}

func (f *fullStream) writeAll([]byte) error { return errors.New("no space left") }
func (f *fullStream) readerStays() bool     { return true }
func (f *fullStream) close()                { f.closed() }

// An answer may come before the write of its request returns. The request is not later than that.
func TestAMessageIsNotLaterThanItsAnswer(t *testing.T) {
	track := newRecorder(Options{Record: io.Discard}).track(fromClient)
	to := &answeringStream{track: track}
	r := newRelay(to, to, track, lines())
	r.decoder.emit = func(m *message) {
		if m.at-m.stalled > to.answered {
			t.Errorf("recorded %d ns after its answer", m.at-m.stalled-to.answered)
		}
	}
	if err := r.pass([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
}

// An answeringStream notes when the answer to what is written to it comes.
type answeringStream struct {
	file
	track    *track
	answered int64
}

func (s *answeringStream) writeAll([]byte) error {
	s.answered = s.track.now()
	return nil
}

// If client and server leave together, the end of the output is still on its way.
func TestTheEndOfTheOutputIsAwaitedThoughTheClientHasLeft(t *testing.T) {
	for range 100 {
		out := &relay{done: make(chan struct{})}
		out.to = &leftStream{out: out}
		s := &session{out: out, grace: time.Minute}
		if err := s.drainOutput(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-out.done:
		default:
			t.Fatal("the output has not ended")
		}
	}
}

// A leftStream has lost its reader. The output ends a moment later.
type leftStream struct {
	file
	out *relay
}

func (s *leftStream) readerStays() bool {
	go func() {
		for range 100 {
			runtime.Gosched()
		}
		close(s.out.done)
	}()
	return false
}

// When the streams close the session may be over: all that it asks of a relay has to be known.
func TestARelayKnowsWhatWasLostBeforeItsStreamsClose(t *testing.T) {
	full := &fullStream{}
	track := newRecorder(Options{Record: io.Discard}).track(fromServer)
	r := newRelay(full, full, track, lines())
	s := &session{out: r}
	closed := 0
	full.closed = func() {
		closed++
		if s.outputLost() == nil {
			t.Error("it is not known that the output was lost")
		}
	}
	r.run()
	if closed != 2 {
		t.Errorf("%d streams were closed, want both", closed)
	}
}
