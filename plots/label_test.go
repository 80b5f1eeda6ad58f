package plots

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

func inside(box, within vg.Rectangle) bool {
	return box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y && box.Max.Y <= within.Max.Y
}

// A long label would find no room between short ones that were drawn before it.
func TestALongLabelFindsRoomBesideShortOnes(t *testing.T) {
	labels := pointLabels{within: vg.Rectangle{Max: vg.Point{X: 120, Y: 100}}, wanted: []wantedLabel{
		beside(vg.Point{X: 60, Y: 50}, "60 KiB"), beside(vg.Point{X: 58, Y: 40}, "16 KiB"),
		beside(vg.Point{X: 60, Y: 50}, "512 KiB, pipe of 16 KiB"),
	}}
	var drawn recorder.Canvas
	labels.draw(draw.NewCanvas(&drawn, 120, 100))
	var taken []vg.Rectangle
	for _, action := range drawn.Actions {
		fill, ok := action.(*recorder.Fill)
		if !ok {
			continue
		}
		box := vg.Rectangle{Min: fill.Path[0].Pos, Max: fill.Path[2].Pos}
		for _, o := range taken {
			if overlap(box, o) {
				t.Errorf("%v covers %v", box, o)
			}
		}
		taken = append(taken, box)
	}
	if len(taken) != len(labels.wanted) {
		t.Errorf("%d of %d labels were drawn", len(taken), len(labels.wanted))
	}
}

// Labels of points that lie close together take different corners, and those of points near an edge
// stay within it.
func TestLabelsKeepClearOfEachOther(t *testing.T) {
	labels := pointLabels{within: vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}}
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
				box := labels.place(beside(at, "use 4 KiB"), taken)
				if !inside(box, labels.within) {
					t.Errorf("%v is not within %v", box, labels.within)
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
	within := vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}
	wanted := beside(vg.Point{X: 100, Y: 50}, "512 B")
	upperRight := pointLabels{within: within}.place(wanted, nil)
	rising := []vg.Rectangle{{Min: vg.Point{X: 110, Y: 52}, Max: vg.Point{X: 113, Y: 55}}}
	if box := (pointLabels{within: within, drawn: rising}).place(wanted, nil); overlap(box, rising[0]) || !inside(box, within) {
		t.Errorf("%v lies on a line", box)
	}
	if box := (pointLabels{within: within, drawn: []vg.Rectangle{within}}).place(wanted, nil); box != upperRight {
		t.Errorf("%v, where lines are everywhere; want %v", box, upperRight)
	}
	most := []vg.Rectangle{within, upperRight}
	if box := (pointLabels{within: within, drawn: most}).place(wanted, nil); overlap(box, upperRight) {
		t.Errorf("%v hides two lines, where elsewhere it hides one", box)
	}
	flat := interpolate([]Point{exact(0, 1), exact(32, 1)})
	if len(flat) != 31 || flat[0] != (Point{X: 1, Y: 1}) {
		t.Errorf("%d places along a line, the first %+v", len(flat), flat[0])
	}
}

// A value at the beginning of a logarithmic axis keeps clear of zero, which has its place before it.
func TestZeroHasRoomOnAnAxis(t *testing.T) {
	axis := Axis{Scale: Log2, Unit: Bytes}
	points := []Point{exact(0, 1), exact(512, 2), exact(1<<20, 3)}
	x := Chart{X: axis, Panels: []Panel{{Series: []Series{{Points: points}}}}}.fitX(180)
	labelled := 0
	for _, tick := range x.ticks {
		if !tick.IsMinor() {
			labelled++
		}
	}
	if covered := x.covered(180 - besidePanel); len(covered) > 0 || labelled < 2 {
		t.Errorf("%d of %d labels are covered: %v", len(covered), labelled, x.ticks)
	}
}

// Boxes in a row keep their order, and none covers another or leaves the range.
func TestBoxesAreSpread(t *testing.T) {
	sizes := []vg.Length{10, 20, 10, 10}
	for _, at := range [][]vg.Length{{50, 50, 50, 50}, {0, 0, 0, 0}, {100, 100, 100, 100}, {1, 2, 99, 99}, {10, 40, 60, 90}} {
		got := spread(at, sizes, 0, 100)
		low := vg.Length(0)
		for i, y := range got {
			if y-sizes[i]/2 < low-1e-9 || y+sizes[i]/2 > 100+1e-9 {
				t.Errorf("%v became %v", at, got)
			}
			low = y + sizes[i]/2
		}
	}
	if clear := []vg.Length{10, 40, 60, 90}; !slices.Equal(spread(clear, sizes, 0, 100), clear) {
		t.Error("boxes were moved that had room")
	}
}
