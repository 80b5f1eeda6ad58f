//go:build unix

package check_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A specimen is a program that is wrong in one way.
type specimen struct {
	situation string          // that shows it
	found     string          // part of what is found then
	verdict   results.Verdict // "fails" where empty
	run       func()
	stdin     string
	timeout   time.Duration // of a start, where it never ends
}

const hoarded = "keeps in memory what nobody has read yet"

// output is 1 MiB of lines that are all different.
var output = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line %d of what a program writes\n", i)
	}
	return b.Bytes()
})

// rawWrite makes one system call. Standard output is non-blocking afterwards.
func rawWrite(p []byte) (int, error) {
	syscall.SetNonblock(1, true)
	return syscall.Write(1, p)
}

// spinForRoom writes output, and tries again at once when the pipe is full.
func spinForRoom() {
	for p := output(); len(p) > 0; {
		if n, err := rawWrite(p); err == nil {
			p = p[n:]
		}
	}
}

// shuffled returns the whole lines of a text in another order each time.
func shuffled(text []byte) []byte {
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bytes.SplitAfter(text, []byte("\n"))
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return bytes.Join(lines, nil)
}

// babbleLines returns lines of ten letters that are others each time.
func babbleLines(n int) []byte {
	var out []byte
	for range n {
		out = append(append(out, babble(10)...), '\n')
	}
	return out
}

// babble returns letters that are others each time.
func babble(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a' + byte(rand.IntN(26))
	}
	return text
}

func pollStdin() {
	syscall.SetNonblock(0, true)
	for n, err := 1, error(nil); n > 0 || err == syscall.EAGAIN; {
		n, err = syscall.Read(0, make([]byte, 100))
	}
}

// specimenFile names, in the environment of a specimen, a file in which it counts its starts.
const specimenFile = "CHECK_TEST_STARTS"

