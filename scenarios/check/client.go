package check

import (
	"context"

	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

// Client checks a client that starts a server and speaks with it.
func Client(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Client); err != nil {
		return err
	}
	return o.try(ctx, catalogue.Client, map[string]situation{}, sink)
}
