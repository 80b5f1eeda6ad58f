// Package check judges how a program, a server or a client of others behaves at its pipes.
//
//	err := check.Program(ctx, check.Options{Run: run, Command: []string{"grep", "-r", "main"}},
//		func(l results.Line) error { return w.Write(l) })
//
// Each situation of the catalogue ([catalogue.Situations]) is tried on a start of its own, several
// at once, and becomes one [results.Check]: "ok", "fails", "slow", or "cannot-tell" with why. A
// right program is never to be called wrong: what does not show it beyond doubt is "cannot-tell".
//
// What is checked has a session of its own, so that it cannot touch the user's terminal, and a
// deadline. When a situation is over nothing of it is left: its process group is killed, and on
// Linux whatever else inherited the mark of the situation in its environment.
//
// [Program], [Server] and [Client] may be called concurrently; each calls its sink from one
// goroutine.
package check
