package framers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
)

// A message beyond the limit is skipped; those behind it arrive.
func ExampleMessages() {
	stream := strings.NewReader("one\n" + strings.Repeat("x", 100) + "\ntwo\n")
	r := framers.NDJSON().NewReader(stream,
		framers.WithMaxMessage(10), framers.WithPolicy(framers.Resync))
	for msg, err := range framers.Messages(r) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s\n", msg)
	}
	// Output:
	// one
	// message at byte 4 exceeds the limit of 10 bytes
	// two
}

// Frames that come from elsewhere than a stream are put together one by one.
func ExampleAssembler() {
	f, err := framers.Chunked(64)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := framers.NewAssembler(f)
	for pieces := range f.Frames([]byte("a message that takes more than one frame")) {
		msg, whole, err := a.ProcessFrame(bytes.Join(pieces, nil))
		if err != nil {
			fmt.Println(err)
			return
		}
		if whole {
			fmt.Printf("%s\n", msg)
		} else {
			fmt.Println("more is to come")
		}
	}
	// Output:
	// more is to come
	// a message that takes more than one frame
}

// An MCP server and a client, whose SDK speaks lines alone, talk in chunks.
func ExampleLines() {
	f, err := framers.Chunked(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, out := framers.Lines(f, fromClient, toClient)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	go server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})

	in, out = framers.Lines(f, fromServer, toServer)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	fmt.Println(session.InitializeResult().ServerInfo.Name, session.Ping(ctx, nil))
	// Output: server <nil>
}
