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

// A program that only has to end may write less than into a file. The verdict is ok, but the text
// says so, unless the program had another input.
func TestOutputThatIsShorterThanAFileIsSaid(t *testing.T) {
	whole := &outcome{total: 1_001_000, end: "exit 0"}
	for _, row := range []struct {
		name  string
		input input
		stdin string
		total int64
		want  string
	}{
		{"cut", silentInput, "", 66_536, "exit 0, 66,536 B of 1,001,000 B; 0 B to standard error"},
		{"whole", silentInput, "", 1_001_000, "exit 0, 1,001,000 B; 0 B to standard error"},
		{"a filter", emptyInput, "x\n", 0, "exit 0, 0 B; 0 B to standard error"},
		{"a cut filter", wholeInput, "x\n", 5, "exit 0, 5 B of 1,001,000 B; 0 B to standard error"},
	} {
		p := &program{runs: reference{whole}, options: Options{Stdin: []byte(row.stdin)}}
		f := &finding{}
		o := &outcome{streams: streams{input: row.input}, total: row.total, end: "exit 0"}
		endsInTime(p, f, o)
		if f.Verdict != results.OK || f.Found != row.want {
			t.Errorf("%s: %s: %s, want %s", row.name, f.Verdict, f.Found, row.want)
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
