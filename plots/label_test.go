package plots

import (
	"testing"

	"gonum.org/v1/plot/vg"
)

// Labels of points that lie close together take different corners, and those of points near an edge
// stay within it.
func TestLabelsKeepClearOfEachOther(t *testing.T) {
	style := textStyle(8, foreground, false)
	within := vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}
	for _, row := range []struct {
		name string
		at   []vg.Point
	}{
		{"one in the middle", []vg.Point{{X: 100, Y: 50}}},
		{"four at the same place", []vg.Point{{X: 100, Y: 50}, {X: 100, Y: 50}, {X: 100, Y: 50}, {X: 100, Y: 50}}},
		{"in the corners", []vg.Point{{X: 199, Y: 99}, {X: 1, Y: 99}, {X: 199, Y: 1}, {X: 1, Y: 1}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var taken []vg.Rectangle
			for _, at := range row.at {
				box := placeLabel(at, style, "use 4 KiB", within, taken, nil)
				if !inside(box, within) {
					t.Errorf("%v is not within %v", box, within)
				}
				for _, o := range taken {
					if overlap(box, o) {
						t.Errorf("%v covers %v", box, o)
					}
				}
				taken = append(taken, box)
			}
		})
	}
}

// A label goes to a corner that no line runs through; where lines run through all of them, it stays
// beside its point.
func TestLabelsKeepClearOfLines(t *testing.T) {
	style := textStyle(8, foreground, false)
	within := vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}
	at := vg.Point{X: 100, Y: 50}
	upperRight := placeLabel(at, style, "512 B", within, nil, nil)
	rising := []vg.Rectangle{{Min: vg.Point{X: 110, Y: 52}, Max: vg.Point{X: 113, Y: 55}}}
	if box := placeLabel(at, style, "512 B", within, nil, rising); overlap(box, rising[0]) || !inside(box, within) {
		t.Errorf("%v lies on a line", box)
	}
	if box := placeLabel(at, style, "512 B", within, nil, []vg.Rectangle{within}); box != upperRight {
		t.Errorf("%v, where lines are everywhere; want %v", box, upperRight)
	}
	flat := interpolate([]Point{exact(0, 1), exact(32, 1)})
	if len(flat) != 31 || flat[0] != (Point{X: 1, Y: 1}) {
		t.Errorf("%d places along a line, the first %+v", len(flat), flat[0])
	}
}

// The label of a level stands where no line above it runs.
func TestALevelIsNamedWhereThereIsRoom(t *testing.T) {
	rising := []Series{{Name: "p99", Points: []Point{exact(1024, 10), exact(1<<20, 5000)}}}
	falling := []Series{{Name: "p99", Points: []Point{exact(1024, 5000), exact(1<<20, 10)}}}
	level := Guide{Value: 1000, Label: "not cut"}
	for _, row := range []struct {
		name   string
		series []Series
		left   bool
	}{{"a line that rises", rising, true}, {"one that falls", falling, false}, {"none", nil, false}} {
		c := Chart{X: sizeAxis, Y: Axis{Scale: Log, Unit: Nanos}, Panels: []Panel{{Series: row.series, Guides: []Guide{level}}}}
		if _, got := newAxes(c, 0, 1, 12).room(level, row.series); got != row.left {
			t.Errorf("%s: left %t", row.name, got)
		}
	}
}
