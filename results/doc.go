// Package results holds what pipebench measured: the records and the file they are kept in. Package
// stat beside it compares and judges them, package view shows them.
//
// The package measures nothing and imports nothing of the project, so a program that only wants to
// read or write result files needs this package alone.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	for _, p := range set.Problems { // lines that were skipped, never fatal
//		fmt.Fprintln(os.Stderr, p)
//	}
//	return view.Write(os.Stdout, set, view.FormatTable, view.Options{})
//
// # The file
//
// A results file is JSON Lines, one [Line] a line, each written with a single call as soon as it is
// known: an interrupted run keeps what it finished. [Append] writes it, [Read] reads
// any number of them, of this schema and every older one, and [FileSchema] is its JSON Schema.
//
// # Quantities
//
// [FormatSize], [FormatDuration], [FormatGoodput] and [FormatPercent] write figures for people, the
// same everywhere; [ParseSize] reads what people type. Goodput is payload bytes a second, 1 GB/s
// being 10^9 B/s; sizes are powers of 1024.
//
// # Concurrency
//
// A [Writer] belongs to one goroutine. Everything else is data: functions do not keep or change
// what they are given, and may run at the same time as long as nobody writes to it.
package results
