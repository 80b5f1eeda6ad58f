package plots

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// The pictures in gallery are of true results: "go generate ./plots" measures
// and draws them again, in about two minutes on a machine that does nothing
// else. It keeps the records in pipebench-out/gallery; what is there from
// earlier times is drawn with them.
//
//go:generate go build -o ../pipebench-out/gallery/ ../cmd/pipebench
//go:generate ../pipebench-out/gallery/pipebench run --out ../pipebench-out/gallery/run --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/run --gallery goodput,roundtrip --out gallery
//go:generate ../pipebench-out/gallery/pipebench tune --out ../pipebench-out/gallery/tune --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/tune --gallery wait,pareto --out gallery
//go:generate ../pipebench-out/gallery/pipebench run --scenario growth --out ../pipebench-out/gallery/growth --no-progress
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/growth --gallery fault-growth_ndjson --out gallery
//go:generate ../pipebench-out/gallery/pipebench drive --size 1KiB..4MiB --out ../pipebench-out/gallery/drive --no-progress -- ../pipebench-out/gallery/pipebench serve --fault deaf@1MiB
//go:generate ../pipebench-out/gallery/pipebench plot ../pipebench-out/gallery/drive --gallery target --out gallery

// Gallery draws the named charts of a set into a folder as SVG alone, small
// enough to be kept beside a program's sources, and lists the files. A name
// that the set has no chart of is an error that says which it has.
func Gallery(dir string, set *results.Set, names ...string) (files []string, err error) {
	charts, _ := Charts(set)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make folder for plots: %w", err)
	}
	for _, name := range names {
		i := slices.IndexFunc(charts, func(c Chart) bool { return c.Name == name })
		if i < 0 {
			return files, fmt.Errorf("draw %s: no such chart; the results have %s", name, strings.Join(chartNames(charts), ", "))
		}
		path, err := charts[i].writeAs(dir, ".svg", charts[i].SVG)
		if err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

func chartNames(charts []Chart) []string {
	var out []string
	for _, c := range charts {
		out = append(out, c.Name)
	}
	return out
}
