// Package plots makes pictures of results: the charts of a run as SVG and PNG, and a report of any
// results as one HTML page.
//
//	set, err := results.Read("results.jsonl")
//	if err != nil {
//		return err
//	}
//	files, omitted, err := plots.Write("pictures", set)
//
// Everything goes through a [Chart], a picture as plain data, which [Charts] makes from records;
// drawing adds nothing to it. Charts for which a set has no records are left out, and listed.
// Whatever the records hold is drawn: a single point, only zeros, an axis of no width.
//
// [Report] adds the charts to the sections and tables of [view.Sections], which are those that a
// terminal shows, and is the shell of the page.
//
// Functions only read a set, so any number of goroutines may use one at once. The same set gives
// the same bytes with the same version of this package; other versions may draw a picture
// differently, but keep its name.
package plots
