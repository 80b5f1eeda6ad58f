package noise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// fakeEnv makes this test binary a pipebench whose run command measures nothing.
// Invocations are tested with it; the real binary is tested where the command
// is.
const fakeEnv = "PIPEBENCH_TEST_FAKE_RUN"

func TestMain(m *testing.M) {
	if _, fake := os.LookupEnv(fakeEnv); fake {
		if err := fakeRecord(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeRecord leaves one record of 1,000 ns a message in a folder.
func fakeRecord(dir string) error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w, err := results.Create(filepath.Join(dir, results.FileName))
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(
		w.Write(results.Environment{Run: run, Machine: "m1", Time: now}),
		w.Write(results.Record{Run: run, Time: now, Stopped: "samples", Cell: testCell,
			Samples: []results.Sample{{ElapsedNS: 1_000_000, Messages: 1000, PayloadBytes: 10_000, WireBytes: 11_000}}}),
		w.Close())
}

var testCell = results.Cell{Framing: "ndjson", Size: 10, Pipe: "anonymous", IO: "blocking",
	Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
