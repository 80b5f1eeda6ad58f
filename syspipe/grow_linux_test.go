package syspipe_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pipebench/pipebench/syspipe"
)

func TestGrow(t *testing.T) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.FIFO} {
		for _, how := range []syspipe.IO{syspipe.Poller, syspipe.Blocking, syspipe.Poll} {
			t.Run(fmt.Sprintf("%s/%s", kind, how), func(t *testing.T) {
				w, r := open(t, kind, 0, how)
				if n, err := r.Grow(200_000); n != 256<<10 || err != nil {
					t.Errorf("Grow(200,000) = %d, %v; want 262,144, nil", n, err)
				}
				if n, err := w.Grow(64 << 10); n != 256<<10 || err != nil {
					t.Errorf("Grow to less = %d, %v; want it to stay at 262,144", n, err)
				}
				if n, err := w.Capacity(); n != 256<<10 || err != nil {
					t.Errorf("Capacity = %d, %v; want 262,144", n, err)
				}
			})
		}
	}
}

func TestGrowTellsWhatItCannot(t *testing.T) {
	for _, asked := range []int{1<<31 - 1, math.MaxInt} {
		w, r := open(t, syspipe.Anonymous, 0, syspipe.Poll)
		n, err := w.Grow(asked)
		var refused *syspipe.CapacityError
		if !errors.As(err, &refused) || refused.Asked != asked {
			t.Errorf("Grow(%d): %v, want a *CapacityError", asked, err)
		}
		limit := limitFrom(t, "/proc/sys/fs/pipe-max-size")
		if now, _ := r.Capacity(); n < limit || now != n {
			t.Errorf("Grow(%d) = %d and Capacity %d; want the limit, %d, or more", asked, n, now, limit)
		}
	}
}

func TestGrowLeavesSocketsAlone(t *testing.T) {
	w, _ := open(t, syspipe.SocketPair, 0, syspipe.Poll)
	before, err := w.Capacity()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Grow(8 << 20); n != before || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Grow = %d, %v; want %d and errors.ErrUnsupported", n, err, before)
	}
}

// growWithoutPages lets this user run out of pages for pipes. Grow then says so, and the pipe holds
// what it held.
func growWithoutPages([]string) error {
	limit := syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err) // the descriptors that there are may be enough
	}
	for range 2000 {
		w, _, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			fmt.Fprintln(os.Stderr, "out of descriptors before out of pages:", err)
			return nil
		}
		if err != nil {
			return err
		}
		before, err := w.Capacity()
		if err != nil {
			return err
		}
		n, err := w.Grow(1 << 20)
		if err == nil {
			continue // the pipes stay open: the process ends soon
		}
		var refused *syspipe.CapacityError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "pipe-user-pages-soft") {
			return fmt.Errorf("Grow: %w, want the limit of this user's pages", err)
		}
		if n < before {
			return fmt.Errorf("Grow = %d, and it held %d", n, before)
		}
		fmt.Fprintln(os.Stderr, n, err)
		return nil
	}
	return errors.New("2000 pipes of 1 MiB, and no limit")
}

func init() { childJobs["grow-without-pages"] = growWithoutPages }