// starts counts the starts of a specimen, this one among them.
func starts() int {
	f, err := os.OpenFile(os.Getenv(specimenFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	f.WriteString(".")
	info, _ := f.Stat()
	return int(info.Size())
}

// forPipes returns a text as it is in a file, and with other ends of lines in a pipe.
func forPipes(text []byte) []byte {
	if info, _ := os.Stdout.Stat(); info.Mode()&os.ModeNamedPipe == 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

// exitWithQueue writes as an event loop does, and exits before all is written.
func exitWithQueue(p []byte) {
	for len(p) > 0 {
		n, err := rawWrite(p)
		if err != nil {
			os.Exit(0)
		}
		p = p[n:]
	}
}

var specimens = map[string]specimen{
	"begins with the time and exits with a queue": {
		situation: "late-reader",
		found:     "cut at 65,536 B: what one pipe holds; exit 0",
		run: func() {
			exitWithQueue(fmt.Appendf(nil, "%d %s", time.Now().UnixNano(), output()[:300_000]))
		},
	},
	"shuffles and exits with a queue": {
		situation: "late-reader",
		found:     "cut at 65,536 B: what one pipe holds; exit 0",
		run: func() {
			exitWithQueue(shuffled(output()[:300_000]))
		},
	},
	"babbles and exits with a queue": {
		situation: "late-reader",
		found:     "cut at 65,536 B: what one pipe holds; exit 0",
		run: func() {
			exitWithQueue(babble(300_000))
		},
	},
	"refuses terminals": {
		situation: "terminal",
		verdict:   "ok",
		found:     "refuses to write to a terminal, and says so: exit 1",
		run: func() {
			if info, _ := os.Stdout.Stat(); info.Mode()&os.ModeCharDevice != 0 {
				fmt.Fprintln(os.Stderr, "compressed data not written to a terminal")
				os.Exit(1)
			}
			os.Stdout.Write(output())
		},
	},
	"begins alike by chance": {run: func() { // the first three times
		fmt.Println(min(starts(), 4)/4, time.Now().UnixNano())
	}},
	"writes all at once":     {run: func() { os.Stdout.Write(output()[:276_696]) }},
	"tells the time":         {run: func() { fmt.Println(time.Now().UnixNano()) }},
	"prints its environment": {run: func() { fmt.Println(strings.Join(os.Environ(), "\n")) }},
	"shuffles":               {run: func() { os.Stdout.Write(shuffled(output()[:20_000])) }},
	"lists what is there": {run: func() { // one entry fewer when it is tried
		lines := bytes.SplitAfter(babbleLines(200), []byte("\n"))
		if info, _ := os.Stdout.Stat(); !info.Mode().IsRegular() {
			lines = lines[1:]
		}
		os.Stdout.Write(bytes.Join(lines, nil))
	}},
	"takes so long": {run: func() { fmt.Printf("{\"took\": %d}\n", rand.IntN(1_000_000)) }},
	"babbles":       {run: func() { os.Stdout.Write(babble(20_000 + rand.IntN(1000))) }},
	"computes": {run: func() {
		for spins := 1; spins != 0; spins++ {
		}
	}},
	"exits with a queue": {
		situation: "late-reader",
		found:     "cut at 65,536 B: what one pipe holds; exit 0",
		run:       func() { exitWithQueue(output()) },
	},
	"exits with a queue of a socket": {
		situation: "socketpair",
		found:     "what a pair of sockets holds that nobody reads",
		run: func() {
			for p := output(); len(p) > 0; {
				n, err := rawWrite(p[:min(len(p), 1000)])
				if err != nil {
					os.Exit(0)
				}
				p = p[n:]
			}
		},
	},
	"sends again from the start": {
		situation: "nonblocking-pipe",
		found:     "sent again from the beginning at byte 65,536",
		run: func() {
			for {
				n, _ := syscall.Write(1, output())
				if n == len(output()) {
					return
				}
				time.Sleep(10 * time.Millisecond)
				if n > 0 && n < len(output()) {
					syscall.SetNonblock(1, false)
				}
			}
		},
	},
	// what is written behind the loss may begin as the lost text does
	"drops what is refused": {situation: "nonblocking-pipe", found: " 64,0", run: func() {
		for p := output(); len(p) > 0; {
			n := min(len(p), 1000)
			if _, err := syscall.Write(1, p[:n]); err != nil {
				time.Sleep(time.Millisecond)
			}
			p = p[n:]
		}
	}},
	// when a reader that is late by half a second begins, the pipe is not full yet: it holds 16
	// pieces, each in a page of its own
	"drops slowly what is refused": {
		situation: "nonblocking-pipe",
		// The first bytes after the gap may equal those that were lost, depending on its length.
		found: " 40,0",
		run: func() {
			for p := output()[:75_000]; len(p) > 0; p = p[2500:] {
				time.Sleep(40 * time.Millisecond)
				syscall.Write(1, p[:2500])
			}
		},
	},
	"spins for room": {
		situation: "nonblocking-pipe",
		found:     "burns a CPU while it waits",
		run:       spinForRoom,
	},
	"works and spins for room": {
		situation: "nonblocking-pipe",
		found:     "burns a CPU while it waits",
		run: func() {
			for begun := time.Now(); time.Since(begun) < 2*time.Second; {
			}
			spinForRoom()
		},
	},
	"hoards": {situation: "late-reader", timeout: time.Minute, found: hoarded, run: func() {
		info, _ := os.Stdout.Stat()
		var queue [][]byte // as event loops write: at once to a file, later to a pipe
		for range 30 {
			if info.Mode().IsRegular() {
				os.Stdout.Write(output())
			} else {
				queue = append(queue, bytes.Clone(output()))
			}
		}
		for _, p := range queue {
			os.Stdout.Write(p)
		}
		time.Sleep(300 * time.Millisecond) // so that its memory is seen
	}},
	"goes on without a reader": {
		situation: "reader-leaves-after-line",
		found:     "after its reader left",
		timeout:   3 * time.Second,
		run: func() {
			signal.Ignore(syscall.SIGPIPE)
			for {
				syscall.Write(1, output()[:4096])
				time.Sleep(100 * time.Microsecond)
			}
		},
	},
	"sees no full device": {
		situation: "full-device",
		found:     "exit 0, though",
		run:       func() { os.Stdout.Write(output()) },
	},
	"fails on a terminal": {
		situation: "terminal",
		found:     "exit 3, and with a file exit 0",
		run: func() {
			if info, _ := os.Stdout.Stat(); info.Mode()&os.ModeCharDevice != 0 {
				os.Exit(3)
			}
		},
	},
	"gathers lines": {
		situation: "block-buffer",
		verdict:   "slow",
		found:     "it gathers them in a buffer",
		run: func() {
			out := io.Writer(os.Stdout)
			if info, _ := os.Stdout.Stat(); info.Mode()&os.ModeCharDevice == 0 {
				b := bufio.NewWriter(out)
				defer b.Flush()
				out = b
			}
			for i := range 10 {
				fmt.Fprintln(out, "line", i)
				// a busy machine takes half a second to end a program
				time.Sleep(200 * time.Millisecond)
			}
		},
	},
	"floods stderr": {
		situation: "stderr-unread",
		verdict:   "slow",
		found:     "waits for ever",
		timeout:   3 * time.Second,
		run: func() {
			os.Stderr.Write(output())
		},
	},
	"waits behind the end": {
		situation: "stdin-empty",
		found:     "had not ended after",
		stdin:     "one\nEND\n",
		timeout:   3 * time.Second,
		run: func() {
			var read strings.Builder
			for !strings.Contains(read.String(), "END") {
				io.Copy(&read, os.Stdin)
				time.Sleep(10 * time.Millisecond)
			}
		},
	},
	"polls stdin": {
		situation: "stdin-silent",
		found:     "burns a CPU while it waits",
		stdin:     "x\n",
		run:       pollStdin,
	},
	"polls stdin in the end": {
		situation: "stdin-silent",
		found:     "burns a CPU while it waits",
		stdin:     "x\n",
		run: func() {
			time.Sleep(200 * time.Millisecond) // as on a machine on which it is slow to begin
			pollStdin()
		},
	},
	"reads once": {
		situation: "stdin-trickle",
		found:     "cut at",
		stdin:     strings.Repeat("some words in a line\n", 50),
		run: func() {
			p := make([]byte, 4096)
			n, _ := os.Stdin.Read(p)
			os.Stdout.Write(p[:n])
		},
	},
	"drops the last line": {
		situation: "stdin-cut-line",
		found:     "leaves out the last line, of 9 B",
		stdin:     "first line\nlast line\n",
		run: func() {
			for in := bufio.NewReader(os.Stdin); ; {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				fmt.Print(line)
			}
		},
	},
	"leaves a child": {
		situation: "reference",
		found:     "leaves sleep behind, which holds its output",
		run: func() {
			cmd := exec.Command("sleep", "1000")
			cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
			cmd.Start()
		},
	},
	"fights": {
		situation: "fast-reader",
		found:     "had not ended after",
		timeout:   4 * time.Second,
		run: func() {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
			for range 3 {
				cmd := exec.Command(
					"sh",
					"-c",
					"trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & printf '\\033[2J' > /dev/tty; sleep 1000",
				)
				cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr,
					&syscall.SysProcAttr{
						Setsid: true,
					}
				cmd.Start()
			}
			if info, _ := os.Stdout.Stat(); info.Mode().IsRegular() {
				os.Exit(0)
			}
			time.Sleep(time.Hour) // select {} is a deadlock in a program without cgo
		},
	},
	"is too slow for its time at times": {
		situation: "late-reader",
		verdict:   "cannot-tell",
		found:     "a run with a file did not end in its time, though others had",
		timeout:   4 * time.Second,
		run: func() {
			n := starts()
			info, _ := os.Stdout.Stat()
			switch {
			case !info.Mode().IsRegular():
				rawWrite(output()[:65_536])
			case n <= 2:
				os.Stdout.Write(output())
			default:
				os.Stdout.Write(output()[:200_000])
				time.Sleep(time.Hour)
			}
		},
	},
	"throws dice": {
		situation: "reference",
		found:     "two runs differ from byte ",
		run:       func() { fmt.Println("now", time.Now().UnixNano(), os.Getpid()) },
	},
	"opens /dev/stdout": {
		situation: "socketpair",
		found:     "exit 1, and with a file exit 0: open /dev/stdout",
		run: func() {
			if _, err := os.OpenFile("/dev/stdout", os.O_WRONLY, 0); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	},
	"opens /dev/stdout to write": { // how much a socketpair holds is not known, and is not 0
		situation: "socketpair",
		found:     "cut at 0 B of ",
		run: func() {
			out, err := os.OpenFile("/dev/stdout", os.O_WRONLY, 0)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			out.Write(output())
		},
	},
	"relies on the capacity": {
		situation: "small-pipe",
		found:     "cut at 4,096 B: what one pipe holds",
		run:       func() { rawWrite(output()[:60_000]) },
	},
	"has no patience": {situation: "slow-reader", found: "cut at ", run: func() {
		syscall.SetNonblock(1, true)
		out := os.NewFile(1, "stdout")
		out.SetWriteDeadline(time.Now().Add(time.Millisecond))
		out.Write(output())
	}},
	"writes otherwise into a pipe": {
		situation: "fast-reader",
		verdict:   "cannot-tell",
		found:     "other bytes into a pipe than into a file",
		run:       func() { os.Stdout.Write(forPipes(output()[:9999])) },
	},
	"writes otherwise into a pipe and exits with a queue": {
		situation: "late-reader",
		found:     "exit 0",
		run:       func() { exitWithQueue(forPipes(output()[:300_000])) },
	},
	"fails in any case and says that it is refused": {
		situation: "nonblocking-pipe",
		verdict:   "ok",
		found:     "takes no non-blocking output, and says so: exit 1: write error",
		run: func() {
			for p := output(); len(p) > 0; {
				n, err := syscall.Write(1, p)
				if err != nil {
					fmt.Fprintln(os.Stderr, "write error")
					break
				}
				p = p[n:]
			}
			os.Exit(1)
		},
	},
	"fails in any case and says nothing": {
		situation: "nonblocking-pipe",
		found:     "cut at 65,536 B: what one pipe holds; exit 1",
		run: func() {
			syscall.Write(1, output())
			os.Exit(1)
		},
	},
	"has a pager that leaves": {
		situation: "terminal",
		verdict:   "cannot-tell",
		found:     "SIGPIPE: a pager",
		run: func() {
			if info, _ := os.Stdout.Stat(); info.Mode()&os.ModeCharDevice != 0 {
				syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -PIPE $$"}, os.Environ())
			}
			os.Stdout.Write(output())
		},
	},
}
