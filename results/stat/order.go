package stat

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// The order in which views show what the file holds in the order of its
// making: near before far, one way before there and back, the floor before what
// stands on it. What is not listed comes after, by name.
var (
	placementOrder = []string{"same", "sibling", "apart", "far", "free"}
	patternOrder   = []string{"stream", "roundtrip"}
	framingOrder   = []string{"raw", "ndjson", "ndjson-bytewise", "ndjson-rescan", "content-length", "chunked", "adaptive", "length-prefix"}
)

// sortRows puts rows together that are read together: by machine, placement
// and pattern, then what else a series has, then by size, then by framing.
func sortRows(rows []Row) {
	var machines []string
	for _, r := range rows {
		if !slices.Contains(machines, r.Machine) {
			machines = append(machines, r.Machine)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			byList(machines, a.Machine, b.Machine),
			byList(placementOrder, a.Cell.Placement, b.Cell.Placement),
			byList(patternOrder, a.Cell.Pattern, b.Cell.Pattern),
			cmp.Compare(SeriesCell(a.Cell).Key(), SeriesCell(b.Cell).Key()),
			cmp.Compare(a.Cell.Size, b.Cell.Size),
			compareFramings(a.Cell.Framing, b.Cell.Framing))
	})
}

// byList compares by place in a list, what is not in it last and by name.
func byList(list []string, a, b string) int {
	place := func(v string) int {
		if i := slices.Index(list, v); i >= 0 {
			return i
		}
		return len(list)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// compareFramings compares by kind, then by the size after the colon.
func compareFramings(a, b string) int {
	kindA, sizeA, _ := strings.Cut(a, ":")
	kindB, sizeB, _ := strings.Cut(b, ":")
	na, _ := strconv.Atoi(sizeA) // a size that is none sorts first
	nb, _ := strconv.Atoi(sizeB)
	return cmp.Or(byList(framingOrder, kindA, kindB), cmp.Compare(na, nb), cmp.Compare(a, b))
}

// seriesOf is what cells share that differ in framing and size alone.
func SeriesCell(c results.Cell) results.Cell {
	c.Framing, c.Size = "", 0
	return c
}
