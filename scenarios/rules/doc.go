// Package rules shows what pipes do: the findings of a probe beside the
// documented rules of their system, and machines and systems side by side.
//
//	err := probe.Run(ctx, probe.Options{}, func(f probe.Finding) error {
//		return file.Write(rules.Record(run, f))
//	})
//	view := rules.Page(set)
//	err = view.Write(os.Stdout, view.FormatTable)
//
// Pages are data and may be made and written by any number of goroutines. The
// wording and the layout of a page are not promised; the file is.
package rules
