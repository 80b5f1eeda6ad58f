// Package tune chooses a chunk size on evidence: it measures what chunks cost and what they buy, on
// one pipe at the same time, and searches for the size whose price is worth it.
//
//	func main() {
//		bench.Worker() // the two ends run in workers that are this program again
//		…
//		err := tune.Run(ctx, tune.Default(topology), func(t results.Tune) error { return file.Write(t) })
//		…
//		answer, err := tune.Explain(set) // of what the file holds
//	}
//
// # What is measured
//
// Large messages stream through one [framers.Mux] without pause. Meanwhile probes of 256 bytes fall
// due at a fixed rate and go through the same Mux with priority. The wait of a probe counts from
// when it was due until the reader has it, whatever the sender was doing then. The reader takes
// bytes as fast as it can, or at a rate that it allows itself, as a server does that works on what
// it reads. Every message is checked for its length and its number, and those of the warm-up byte
// for byte; a message that is lost, altered or there twice fails the run.
//
// Due and arrival are read from the system's monotonic clock, which all processes of a machine
// share. That lets the two ends be two processes, each bound to a CPU of its own with all its
// threads, as they are where pipes are used; two threads of one process would share a heap and a
// scheduler.
//
// # What is decided
//
// [Decide] is a pure function of records: it weighs cost against wait as the [Objective] says. Cost
// is CPU time where both ends share a CPU, since other programs take goodput there and leave CPU
// time alone; elsewhere it is goodput. Of the sizes that are worth the same it gives the smallest,
// with the margin that the samples know this to, and the sizes that another run may give instead.
// [Explain] makes sentences of it. Both work on any file that [Run] wrote.
//
// # Concurrency
//
// All functions may be called concurrently, but runs that share a machine disturb each other's
// figures. It is not promised that a size that is best here is best elsewhere, nor for another
// reader: that is why this is measured.
package tune
