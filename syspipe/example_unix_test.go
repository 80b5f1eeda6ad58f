//go:build unix

package syspipe_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A child's streams wait inside the kernel, as programs expect. Our end waits in Go's poller, so
// that it can have a deadline.
func ExampleEnd_File() {
	ours, theirs, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ours.Close()
	stdin, err := theirs.File()
	theirs.Close() // the file is a duplicate
	if err == nil {
		err = ours.UsePoller()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	// child.Stdin = stdin; child.Start(), and then:
	defer stdin.Close()

	ours.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	_, err = ours.Write(make([]byte, 1<<20)) // this child reads nothing
	fmt.Println("too late:", errors.Is(err, os.ErrDeadlineExceeded))
	// Output:
	// too late: true
}
