//go:build unix

package check_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/check"
)

// verdicts returns a sink that prints the verdict of each situation.
func verdicts() check.Sink {
	return func(l results.Line) error {
		if f, ok := l.(results.Finding); ok {
			fmt.Println(f.ID, f.Verdict)
		}
		return nil
	}
}

// A situation of its name is tried alone. cat writes what it wrote to a file to a late reader, too.
func ExampleProgram() {
	o := check.Options{
		Command: []string{"cat"},
		Stdin:   []byte("one\ntwo\n"),
		Only:    []string{"late-reader"},
	}
	if err := check.Program(context.Background(), o, verdicts()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// check/program/late-reader ok
}

// A program that fails and writes nothing is not judged.
func ExampleProgram_fails() {
	o := check.Options{Command: []string{"false"}}
	err := check.Program(context.Background(), o, verdicts())
	fmt.Println(err != nil)
	// Output:
	// true
}

// Names that no situation has are refused before anything is started.
func ExampleOptions() {
	o := check.Options{Command: []string{"cat"}, Only: []string{"moonlight"}}
	err := check.Program(context.Background(), o, verdicts())
	fmt.Println(err != nil)
	// Output:
	// true
}
