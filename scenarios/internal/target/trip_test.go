package target

import (
	"context"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/syspipe"
)

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
