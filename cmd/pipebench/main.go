// Command pipebench measures the pipes that programs talk through, and the
// framings they talk in.
//
//	pipebench run                     five framings through real pipes, in half a minute
//	pipebench run --size 4KiB..1MiB --framing ndjson,chunked --chunk 4KiB..60KiB
//	pipebench plot pipebench-out/*/results.jsonl
//	pipebench run --scenario reader-gone
//	pipebench claims                  what documents say, judged here
//	pipebench list
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/scenarios/claims"
	"github.com/pipebench/pipebench/scenarios/faults"
)

func main() {
	bench.Worker()
	faults.Worker()
	claims.Worker()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program where it stands
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(ctx, root.ExecuteContext(ctx), stderr)
}
