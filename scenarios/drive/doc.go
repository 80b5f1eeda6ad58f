// Package drive starts a real stdio server, loads it, and says how fast it is, how it grows with
// the size of a message, at which byte it breaks, and how.
//
//	d, err := drive.Open(ctx, drive.Options{Command: []string{"my-server", "--stdio"}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	err = d.Sweep(ctx, drive.Doubling(1<<10, 16<<20), sink) // round trips, a record a size
//	limits, err := d.FindLimits(ctx, 64<<20, sink)           // the exact last size that works
//
// A server author's own test is one call of [Check]:
//
//	drive.Check(t, exec.Command("./my-server"), drive.Limit(16<<20), drive.Slope(1.3))
//
// The server is a child with its standard streams on pipes of our choosing. What it is spoken to in
// (MCP, LSP, bare JSON-RPC, or lines) is found out, or given, and so is what requests exercise: the
// transport alone, a tool of an MCP server, or the documents of a language server (see [Requests]).
// Every request has one deadline for being accepted and one for being answered; after a failure the
// server is asked whether it still lives, its exit status, CPU time, memory, unread bytes and last
// lines on standard error are taken, and it is started again.
//
// Sizes are those of messages, in bytes, the framing's terminator or header not counted.
//
// # Who may call concurrently
//
// A Driver belongs to one goroutine. Close may be called by any, and ends what is under way.
// Several Drivers may run side by side, but then their figures are of a shared machine.
//
// # Not promised
//
// The driver shares the machine with the server: its share of CPU time is in every record, and the
// figure is the pair's. A server that answers after its deadline counts as one that does not;
// deadlines grow with what the server took for smaller messages. What the server writes anywhere
// but to its standard streams is not looked at.
package drive
