// Package invoketest stands in for a run in tests of what invokes runs: it
// leaves what a run leaves, and measures nothing.
//
//	func TestMain(m *testing.M) {
//		if _, fake := os.LookupEnv("FAKE_RUN"); fake {
//			err := invoketest.Run(os.Args[len(os.Args)-1]) // the folder behind --out
//			…
//		}
//		os.Exit(m.Run())
//	}
package invoketest

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/pipebench/pipebench/results"
)

// Cell is what every such run says that it measured.
var Cell = results.Cell{Framing: "ndjson", Size: 10, Pipe: "anonymous", IO: "blocking",
	Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}

// Run leaves a record of Cell with one sample, of 1,000 ns a message, in a
// folder, which it makes.
func Run(dir string) error {
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
		w.Write(results.Record{Run: run, Time: now, Stopped: "samples", Cell: Cell,
			Samples: []results.Sample{{ElapsedNS: 1_000_000, Messages: 1000, PayloadBytes: 10_000, WireBytes: 11_000}}}),
		w.Close())
}
