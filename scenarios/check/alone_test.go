package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// What fails beside others is tried again with nothing beside it. Only if it fails then, too, it
// has failed, unless it was certain.
func TestAFailureIsTriedAgainAlone(t *testing.T) {
	var running, ids, idle, mixed atomic.Int64
	tries := map[string]situation{
		"ids": func(_ context.Context, f *finding) error {
			ids.Add(1)
			f.fails("always fails")
			return nil
		},
		"end-idle": func(_ context.Context, f *finding) error {
			running.Add(1)
			defer running.Add(-1)
			if idle.Add(1) == 1 {
				f.fails("stays")
			} else if running.Load() > 1 {
				f.fails("is not alone")
			}
			f.ok("left")
			return nil
		},
		"pipelined": func(_ context.Context, f *finding) error {
			mixed.Add(1)
			f.certain = true
			f.fails("mixes answers")
			return nil
		},
		"sigterm": func(_ context.Context, f *finding) error {
			running.Add(1)
			defer running.Add(-1)
			f.ok("left")
			return nil
		},
	}
	found := map[string]results.Finding{}
	err := Options{}.try(t.Context(), catalogue.Server, tries, func(l results.Line) error {
		f := l.(results.Finding)
		found[strings.TrimPrefix(f.ID, "check/server/")] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := found["end-idle"]
	if f.Verdict != results.CannotTell || !strings.Contains(f.Found, "beside it: left") {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
	f = found["ids"]
	if f.Verdict != results.Fails || f.Advice == "" || ids.Load() != 2 {
		t.Errorf("%s: %s, after %d", f.Verdict, f.Found, ids.Load())
	}
	if v := found["pipelined"].Verdict; v != results.Fails || mixed.Load() != 1 {
		t.Errorf("%s, after %d", v, mixed.Load())
	}
	if found["sigterm"].Verdict != results.OK {
		t.Errorf("%+v", found["sigterm"])
	}
}

// When the time is over, whatever was judged by then is recorded. A situation that failed beside
// others, and was not tried again, has not failed.
func TestWhatWasJudgedIsRecordedWhereTheTimeIsOver(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tries := map[string]situation{
		"ids": func(_ context.Context, f *finding) error {
			f.fails("answers under another id")
			return nil
		},
		"sigterm": func(_ context.Context, f *finding) error {
			f.ok("left")
			return nil
		},
		"many-starts": func(context.Context, *finding) error { // the last of them
			stop()
			return ctx.Err()
		},
	}
	found := map[string]results.Finding{}
	err := Options{}.try(ctx, catalogue.Server, tries, func(l results.Line) error {
		f := l.(results.Finding)
		found[strings.TrimPrefix(f.ID, "check/server/")] = f
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	f := found["ids"]
	const again = "answers under another id; interrupted before it was tried again alone"
	if f.Verdict != results.CannotTell || f.Found != again || f.Class == "" {
		t.Errorf("%s: %s", f.Verdict, f.Found)
	}
	if f := found["sigterm"]; f.Verdict != results.OK {
		t.Errorf("%+v", f)
	}
	f = found["many-starts"]
	const stopped = "interrupted before this was judged"
	if f.Verdict != results.CannotTell || f.Found != stopped || f.Class == "" {
		t.Errorf("%+v: it was not brought to its end", f)
	}
}

// A situation that is about other programs says so, and is no doubt about this one.
func TestASituationMayBeAboutOtherPrograms(t *testing.T) {
	tries := map[string]situation{
		"sigterm": func(_ context.Context, f *finding) error {
			f.notApplicable("servers that have a window")
			return nil
		},
	}
	var found []results.Finding
	err := Options{}.try(t.Context(), catalogue.Server, tries, func(l results.Line) error {
		found = append(found, l.(results.Finding))
		return nil
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %d findings", err, len(found))
	}
	f := found[0]
	if f.Verdict != results.Unsupported || f.Found != "it is about servers that have a window" {
		t.Errorf("got %+v", f)
	}
}

// rivalsFile names, in the environment of a server, the file in which its starts are counted.
const rivalsFile = "CHECK_TEST_RIVALS"

// meetRivals counts a start of a server that another one must not run beside, and reports whether
// one does. Its first start is alone. The next two wait for each other.
func meetRivals() bool {
	count := func() int64 {
		info, err := os.Stat(os.Getenv(rivalsFile))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	file, err := os.OpenFile(os.Getenv(rivalsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	file.WriteString(".")
	file.Close()
	own := count()
	if own == 1 || own > 3 {
		return false
	}
	for count() < 3 {
		time.Sleep(time.Millisecond)
	}
	return true
}

// A server that does not end where another of its kind holds the lock is not blamed for that.
func TestAServerThatDisturbsItselfIsNotBlamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pipe that ends is told otherwise there")
	}
	t.Parallel()
	o := serverOptions(t, "locks")
	o.Env = append(o.Env, rivalsFile+"="+filepath.Join(t.TempDir(), "starts"))
	o.Only = []string{"end-idle", "end-at-start"}
	o.patience = 300 * time.Millisecond
	for name, f := range serverChecks(t, o) {
		if f.Verdict != results.CannotTell ||
			!strings.Contains(f.Found, "it depends on what ran before or beside it") {
			t.Errorf("%s: %s: %s", name, f.Verdict, f.Found)
		}
	}
}

// When the time is over, a test does not wait on for a process that stays.
func TestTheEndOfTheTimeEndsWhatATestWaitsFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("which processes a test started is not told")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stays := func(_ context.Context, f *finding) error {
		p := f.command([]string{"sleep", "1000"})
		if err := p.Start(context.Background()); err != nil {
			return err
		}
		defer p.Close()
		cancel()
		<-p.Done()
		f.fails("left when the time was over")
		return nil
	}
	tries := map[string]situation{"held-output": stays}
	var found results.Finding
	err := Options{}.try(ctx, catalogue.Server, tries, func(l results.Line) error {
		found = l.(results.Finding)
		return nil
	})
	if !errors.Is(err, context.Canceled) || found.Verdict != results.CannotTell {
		t.Errorf("%v, %s: %s", err, found.Verdict, found.Found)
	}
}
