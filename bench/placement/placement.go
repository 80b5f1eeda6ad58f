// Package placement decides on which CPUs the two ends of a pipe run, and takes them there.
//
//	topology, err := placement.Read()
//	cpus, err := topology.Choose("apart") // cpus.Writer, cpus.Reader
//	err = placement.PinThread(cpus.Writer)
//
// Where the ends run decides a pipe's figures more than anything else: a copy that stays in one
// core's cache is several times as fast as one that crosses to another's. All functions may be
// called concurrently.
package placement

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// A Place is a relation between the CPUs of the two ends.
type Place struct {
	Name string
	What string // a line for a list
}

// Places returns the relations that [Topology.Choose] knows.
func Places() []Place {
	return []Place{
		{"same", "both ends on one CPU: the bytes stay in its cache"},
		{"sibling", "two hardware threads of one core"},
		{"apart", "two cores under one last-level cache"},
		{"far", "two cores that share no cache"},
		{"free", "the scheduler's choice, which it may change while the clock runs"},
	}
}

// Any stands for a CPU that is left to the scheduler.
const Any = -1

// CPUs are where the ends of a pipe are to run.
type CPUs struct{ Writer, Reader int }

// A Topology is the CPUs that this process may use.
type Topology struct{ CPUs []CPU }

// A CPU is one hardware thread, and what it shares with the others.
type CPU struct {
	ID      int
	Core    string // hardware threads with the same Core are siblings
	Cache   string // CPUs with the same Cache share their last-level cache
	Package string // CPUs with the same Package sit on one chip
}

// String sums a topology up: "2 CPUs, 2 cores, 1 last-level cache".
func (t Topology) String() string {
	count := func(part func(CPU) string, one, many string) string {
		seen := map[string]bool{}
		for _, c := range t.CPUs {
			seen[part(c)] = true
		}
		if len(seen) == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", len(seen), many)
	}
	return strings.Join([]string{
		count(func(c CPU) string { return fmt.Sprint(c.ID) }, "CPU", "CPUs"),
		count(func(c CPU) string { return c.Core }, "core", "cores"),
		count(func(c CPU) string { return c.Cache }, "last-level cache", "last-level caches"),
	}, ", ")
}

// Best returns the placements that show most of this machine: same, and two cores as close as there
// are. Where a program cannot choose its CPUs, free.
func (t Topology) Best() []string {
	can := func(place string) bool {
		_, err := t.Choose(place)
		return err == nil
	}
	if !can("same") {
		return []string{"free"}
	}
	for _, place := range []string{"apart", "sibling", "far"} {
		if can(place) {
			return []string{"same", place}
		}
	}
	return []string{"same"}
}

// Choose picks the CPUs for a place. The highest-numbered are taken first, since the lowest serve
// most interrupts. A place that this machine, or what this process may use of it, does not have is
// [errors.ErrUnsupported].
func (t Topology) Choose(place string) (CPUs, error) {
	if place == "free" {
		return CPUs{Any, Any}, nil
	}
	related, why, err := relation(place)
	if err != nil {
		return CPUs{}, err
	}
	if len(t.CPUs) == 0 {
		return CPUs{}, unsupported(place, runtime.GOOS+" does not let a program choose its CPUs; use free")
	}
	byID := slices.SortedFunc(slices.Values(t.CPUs), func(a, b CPU) int { return cmp.Compare(b.ID, a.ID) })
	for _, reader := range byID {
		for _, writer := range byID {
			if related(writer, reader) {
				return CPUs{Writer: writer.ID, Reader: reader.ID}, nil
			}
		}
	}
	return CPUs{}, unsupported(place, why)
}

// relation returns what two CPUs have to be to each other, and why a machine may have no such two.
func relation(place string) (related func(a, b CPU) bool, why string, err error) {
	switch place {
	case "same":
		return func(a, b CPU) bool { return a.ID == b.ID }, "no CPU is allowed", nil
	case "sibling":
		return func(a, b CPU) bool { return a.ID != b.ID && a.Core == b.Core }, "no core has two hardware threads that this process may use", nil
	case "apart":
		return func(a, b CPU) bool { return a.Core != b.Core && a.Cache == b.Cache }, "no two cores that this process may use share a last-level cache", nil
	case "far":
		return func(a, b CPU) bool { return a.Cache != b.Cache }, "all CPUs that this process may use share their last-level cache", nil
	}
	var known []string
	for _, p := range Places() {
		known = append(known, p.Name)
	}
	return nil, "", fmt.Errorf("placement %q is unknown; known are %s", place, strings.Join(known, ", "))
}

func unsupported(place, why string) error {
	return fmt.Errorf("placement %s: %s: %w", place, why, errors.ErrUnsupported)
}
