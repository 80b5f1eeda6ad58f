package drive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/drive"
)

// fitful echoes lines, ends at one of more than 10,000 bytes, and of the starts after the first
// only every failing-th comes to life. What arg names is a file in which the starts are counted,
// and that number.
func fitful(arg string) error {
	path, every, _ := strings.Cut(arg, " ")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := log.WriteString("."); err != nil {
		return err
	}
	info, err := log.Stat()
	if err != nil {
		return err
	}
	var n int64
	if _, err := fmt.Sscan(every, &n); err != nil {
		return err
	}
	if (info.Size()-1)%n != 0 {
		return fmt.Errorf("start %d is not a good one", info.Size())
	}
	return each(func(line string) {
		fmt.Println(line)
		if len(line) > 10_000 {
			os.Exit(0)
		}
	})
}

// fitfulServer comes to life at every n-th start.
func fitfulServer(t *testing.T, n int) drive.Options {
	o := server(fmt.Sprintf("fitful %s %d", filepath.Join(t.TempDir(), "starts"), n))
	o.Protocol = "lines"
	return o
}

func TestAServerThatDoesNotComeBackAtOnceIsStartedOnceMore(t *testing.T) {
	d := open(t, fitfulServer(t, 3))
	if _, err := d.Sweep(t.Context(), []int{1 << 10, 20 << 10}, discard); err != nil {
		t.Fatal(err)
	}
	sweep, err := d.Sweep(t.Context(), []int{30 << 10}, discard)
	if err != nil {
		t.Fatal(err)
	}
	if last := sweep.Targets[len(sweep.Targets)-1]; !strings.Contains(strings.Join(last.Warnings,
		" "), " starts of the server after a failure came to nothing") {
		t.Errorf("warnings of the size behind it: %q", last.Warnings)
	}
	if d.Starts() < 2 {
		t.Errorf("%d starts", d.Starts())
	}
}

func TestAServerThatDoesNotComeBackAtAllIsGivenUp(t *testing.T) {
	d := open(t, fitfulServer(t, 1000))
	if _, err := d.Sweep(t.Context(), []int{1 << 10, 20 << 10}, discard); err != nil {
		t.Fatal(err)
	}
	_, err := d.Sweep(t.Context(), []int{30 << 10}, discard)
	if err == nil || !strings.Contains(err.Error(), "start it again, 3 times: ") ||
		!strings.Contains(err.Error(), "is not a good one") {
		t.Errorf("got %v", err)
	}
}

// The last words of a server that ends at once are still in the pipe when it is gone.
func TestTheLastWordsOfAServerThatLeavesAreHeard(t *testing.T) {
	leakCheck(t)
	for range 15 {
		o := server("mumble it is over")
		o.Protocol = "mcp"
		_, err := drive.Open(t.Context(), o)
		if err == nil || !strings.HasSuffix(err.Error(), "it is over") {
			t.Fatalf("got %v", err)
		}
	}
}
