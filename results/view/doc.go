// Package view shows results: as tables and sentences for a terminal or a pull request, as CSV and
// JSON for programs, and as Go benchmark text for benchstat.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	return view.Write(os.Stdout, set, view.FormatTable, view.Options{})
//
// [Write] shows a set of any kinds of records, [WriteComparison] a comparison, and a [Table]
// whatever rows a command has. A view shows nothing that is not in the file.
//
// Functions do not keep or change what they are given, and may run at the same time as long as
// nobody writes to it. The wording and layout of tables and sentences may change with any version;
// scripts read the file, CSV, JSON or Go benchmark text instead.
package view
