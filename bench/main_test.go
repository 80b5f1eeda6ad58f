package bench

import (
	"fmt"
	"io"
	"os"
	"testing"
)

// misbehave tells this binary, started as a worker, to be a bad one.
const misbehave = "BENCH_TEST_MISBEHAVE"

func TestMain(m *testing.M) {
	Register(own{})
	Worker()
	if os.Getenv("GORACE") == "" {
		// else each worker of a -race build lingers for a second
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	announceUnits()
	os.Exit(m.Run())
}

// A package's variables are initialised before its init functions run, where workers do their work.
var _ = misbehaves()

func misbehaves() bool {
	if _, worker := os.LookupEnv("PIPEBENCH_WORK"); !worker {
		return false
	}
	switch os.Getenv(misbehave) {
	case "die":
		fmt.Fprintln(os.Stderr, "these are my last words")
		os.Exit(7)
	case "hang":
		io.Copy(io.Discard, os.Stdin)
		select {}
	case "babble":
		fmt.Println("no report")
		os.Exit(0)
	}
	return true
}
