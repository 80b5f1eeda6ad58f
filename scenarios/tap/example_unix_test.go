//go:build unix

package tap_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"syscall"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/tap"
)

// streams returns what a client writes to the tap, and what it reads from it.
func streams(writes string) (in, out *os.File, read func() string) {
	stdin, client, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	answers, stdout, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	// Clients give pipes that block, and os.Pipe makes others, which the tap would hand on: cat
	// dies of one.
	for _, f := range []*os.File{stdin, stdout} {
		if err := syscall.SetNonblock(int(f.Fd()), false); err != nil {
			log.Fatal(err)
		}
	}
	io.WriteString(client, writes) // it fits the pipe
	client.Close()
	return stdin, stdout, func() string {
		all, err := io.ReadAll(answers)
		if err != nil {
			log.Fatal(err)
		}
		return string(all)
	}
}

// Every byte passes unchanged, and the recording has a line for each message.
func ExampleRun() {
	in, out, read := streams(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	var recording bytes.Buffer
	end, err := tap.Run(tap.Options{
		Command: []string{"cat"}, Stdin: in, Stdout: out, Record: &recording,
	})
	if err != nil {
		log.Fatal(err)
	}
	end.Release()
	fmt.Print(read())
	set, err := results.ReadFrom("recording", &recording)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range set.Messages {
		fmt.Println(m.Dir, m.Method, m.Size)
	}
	// Unordered output:
	// {"jsonrpc":"2.0","id":1,"method":"ping"}
	// request ping 40
	// reply ping 40
}

// The tap ends as its server ended.
func ExampleEnding() {
	in, out, _ := streams("")
	end, err := tap.Run(tap.Options{
		Command: []string{"sh", "-c", "exit 7"}, Stdin: in, Stdout: out,
	})
	if err != nil {
		log.Fatal(err)
	}
	end.Release()
	fmt.Println(end.ExitCode())
	// Output:
	// 7
}

// A server that cannot be started has no ending.
func ExampleOptions() {
	in, out, _ := streams("")
	end, err := tap.Run(tap.Options{
		Command: []string{"./no-such-server"}, Stdin: in, Stdout: out,
	})
	fmt.Println(end == nil, err != nil)
	// Output:
	// true true
}
