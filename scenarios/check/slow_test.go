package check

import (
	"os"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A program that still writes what it writes to a file when its time is up is slow. One that has
// stopped, or writes more than that, is not.
func TestAProgramThatStillWritesIsNotTakenForAStuckOne(t *testing.T) {
	const file = 31_457_580 // bytes
	whole := &outcome{total: file, end: "exit 0", took: 6 * time.Second, cpu: time.Second / 4}
	for _, row := range []struct {
		name  string
		moved time.Duration
		total int64
		wants results.Verdict
	}{
		{"writes to the end", 20*time.Second - 10*time.Millisecond, file - 1, results.CannotTell},
		{"has stopped", 5 * time.Second, file - 1, results.Fails},
		{"writes more", 20*time.Second - 10*time.Millisecond, file + 1, results.Fails},
		{"wrote nothing", 0, 0, results.Fails},
	} {
		p := &program{runs: reference{whole}}
		f := &finding{}
		late := &outcome{took: 20 * time.Second, lastOutputAt: row.moved, total: row.total,
			cpu: 1510 * time.Millisecond}
		endsInTime(p, f, late)
		if f.Verdict != row.wants {
			t.Errorf("%s: %s: %s", row.name, f.Verdict, f.Found)
		}
	}
}

// The reader leaves when the time of a program is up. If the program ends by that, it has not ended
// in its time.
func TestAProgramThatEndsBecauseItsTimeIsUpHasNotEndedInTime(t *testing.T) {
	p := proc.Command(os.Args[0], "-test.run=^$")
	defer p.Close()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	inTime := &outcome{process: p, begun: time.Now()}
	inTime.conclude("", time.Now())
	if inTime.end != "exit 0" {
		t.Errorf("in its time: %q", inTime.end)
	}
	late := &outcome{process: p, begun: time.Now(), givenUp: true}
	late.conclude("", time.Now())
	if late.end != "" {
		t.Errorf("when its time was up: %q", late.end)
	}
}
