package drive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// awaitFile waits until a server has made a file.
func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestACancelledWriteEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sated")
	o := server("sated " + path)
	o.Protocol, o.Patience, o.Longest = "lines", time.Hour, time.Hour
	d := begin(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := d.Sweep(ctx, []int{1 << 10, 4 << 20}, discard)
		ended <- err
	}()
	awaitFile(path)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOpenTellsWhichAnswerItWaitsFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := ""
	o := drive.Options{Command: python(t, deafTool, "swallow"), Start: time.Hour,
		Patience: time.Hour}
	o.Observe = func(step string) {
		last = step
		if step == "waiting for the first answer to tool echo" {
			cancel()
		}
	}
	_, err := drive.Open(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, after %q", err, last)
	}
}

func TestAContextThatEndsAfterASweepLeavesTheServerToTheNext(t *testing.T) {
	d := open(t, server("cat"))
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		sweep, err := d.Sweep(ctx, []int{1 << 10}, discard)
		cancel()
		if err != nil || len(failures(sweep)) > 0 || d.Starts() != 1 {
			t.Fatalf("%v, %d starts: %+v", err, d.Starts(), sweep)
		}
	}
}

func TestWhatWasMeasuredWhenTheTimeIsOverSaysHowTimeGrows(t *testing.T) {
	leakCheck(t)
	d := begin(t, server("cat"))
	ctx, cancel := context.WithCancel(t.Context())
	set := new(results.Set)
	err := d.Drive(ctx, drive.Plan{}, func(l results.Line) error {
		set.Add(l)
		if l.(results.Target).Size == 256<<10 {
			cancel()
		}
		return nil
	})
	records := set.Targets
	growth := records[len(records)-2] // the last one says what was not tried
	if !errors.Is(err, context.Canceled) || growth.Evidence.Growth == nil {
		t.Errorf("%v, and the last but one record is %+v", err, growth)
	}
}

// When the time is over, nobody waits for a server that may stay after the end of its input.
func TestAServerIsNotWaitedForWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	d := begin(t, server("cat"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sizes := drive.Doubling(1<<10, 1<<20)
	err := d.Drive(ctx, drive.Plan{Sizes: sizes}, func(l results.Line) error {
		if l.(results.Target).Evidence.Growth != nil { // next, it measures small pipes
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || d.PID() != 0 {
		t.Errorf("%v, and process %d still runs", err, d.PID())
	}
}

// A size that an interruption left out is no success.
func TestASizeThatAnInterruptionLeftOutIsNotTried(t *testing.T) {
	t.Parallel()
	leavesOut(t, drive.Plan{Sizes: []int{1 << 10, 2 << 10}})
	leavesOut(t, drive.Plan{}) // the usual sizes
}

// leavesOut interrupts a plan after 1 KiB, and requires a record that 2 KiB were not tried.
func leavesOut(t *testing.T, p drive.Plan) {
	t.Helper()
	d := begin(t, server("cat"))
	ctx, cancel := context.WithCancel(t.Context())
	set := new(results.Set)
	err := d.Drive(ctx, p, func(l results.Line) error {
		set.Add(l)
		cancel()
		return nil
	})
	last := set.Targets[len(set.Targets)-1]
	if !errors.Is(err, context.Canceled) || last.Size != 2<<10 ||
		last.Verdict != results.VerdictNotTried || last.Evidence.Why != "it was interrupted" {
		t.Errorf("%v: %s, %q", err, last.Verdict, last.Evidence.Why)
	}
}
