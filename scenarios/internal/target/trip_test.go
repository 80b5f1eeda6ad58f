package target

import (
	"context"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
)

// A second answer is counted, also if the first was taken already.
func TestASecondAnswerIsCounted(t *testing.T) {
	s := new(Server)
	protocol := newBare(framers.NDJSON())
	s.protocol.Store(protocol)
	r := protocol.Request(Transport, 0)
	got := s.expect(r, time.Now())
	text := []byte(`{"jsonrpc":"2.0","id":` + string(r.answerID()) + `,"result":{}}`)
	answer := child.Message{Raw: text, Envelope: jsonrpc.Scan(text)}
	for want := range int64(3) {
		(*s.receive.Load())(answer)
		if want == 0 {
			<-got
		}
		if n, _ := s.Strays.Unasked(); n != want {
			t.Errorf("%d answers nobody waited for, want %d", n, want)
		}
	}
}

// An answer that has come counts, though its time is up when it is looked for.
func TestAnAnswerThatIsHereWhenItsTimeIsUpCounts(t *testing.T) {
	r, w, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Conn: child.Over(r, w, framers.NDJSON(), child.Options{})}
	defer s.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // which of two events a select takes is chance
		got := make(chan Outcome, 1)
		got <- Outcome{Verdict: OK}
		out := s.await(over, got, nil, time.Now(), time.Hour)
		if out.Verdict != OK {
			t.Fatalf("%+v", out)
		}
	}
}
