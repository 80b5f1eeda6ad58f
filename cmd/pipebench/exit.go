package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Exit codes of every command.
const (
	exitDone         = 0   // a limit that was looked for and found is an answer, not a failure
	exitFailed       = 1   // could not run
	exitUsage        = 2   // was asked for something it does not know
	exitGate         = 3   // a gate failed
	exitInconclusive = 4   // no verdict, where one was required
	exitInterrupted  = 130 // by the user; what was finished is in the file
)

// A statusError ends the command with a code of its own.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// usage marks an error as the caller's: what was asked for cannot be. One that
// has a code of its own keeps it.
func usage(err error) error {
	var status *statusError
	if err == nil || errors.As(err, &status) {
		return err
	}
	return &statusError{exitUsage, err}
}

// unread marks an error of a file that was asked for rightly and cannot be read.
func unread(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{exitFailed, err}
}

// exitCode reports err, if there is one, and gives the code to exit with.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var status *statusError
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "pipebench: interrupted")
		return exitInterrupted
	case errors.As(err, &status):
		fmt.Fprintf(stderr, "pipebench: %v\n", err)
		return status.code
	}
	fmt.Fprintf(stderr, "pipebench: %v\n", err)
	return exitFailed
}
