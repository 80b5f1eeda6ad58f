// Package bench measures cells: it drives messages of one size through one framing over one kind of
// pipe, and says how long it took and what it cost.
//
//	func main() {
//		bench.Worker() // does a worker's job and exits, or returns
//		plan := bench.Plan{
//			Cells:    []results.Cell{{Framing: "ndjson", Size: 4096, Pipe: "anonymous", IO: "blocking",
//				Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}},
//			Samples:  24,
//			Duration: bench.SliceTime,
//		}
//		err := bench.Run(ctx, plan, func(r results.Record) error { … })
//	}
//
// # The controller and its workers
//
// [Run] is a controller: it opens the pipes, hands their ends to workers, and never reads or writes
// them. Cells that are compared share their workers: one process with an end each (peer process) or
// one with both, a locked thread each (peer thread). They are started once a fork, take a short
// slice of every cell in turn, and wait in a read in between. A worker is this same program, started
// again by syspipe/proc: it does its work in an init function, or in [Worker] where the framing is
// registered. It is bound to its CPUs, has the garbage collector off while the clock runs, and is
// killed at its deadline. When the controller goes, however it goes, its workers go too.
//
// # The clock
//
// Both ends first warm up through the same pipe. Then the end that holds the clock, the one that
// receives the stream or awaits the replies, waits until the other is ready, starts the clock, says
// go, and stops it when it has the last message. Every message is checked for length and number
// meanwhile; some messages of each cell are compared byte for byte, untimed.
//
// Where a cell asks for it ([results.Cell.Leave]), the reader then stops, and closes its end when the
// pipe is full. The writer goes on until the kernel tells it; both moments are of a clock that all
// processes share ([Clock]). Such a slice has a pipe of its own, which the controller opened before.
//
// # Concurrency
//
// Run may be called from several goroutines, but the figures of runs that share a machine disturb
// each other. It is not promised that a figure can be had again on another day: compare what was
// measured in one run, interleaved.
package bench
