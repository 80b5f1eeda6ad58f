package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
)

// reportProblems says on stderr which parts of files cannot be read.
func reportProblems(cmd *cobra.Command, problems []results.Problem) {
	for _, p := range problems {
		prefix := "skipped: "
		if p.File == "" { // the problem is about a run, and nothing was skipped
			prefix = "pipebench: "
		}
		writeNotice(cmd.ErrOrStderr(), prefix+p.String())
	}
}

// requireComplete returns an error if measurements are missing from a set.
func requireComplete(set *results.Set) error {
	if !set.Incomplete() {
		return nil
	}
	return &statusError{exitInconclusive, errors.New("measurements are missing, as said above")}
}

// readResults reads files of results. If ctx ends first, it returns the error of ctx.
func readResults(ctx context.Context, paths ...string) (*results.Set, error) {
	read := func(paths []string) (*results.Set, error) { return results.Read(paths...) }
	return interruptibly(ctx, paths, read)
}

// wrap puts a description of what failed before the message of err, as in "keep the comparison: no
// space left". If err is nil, wrap returns nil.
func wrap(description string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", description, err)
}

// interruptibly returns what read(path) returns. If ctx ends first, it returns the error of ctx.
func interruptibly[P, T any](
	ctx context.Context, path P, read func(P) (T, error),
) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	// Opening a FIFO or reading a device can block forever.
	go func() {
		value, err := read(path)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			r.err = &statusError{exitFailed, r.err} // no mistake in usage
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
