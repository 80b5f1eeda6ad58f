package tap_test

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The yardsticks of a tap: what passes both directions on and records nothing.

// beRelay does so as one would write it down.
func beRelay(args []string) {
	runtime.GOMAXPROCS(2) // on one CPU it would have one, and take 150 µs for a round trip
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := os.Create(os.DevNull)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, out), os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		io.Copy(io.MultiWriter(in, out), os.Stdin)
		in.Close()
	}()
	cmd.Wait()
}

// beCopy is the bound of what holds the bytes in its hands: system calls that wait, and nothing
// else.
func beCopy(args []string) {
	between(args, func(from, to int) func() bool {
		buf := make([]byte, 128<<10)
		return func() bool {
			n, err := syscall.Read(from, buf)
			if n <= 0 || err != nil {
				return false
			}
			for p := buf[:n]; len(p) > 0; {
				n, err := syscall.Write(to, p)
				if err != nil {
					return false
				}
				p = p[n:]
			}
			return true
		}
	})
}

// beSplice is the bound of what does not: the kernel moves pages from pipe to pipe, and nobody sees
// what they hold.
func beSplice(args []string) {
	between(args, func(from, to int) func() bool {
		return func() bool {
			n, err := unix.Splice(from, nil, to, nil, 1<<20, 0)
			return n > 0 && err == nil
		}
	})
}

func between(args []string, passer func(from, to int) func() bool) {
	runtime.GOMAXPROCS(8)
	cmd := exec.Command(args[0], args[1:]...)
	var in, out [2]int
	for _, p := range []*[2]int{&in, &out} {
		if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
			panic(err)
		}
	}
	theirIn, theirOut := os.NewFile(uintptr(in[0]), "in"), os.NewFile(uintptr(out[1]), "out")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	theirIn.Close()
	theirOut.Close()
	go func() {
		passAll(passer(0, in[1]))
		syscall.Close(in[1])
	}()
	passAll(passer(out[0], 1))
	cmd.Wait()
}

func passAll(pass func() bool) {
	for i := 1; pass(); i++ {
		if i%64 == 0 {
			runtime.Gosched() // as the tap yields, and for the same reason
		}
	}
}
