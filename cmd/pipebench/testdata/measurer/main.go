// Measurer stands for a build of pipebench in tests of the command "compare". It has only the
// command "run", which measures one cell with the engine, workers and turns of pipebench. Building
// it takes a tenth of the time that building pipebench takes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/turns"
)

func main() {
	bench.Worker()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measurer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "run" {
		return fmt.Errorf("%q: run is all there is", args)
	}
	plan := bench.Plan{Duration: bench.SliceTime, Turn: turns.Turn}
	cell := results.Cell{Pipe: "anonymous", IO: "blocking", Payload: "json"}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&cell.Framing, "framing", "", "")
	flags.StringVar(&cell.Pattern, "pattern", "", "")
	flags.StringVar(&cell.Placement, "placement", "", "")
	flags.Func("size", "", func(s string) error {
		size, err := results.ParseSize(s)
		cell.Size = int(size)
		return err
	})
	flags.IntVar(&plan.Samples, "samples", 24, "")
	flags.IntVar(&plan.Forks, "forks", 1, "")
	flags.Int64Var(&plan.Seed, "seed", 1, "")
	out := flags.String("out", "", "")
	flags.Bool("quiet", false, "")
	flags.Bool("no-progress", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	plan.Cells = []results.Cell{cell}
	var err error
	if plan.Run, err = results.NewRun(); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	file, err := results.Append(filepath.Join(*out, "results.jsonl"))
	if err != nil {
		return err
	}
	err = file.Write(machine.Describe(plan.Run, plan.Seed))
	if err == nil {
		keep := func(r results.Record) error { return file.Write(r) }
		err = bench.Run(context.Background(), plan, keep)
	}
	return errors.Join(err, file.Close())
}
