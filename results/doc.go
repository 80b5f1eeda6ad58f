// Package results is what pipebench measured: the records, the file they are
// kept in, and everything that can be said about them without measuring again.
//
// It measures nothing and imports nothing of the project, so a program that
// only wants to read, compare or show result files needs this package alone.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	for _, p := range set.Problems { // lines that were skipped, never fatal
//		fmt.Fprintln(os.Stderr, p)
//	}
//	return set.Write(os.Stdout, results.FormatTable, results.ViewOptions{})
//
// # The file
//
// A results file is JSON Lines, one [Line] a line, each written with a single
// call as soon as it is known: an interrupted run keeps what it finished.
// [Create] and [Append] write it, [Read] reads any number of them, of this
// schema and every older one, and [FileSchema] is its JSON Schema.
//
// # Views
//
// [Summarise] turns records into rows of [Metric] estimates; [Set.Write] shows
// them as a table, markdown, CSV, JSON or Go benchmark text; [Compare] sets two
// files against each other and [ComparePairs] interleaved pairs of two builds;
// [ParseAssert] reads a condition and [Assert.Evaluate] judges it. A view shows
// nothing that is not in the file.
//
// # Figures
//
// Every figure is a median with a 95 % interval and the number of samples it
// rests on (see [Median]). Goodput is payload bytes a second, 1 GB/s being
// 10^9 B/s; sizes are powers of 1024.
//
// # Concurrency
//
// A [Writer] belongs to one goroutine. Everything else is data: functions do
// not keep or change what they are given, and may run at the same time as long
// as nobody writes to it.
//
// # Not promised
//
// The wording and layout of tables and sentences may change with any version;
// scripts read the file, CSV, JSON or Go benchmark text instead.
package results
