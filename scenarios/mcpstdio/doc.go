// Package mcpstdio is an MCP server for stdin and stdout that survives what clients do to it, and one that misbehaves on purpose.
//
//	s, err := mcpstdio.NewServer(os.Stdin, os.Stdout, mcpstdio.Options{Tools: mcpstdio.Samples()})
//	err = s.Start(ctx)
//	...
//	err = s.Wait() // until the client closes stdin, or Stop
//
// The protocol is that of the official SDK (github.com/modelcontextprotocol/go-sdk). The transport is this package's, on
// framers: an oversized, malformed or half line costs one answer and never the session, ids are answered in the text they
// came in, answers never interleave, and the end of stdin lets what was asked be answered, for a bounded time.
//
//	stdin -> framers.Reader -> jsonrpc.Parse -> SDK session -> Tool
//	stdout <- framers.Mux  <- codes of errors <-'
//
// A [Fault] makes a server deaf, garbled, slow or silent in one of the ways that people report, so that authors of clients
// can test theirs. Package client is the other end.
//
// All methods of a Server may be called concurrently. Not promised: resources, prompts, sampling and notifications to
// the client (there are none), batches, and that a tool which ignores its context ends with the server.
package mcpstdio
