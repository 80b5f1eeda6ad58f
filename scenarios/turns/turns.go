// Package turns compares two commands by running them in turns, so that whatever disturbs the
// machine disturbs both. It is for pipebench's commands and may change.
//
// A [Contest] is two commands that are run in pairs, and [Run] runs pairs until their comparison is
// decided:
//
//	builds, err := turns.OpenBuilds(old, new, "out")
//	…
//	comparison, err := turns.Run(ctx, builds, turns.Plan{Pairs: 20})
//
// There are three kinds of Contest:
//
//   - [Builds] are two builds of pipebench. A pair is one run of each. While one run measures a
//     round, the other waits. The records of each build are kept in a file.
//   - [Programs] are any two commands. A pair is one start of each. They are compared by the calls
//     and bytes that the kernel counted, by CPU time, and by elapsed time.
//   - [GoTests] are two Go test binaries, compared by their benchmarks.
//
// Functions may be called from several goroutines, but runs on the same machine disturb each
// other's figures.
package turns

import (
	"context"
	"fmt"
	"os"
)

// Environment variables that tell a run of pipebench how it was started. A build that does not know
// them draws its charts, and keeps its turn until it ends.
const (
	inTurnsVariable     = "PIPEBENCH_TURNS"        // it takes turns with other runs
	recordsOnlyVariable = "PIPEBENCH_RECORDS_ONLY" // nobody looks at its charts and its page
)

// enquiry is the byte that a run writes to standard output when its turn is over. The run goes on
// when it reads any byte from standard input.
const enquiry = '\x05'

// RecordsOnly reports whether this process need only make records, and no charts.
func RecordsOnly() bool { return os.Getenv(recordsOnlyVariable) != "" }

// InTurns reports whether this process takes turns with others. Such a process is one run of many.
// So it need not start its workers several times to find out how much a figure depends on the
// start.
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
