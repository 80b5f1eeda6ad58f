package plots

import (
	"fmt"
	"regexp"
	"testing"
)

func TestAFramingLooksTheSameEverywhere(t *testing.T) {
	alone := assignStyles([]Series{{Name: "chunked:60KiB"}})["chunked:60KiB"]
	among := assignStyles([]Series{{Name: "raw", Reference: true}, {Name: "zzz"}, {Name: "ndjson"}, {Name: "chunked:4KiB"}, {Name: "chunked:60KiB"}, {Name: "adaptive"}})["chunked:60KiB"]
	if fmt.Sprint(alone) != fmt.Sprint(among) {
		t.Errorf("%v alone, %v among others", alone, among)
	}
}

func TestNoTwoSeriesLookTheSame(t *testing.T) {
	var series []Series
	for i := range maxStyles {
		series = append(series, Series{Name: fmt.Sprintf("chunked:%d", 512<<i)})
	}
	seen := map[string]string{}
	for name, l := range assignStyles(series) {
		id := fmt.Sprintf("%v %#v", l.color, l.marker)
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same colour and marker", name, other)
		}
		seen[id] = name
	}
}

func TestReferenceHasTheForegroundColour(t *testing.T) {
	if l := assignStyles([]Series{{Name: "raw", Reference: true}})["raw"]; l.color != foreground {
		t.Errorf("the reference looks like %v", l)
	}
}

// Raw is a line without a marker, and where there is no line its points are seen all the same.
func TestPointsWithoutALineHaveAMarker(t *testing.T) {
	marker := regexp.MustCompile(`a2\.7,[^"]*" style="fill:#24292F"`)
	for _, points := range [][]Point{{exact(1, 1)}, {exact(1, 1), exact(2, 2)}} {
		svg, err := Chart{Panels: []Panel{{Series: []Series{{Name: "raw", Reference: true, Points: points}}}}}.SVG()
		if err != nil || marker.Match(svg) != (len(points) == 1) {
			t.Errorf("%d points (%v): %s", len(points), err, svg)
		}
	}
}
