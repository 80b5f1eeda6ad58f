package failures_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// TestMain makes the test binary the programs that failures start, as pipebench is.
func TestMain(m *testing.M) {
	proc.Main(failures.Jobs())
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	if len(os.Args) > 1 && (os.Args[1] == "specimen" || os.Args[1] == "serve") {
		var err error
		if os.Args[1] == "serve" {
			err = serve(os.Args[2:])
		} else {
			err = failures.RunSpecimen(os.Args[2])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "6") // they mostly wait
	os.Exit(m.Run())
}

// serve is our server, with the flag --fault or without flags.
func serve(args []string) error {
	o := mcp.Options{Tools: mcp.Samples(), Stderr: os.Stderr}
	if len(args) == 2 {
		fault, err := mcp.ParseFault(args[1])
		if err != nil {
			return err
		}
		o.Fault = fault
	}
	s, err := mcp.Start(context.Background(), os.Stdin, os.Stdout, o)
	if err != nil {
		return err
	}
	return s.Wait()
}
