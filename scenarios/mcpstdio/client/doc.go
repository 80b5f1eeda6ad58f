// Package client starts a stdio MCP server and talks to it through a connection that outlives the server's mistakes.
//
//	command := client.NewCommand("server.js", "--config", "config.json") // node server.js --config config.json
//	c, err := client.Open(command, client.Options{})
//	defer c.Close()
//	tools, err := c.ListTools(ctx)
//	answer, err := c.CallTool(ctx, "echo", map[string]any{"message": "hi"})
//
// A connection is a state machine. Whatever goes wrong with the server fails the requests in flight with one typed error,
// and starts the server again after a while:
//
//	            started               initialized
//	Starting ------------> Initializing ---------> Ready
//	  ^  \                      |                   |
//	  |   \ start failed        | refused, gone,    | gone,
//	  |    \                    | oversized frame   | oversized frame
//	  |     '-------> Backoff <-+-------------------'
//	  '--------------- timer
//
//	and from every state, with Close: Closing
//
// A [Conn] and a [Pool] are for many goroutines. Requests carry ids and answers may come in any order.
//
// Not promised: requests are not sent again when a server fails (they might take effect twice), and what a server asks of the
// client is refused, ping excepted: there is no sampling, and there are no roots.
package client
