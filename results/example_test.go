package results_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/results"
)

func ExampleAppend() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "results.jsonl")

	w, err := results.Append(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, framing := range []string{"raw", "ndjson"} {
		cell := results.UsualCell(framing, "stream", "same", 65536)
		err := w.Write(results.Record{Run: "run-1", Stopped: "samples", Cell: cell})
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	set, err := results.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(set.Records), "records,", len(set.Problems), "problems")
	// Output: 2 records, 0 problems
}

func ExampleReadFrom() {
	const file = `{"kind":"measurement","run":"run-1","time":"2026-11-21T08:00:00Z","cell":{"fr`
	_, err := results.ReadFrom("results.jsonl", strings.NewReader(file))
	fmt.Println(errors.Is(err, results.ErrEmpty))
	// Output: true
}

func ExampleFormatSize() {
	for _, n := range []int64{64, 61440, 61441, 1 << 20} {
		fmt.Println(results.FormatSize(n))
	}
	// Output:
	// 64 B
	// 60 KiB
	// 61,441 B
	// 1 MiB
}
