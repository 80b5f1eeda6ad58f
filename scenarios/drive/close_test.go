package drive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// reluctant echoes lines and ends at one of more than 10,000 bytes. Started again, it says so by a
// file, and does nothing as long as its input is open.
func reluctant(path string) error {
	if _, err := os.Stat(path); err == nil {
		if err := os.WriteFile(path+" again", nil, 0o600); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return each(func(line string) {
		if len(line) > 10_000 {
			os.Exit(0)
		}
		fmt.Println(line)
	})
}

// awaitFile waits until a server has made a file.
func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCloseEndsAStartThatIsUnderWay(t *testing.T) {
	leakCheck(t)
	path := filepath.Join(t.TempDir(), "started")
	o := server("reluctant " + path)
	o.Protocol, o.Start = "lines", time.Hour
	d := begin(t, o)
	ended := make(chan error)
	go func() {
		_, err := d.Sweep(t.Context(), []int{1 << 10, 20 << 10, 30 << 10}, discard)
		ended <- err
	}()
	awaitFile(path + " again")
	d.Close()
	if err := <-ended; err == nil {
		t.Error("a sweep went on with a driver that was closed")
	}
}

func TestCloseEndsASweep(t *testing.T) {
	leakCheck(t)
	d := begin(t, server("cat"))
	_, err := d.Sweep(t.Context(), drive.Doubling(1<<10, 64<<20), func(l results.Line) error {
		if l.(results.Target).Size == 4<<10 {
			go d.Close()
		}
		return nil
	})
	if err == nil {
		t.Error("a sweep went on with a driver that was closed")
	}
}

func TestACancelledWriteEnds(t *testing.T) {
	leakCheck(t)
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
	if last := set.Targets[len(set.Targets)-1]; !errors.Is(err, context.Canceled) ||
		last.Evidence.Growth == nil {
		t.Errorf("%v, and the last record is %+v", err, last)
	}
}
