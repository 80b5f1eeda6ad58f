package measure

import (
	"errors"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// What is measured: messages of a page, of a pipe's usual capacity and of many
// of them; trips of one byte, which cost nothing but the switch, and of a full
// pipe.
var (
	profileStreamSizes = []int{4 << 10, 64 << 10, 1 << 20}
	zeroCopySizes      = []int{64 << 10, 1 << 20}
	profileTripSizes   = []int{1, 64 << 10}
)

// Places are the placements that this machine has; free where a program cannot
// choose its CPUs.
func Places(t placement.Topology) []string {
	var names []string
	for _, p := range placement.Places() {
		if _, err := t.Choose(p.Name); err == nil && p.Name != free {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		names = []string{free}
	}
	return names
}

const free = "free"

// Cells are the raw cells of each placement. Pages are lent where this system
// can do that at all.
func ProfileCells(t placement.Topology) []results.Cell {
	var cells []results.Cell
	for _, place := range Places(t) {
		base := results.Cell{
			Framing: "raw", Pipe: string(syspipe.Anonymous), IO: syspipe.Blocking.String(), Placement: place,
			Peer: "process", Pattern: "stream", Payload: "json",
		}
		cells = append(cells, sized(base, profileStreamSizes)...)
		for _, transfer := range []syspipe.Transfer{syspipe.Vmsplice, syspipe.Splice} {
			if !errors.Is(transfer.Supported(), errors.ErrUnsupported) {
				base.Transfer = string(transfer)
				cells = append(cells, sized(base, zeroCopySizes)...)
			}
		}
		base.Transfer, base.Pattern = "", "roundtrip"
		cells = append(cells, sized(base, profileTripSizes)...)
	}
	return cells
}

func sized(base results.Cell, sizes []int) []results.Cell {
	var cells []results.Cell
	for _, n := range sizes {
		base.Size = n
		cells = append(cells, base)
	}
	return cells
}

// lending is whether this system can lend pages to a pipe, for those who want
// to say why rows are missing.
func lending() error {
	if err := syspipe.Vmsplice.Supported(); err != nil {
		return err
	}
	return syspipe.Splice.Supported()
}
