package check

import (
	"context"

	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

// Server checks a server that speaks over its standard input and output.
func Server(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Server); err != nil {
		return err
	}
	return o.try(ctx, catalogue.Server, map[string]situation{}, sink)
}
