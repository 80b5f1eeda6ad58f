package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// soakEnv is how many requests the soak sends; a million is the run that counts:
//
//	PIPEBENCH_SOAK=1000000 go test -run Soak -timeout 30m ./scenarios/mcp/client
const soakEnv = "PIPEBENCH_SOAK"

// A footprint is what a process holds.
type footprint struct{ goroutines, heap, descriptors int }

// grown says what b holds more than a, beyond what comes and goes.
func grown(a, b footprint) string {
	const heapSlack, goroutineSlack = 4 << 20, 16
	switch {
	case b.goroutines > a.goroutines+goroutineSlack:
		return fmt.Sprintf("%d goroutines, %d before", b.goroutines, a.goroutines)
	case b.heap > a.heap+heapSlack:
		return fmt.Sprintf("%d bytes of heap, %d before", b.heap, a.heap)
	case b.descriptors > a.descriptors:
		return fmt.Sprintf("%d descriptors, %d before", b.descriptors, a.descriptors)
	}
	return ""
}

func own() (f footprint) {
	fmt.Sscan(usage(), &f.goroutines, &f.heap, &f.descriptors)
	return f
}

func childs(t *testing.T, c *Conn) (f footprint) {
	t.Helper()
	fmt.Sscan(ask(t, c, "usage", nil), &f.goroutines, &f.heap, &f.descriptors)
	return f
}

// TestSoak sends requests of every sort through a real child, and wants neither end to hold more
// after than before.
func TestSoak(t *testing.T) {
	requests := 8_000
	if text, ok := os.LookupEnv(soakEnv); ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", soakEnv, err)
		}
		requests = n
	}
	c := openChild(t, childCommand("serve ndjson"), Options{Restarts: -1})
	soak(t, c, requests/10)
	here, there := own(), childs(t, c)
	soak(t, c, requests-requests/10)
	if more := grown(here, own()); more != "" {
		t.Errorf("the client holds %s", more)
	}
	if more := grown(there, childs(t, c)); more != "" {
		t.Errorf("the server holds %s", more)
	}
	if s := c.snapshot(); s.noise+s.strays != 0 || s.inFlight != 0 || s.starts != 1 {
		t.Errorf("counts are %+v, want no noise and no restart", s)
	}
	t.Logf("%d requests: client %+v -> %+v, server %+v -> %+v, %+v",
		requests, here, own(), there, childs(t, c), c.snapshot())
}

func soak(t *testing.T, c *Conn, requests int) {
	t.Helper()
	const callers = 8
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(requests) && !t.Failed(); n = next.Add(1) {
				if err := dip(c, int(n)); err != nil {
					t.Errorf("request %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	runtime.GC()
}

// dip sends the nth request, and returns what is not as it should be.
func dip(c *Conn, n int) error {
	var remote *jsonrpc.Error
	switch n % 8 {
	case 0: // an error of the protocol
		if _, err := c.Call(context.Background(), "no/such", nil); !errors.As(err, &remote) || remote.Code != jsonrpc.CodeMethodNotFound {
			return fmt.Errorf("unknown method: got %w", err)
		}
	case 1: // a tool that fails
		if res, err := CallTool(context.Background(), c, "fail", nil); err != nil || !res.IsError {
			return fmt.Errorf("failing tool: got %w", err)
		}
	case 2: // a request that is given up
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := CallTool(ctx, c, "sleep", map[string]int{"seconds": 3600})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("cancelled: got %w", err)
		}
	default:
		text := fmt.Sprintf("%0*d", n%4000, n)
		if got, err := tryAsk(c, "echo", map[string]string{"message": text}); err != nil || got != text {
			return fmt.Errorf("echo of %d bytes: got %d, %w", len(text), len(got), err)
		}
	}
	return nil
}
