// Package stat works out what results say: the figures of each cell, whether two files or pairs of
// runs differ, and whether a condition holds.
//
//	old, err := stat.ReadDataset("before.jsonl")
//	…
//	c := stat.Compare(old, new, stat.CompareOptions{Noise: noise})
//	if c.Outcome(0.05) == stat.OutcomeRegression {
//		return errors.New("slower")
//	}
//
// # Figures
//
// Every figure is a median with a 95 % interval and the number of samples it rests on (see
// [Median]). A [Metric] has one name everywhere: in assertions, comparisons, CSV columns and JSON.
// [Rows] works out all metrics of all cells, and sets each cell beside raw. Samples are slices that
// a few forks took: [Metric.Estimate] says what the interval makes of that, and [PairedRatio] which
// slices a ratio is taken of.
//
// # Comparisons
//
// [Compare] sets two files against each other and [ComparePairs] interleaved pairs of two builds;
// [ParseAssert] reads a condition and [Assert.Evaluate] judges it.
//
// Functions do not keep or change what they are given, and may run at the same time as long as
// nobody writes to it.
package stat
