package check

import (
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// A client that did not end in its time is no failure if all that it does takes that long here.
func TestASlowClientIsNotTakenForAStuckOne(t *testing.T) {
	const timeout = 10 * time.Second
	for _, row := range []struct {
		good  time.Duration // with a good server, or an answer of 4 MiB
		wants results.Verdict
	}{
		{200 * time.Millisecond, results.Fails},
		{time.Second, results.Fails},
		{6 * time.Second, results.CannotTell},
	} {
		late := &visit{took: timeout}
		f := &finding{}
		judgeLimit(f, late, row.good, row.good, 4<<20, 8<<20)
		if f.Verdict != row.wants {
			t.Errorf("4 MiB take %v: %s: %s", row.good, f.Verdict, f.Found)
		}

		c := &clientCheck{good: &visit{took: row.good, ended: true, asked: 1}}
		f = &finding{}
		c.judgeDuty(f, late, catalogue.CarryOn, row.good)
		if f.Verdict != row.wants {
			t.Errorf("a good server takes %v: %s: %s", row.good, f.Verdict, f.Found)
		}
	}

	// A client that the check has killed is not blamed for the server that it leaves.
	c := &clientCheck{good: &visit{took: time.Second, ended: true, asked: 1}}
	f := &finding{}
	c.judgeDuty(f, &visit{took: timeout, leftAlive: 1}, catalogue.CarryOn, 6*time.Second)
	if f.Verdict != results.CannotTell {
		t.Errorf("a server of a client that was killed: %s: %s", f.Verdict, f.Found)
	}

	// A time that grows with the size is no limit either.
	f = &finding{}
	judgeLimit(f, &visit{took: timeout}, 100*time.Millisecond, 3*time.Second, 4<<20, 8<<20)
	if f.Verdict != results.CannotTell {
		t.Errorf("twice the size in three times the time: %s: %s", f.Verdict, f.Found)
	}

	// A client that is slow to start, and then waits for ever, has a limit.
	f = &finding{}
	judgeLimit(f, &visit{took: timeout}, 4*time.Second, 4*time.Second, 64<<10, 128<<10)
	if f.Verdict != results.Fails {
		t.Errorf("a slow start: %s: %s", f.Verdict, f.Found)
	}

	// A client that ends of itself has a limit, however slow it is.
	f = &finding{}
	refuses := &visit{took: timeout, ended: true, code: 1, said: "too long"}
	judgeLimit(f, refuses, time.Second, 6*time.Second, 64<<10, 128<<10)
	if f.Verdict != results.Fails {
		t.Errorf("a small limit: %s: %s", f.Verdict, f.Found)
	}
}
