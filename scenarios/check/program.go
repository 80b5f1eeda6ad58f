package check

import (
	"context"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

// Program checks a program that runs once, or a filter, which reads o.Stdin.
func Program(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Program); err != nil {
		return err
	}
	return o.try(ctx, catalogue.Program, map[string]situation{"stdin-empty": {do: stdinEmpty}}, sink)
}

func stdinEmpty(ctx context.Context, f *finding) error {
	p := f.command(f.Command)
	defer p.Close()
	if err := p.Start(ctx); err != nil {
		return err
	}
	if !p.Ended(5 * time.Second) {
		f.fails("runs on at the end of its input")
	}
	f.ok("ends with code %d", p.ExitCode())
	return nil
}
