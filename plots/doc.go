// Package plots makes pictures of results: the charts of a run as SVG and
// PNG, and a report of any results as one HTML page.
//
//	set, err := results.Read("results.jsonl")
//	if err != nil {
//		return err
//	}
//	files, omitted, err := plots.Write("pictures", set)
//
// Everything goes through a [Chart], a picture as plain data, made from the
// records by [Charts]; the drawing adds nothing to it. What a set does not hold
// is left out, and said; what it holds is drawn whatever it is: one point,
// zeros alone, an axis of no width.
//
// A set is only read, so any number of goroutines may use one set at once. The
// same set gives the same bytes with the same version of this package; between
// versions the looks of a picture may change, its name does not.
package plots
