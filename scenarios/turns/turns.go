// Package turns compares two commands by running them in turns, so that whatever disturbs the
// machine disturbs both.
//
//	builds, err := turns.OpenBuilds(old, new, "out")
//	…
//	comparison, err := turns.Run(ctx, builds, turns.Plan{Pairs: 20})
//
// [Run] runs two commands in pairs until the comparison, a [Contest], is decided. A contest is
// between two builds of pipebench ([Builds]), any two commands ([Programs]) or two Go test binaries
// ([GoTests]).
//
// Functions may be called concurrently, but runs on the same machine disturb each other's figures.
// The package is for pipebench's commands and may change.
package turns

import (
	"context"
	"fmt"
	"os"
)

// Environment variables that tell a run of pipebench how it was started.
const (
	inTurnsVariable     = "PIPEBENCH_TURNS"        // it takes turns with other runs
	recordsOnlyVariable = "PIPEBENCH_RECORDS_ONLY" // nobody looks at its charts and its page
)

// enquiry is what a run writes to standard output when its turn is over. Any byte on its standard
// input gives the run its next turn.
const enquiry = '\x05'

// RecordsOnly reports whether this process need only make records, and no charts.
func RecordsOnly() bool { return os.Getenv(recordsOnlyVariable) != "" }

// InTurns reports whether this process takes turns with others, as one run of many.
func InTurns() bool { return os.Getenv(inTurnsVariable) != "" }

// Turn gives up this process's turn and waits for the next one. If the process does not take turns,
// Turn returns at once.
func Turn(ctx context.Context) error {
	if !InTurns() {
		return nil
	}
	if _, err := os.Stdout.Write([]byte{enquiry}); err != nil {
		return fmt.Errorf("give up the turn: %w", err)
	}
	given := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // at the end of input, nobody else takes turns
		close(given)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-given:
		return nil
	}
}
