// Package tap stands between a stdio client and its server, passes every byte on unchanged, and records what passed.
//
//	end, err := tap.Run(tap.Options{Command: []string{"my-server", "--stdio"}, Record: file})
//	if err != nil {
//		return err
//	}
//	end.Follow() // leaves as the server left
//
// Each direction has a goroutine of its own that reads what is there, writes it on, and only then looks at it: the directions do not wait for
// each other, and nothing is held back for a message to be whole. Ends of file, closed streams, the exit status and signals pass through, too.
// Standard error is the server's own.
//
// What is seen goes through a bounded buffer to the recording: a recording that cannot keep up has a gap, which is counted and placed, and
// the traffic does not wait. By default it holds sizes and times, methods and ids; arguments may be secrets, and stay out unless asked for.
//
// Run is called once at a time in a process, as signals are the process's. It takes over the streams it is given; a read from the client that
// is under way when the server ends stays until the client closes its end or the process ends.
//
// While Run lasts GOMAXPROCS is 6 at least, since a thread that waits in the kernel keeps its share of Go's scheduler.
//
// # What it costs
//
// With cat behind it, in turns with no tap and with relays that record nothing (BenchmarkRoundTrip and BenchmarkBulk; medians, their 95 %
// intervals within 6 %, n = 21 to 50), on a virtual machine of two CPUs, Linux 6.18, Go 1.26:
//
//	                              none    splice(2)  copying   tap
//	all on one CPU
//	  round trip of 1 KiB         3.1 µs  9.3        9.8       10.3
//	  round trip of 1 MiB         0.52 ms 0.69       1.01      1.08
//	  bulk in 1 KiB messages      3.7     1.9        1.26      0.87 GB/s
//	  bulk in 1 MiB messages      3.8     2.0        1.30      1.29 GB/s
//	client on one CPU, tap and cat on the other
//	  bulk in 1 KiB messages      0.83    0.93       0.88      0.72 GB/s
//	  bulk in 1 MiB messages      0.86    0.90       0.90      0.94 GB/s
//
// So a message costs what it costs to copy it through two more pipes and to switch to one more process and back; splice shows what the copies
// are of that. Small messages in bulk cost their finding and their line in the recording, too: about 0.12 µs each and direction (BenchmarkSee),
// and 130 bytes for the disk's cache to take. Across two CPUs a round trip is the waking of an idle CPU, some 60 µs there, with a tap and
// without. It uses less than 20 MB, however long
// a line, unless bodies are kept or the recording falls behind.
//
// # What it does not promise
//
// The server sees pipes of the same kind and capacity as the tap's own, but twice as many bytes fit on the way. Batches are recorded as one
// message without id and method.
package tap
