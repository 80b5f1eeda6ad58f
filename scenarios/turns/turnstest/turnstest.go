// Package turnstest stands in for the run command in tests of packages that start it.
package turnstest

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/pipebench/pipebench/results"
)

// FakeCell is the cell that [Fake] records.
var FakeCell = results.Cell{Framing: "ndjson", Size: 10, Pipe: "anonymous", IO: "blocking",
	Placement: "same", Pattern: "stream", Payload: "json"}

// Fake makes the folder dir with the results file of a run: a record of [FakeCell] with one sample,
// of 1,000 ns per message.
//
//	func TestMain(m *testing.M) {
//		if _, fake := os.LookupEnv("FAKE_RUN"); fake {
//			err := turnstest.Fake(os.Args[len(os.Args)-1]) // the folder after --out
//			…
//		}
//		os.Exit(m.Run())
//	}
func Fake(dir string) error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w, err := results.Append(filepath.Join(dir, results.FileName))
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(
		w.Write(results.Environment{Run: run, Machine: "m1", Time: now}),
		w.Write(results.Record{Run: run, Time: now, Stopped: "samples", Cell: FakeCell,
			Samples: []results.Sample{{
				ElapsedNS: 1_000_000, Messages: 1000,
				PayloadBytes: 10_000, WireBytes: 11_000,
			}}}),
		w.Close())
}
