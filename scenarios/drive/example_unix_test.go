//go:build unix

package drive_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// cat answers lines with the same lines.
func ExampleOpen() {
	ctx := context.Background()
	d, err := drive.Open(ctx, drive.Options{Command: []string{"cat"}, Protocol: "lines"})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	fmt.Println(d.Protocol(), d.Framing())
	// Output:
	// lines ndjson
}

// A sweep has one target a size.
func ExampleDriver_Sweep() {
	ctx := context.Background()
	d, err := drive.Open(ctx, drive.Options{Command: []string{"cat"}, Protocol: "lines"})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	keep := func(results.Line) error { return nil }
	sweep, err := d.Sweep(ctx, drive.Doubling(1<<10, 4<<10), keep)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range sweep.Targets {
		fmt.Println(t.Size, t.Verdict)
	}
	// Output:
	// 1024 ok
	// 2048 ok
	// 4096 ok
}

// The search finds the largest request that works, to the byte. cat has no limit up to 1 MiB.
func ExampleDriver_FindLimits() {
	ctx := context.Background()
	d, err := drive.Open(ctx, drive.Options{Command: []string{"cat"}, Protocol: "lines"})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	keep := func(results.Line) error { return nil }
	limits, err := d.FindLimits(ctx, 1<<20, keep)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range limits {
		fmt.Println(t.Verdict, t.RequestLimit == nil)
	}
	// Output:
	// ok true
}
