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
// Not promised: the server sees pipes of the same kind and capacity as the tap's own, but twice as many bytes fit on the way. Batches are
// recorded as one message without id and method.
package tap
