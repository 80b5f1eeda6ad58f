// Package profile finds the limits of a machine that its pipes cannot pass:
// how fast it copies memory, and what raw bytes do between two processes for
// each placement of the ends that it has.
//
//	topology, err := placement.Read()
//	speeds, err := profile.Memory(ctx, run, topology)
//	err = bench.Run(ctx, bench.Plan{Run: run, Cells: profile.Cells(topology), …}, keep)
//	view := profile.Page(set)
//
// What is measured of framings on the same machine is worth reading as a share
// of these. Page is a pure function; Memory keeps all CPUs of a placement busy,
// so nothing else should be measured meanwhile.
package profile
