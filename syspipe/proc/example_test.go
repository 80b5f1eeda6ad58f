package proc_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// double is work of this program: main, or TestMain as here, begins with
//
//	proc.Main(map[string]proc.Job{"double": double})
func double(w *proc.Work) error {
	var n int
	if err := w.Args(&n); err != nil {
		return err
	}
	return w.Report(2 * n)
}

func ExampleSelf() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := proc.Self("double", 21)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	if err := p.Start(ctx); err != nil {
		log.Fatal(err)
	}
	var n int
	if err := p.Report(&n); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output: 42
}

// A server of others, told to end in the way it knows.
func ExampleProcess_Stop() {
	p := proc.Command("cat")
	defer p.Close()
	stdin, err := p.Pipe(0)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Start(context.Background()); err != nil {
		log.Print(err)
		return
	}
	stdin.Close()
	forced := p.Stop(2*time.Second, time.Second)
	fmt.Println("forced:", forced, "exit code:", p.ExitCode())
}
