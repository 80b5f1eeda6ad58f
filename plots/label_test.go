package plots

import (
	"testing"

	"gonum.org/v1/plot/vg"
)

// Labels of points that lie close together take different corners, and those
// of points near an edge stay within it.
func TestLabelsKeepClearOfEachOther(t *testing.T) {
	style := lettering(8, ink, false)
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
				box := place(at, style, "use 4 KiB", within, taken)
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
		if got := newFrame(c, 0, 1, 12).atLeft(level, row.series); got != row.left {
			t.Errorf("%s: left %t", row.name, got)
		}
	}
}
