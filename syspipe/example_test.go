package syspipe_test

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
)

func Example() {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	w.Writev([][]byte{[]byte("hello, "), []byte("pipe")})
	fmt.Println(w.Counters().Calls, "call wrote", w.Counters().Bytes, "bytes")
	w.Close()

	p := make([]byte, 64)
	n, _ := r.Read(p)
	fmt.Printf("%s\n", p[:n])
	// Output:
	// 1 call wrote 11 bytes
	// hello, pipe
}

func ExampleBrokenPipeError() {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	r.Close()

	_, err = w.Write([]byte("is anybody there?"))
	var broken *syspipe.BrokenPipeError
	if errors.As(err, &broken) {
		fmt.Println("accepted:", broken.Accepted)
	}
	fmt.Println("EPIPE:", errors.Is(err, syscall.EPIPE))
	// Output:
	// accepted: 0
	// EPIPE: true
}

func ExampleParseIO() {
	io, err := syspipe.ParseIO("sleep=10ms")
	fmt.Println(io, err)
	_, err = syspipe.ParseIO("yield")
	fmt.Println(err)
	// Output:
	// sleep=10ms <nil>
	// unknown io "yield" (known: poller, blocking, poll, spin, sleep=10ms)
}
