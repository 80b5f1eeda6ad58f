package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// interleaveTime is how long two writers get to come between each other's bytes.
const interleaveTime = 120 * time.Millisecond

// probeInterleave lets two processes write messages of one letter each. Sizes that divide the capacity, drained in reads of the whole
// capacity, look whole without being safe; so others are tried too, and small reads.
func probeInterleave(t *trial) error {
	slot, err := t.slot()
	if err != nil {
		return err
	}
	w, r, err := t.open()
	if err != nil {
		return err
	}
	capacity, err := w.Capacity()
	w.Close()
	r.Close()
	if err != nil {
		return err
	}
	for _, size := range []int{512, slot, slot + 1, 60 << 10} {
		for _, read := range []int{slot, capacity} {
			if err := t.interleave(size, max(read, 512), slot); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *trial) interleave(size, read, slot int) error {
	w, r, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	if err := r.SetIO(syspipe.Poll); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	var writers []*exec.Cmd
	for _, letter := range []string{"a", "b"} {
		cmd, err := startWith(roleWriter, []*syspipe.End{w}, letter, strconv.Itoa(size))
		if err != nil {
			return err
		}
		writers = append(writers, cmd)
	}
	w.Close()
	messages, broken, err := countBroken(r, size, read)
	r.Close()
	for _, cmd := range writers {
		err = errors.Join(err, cmd.Wait())
	}
	if err != nil {
		return err
	}
	how := fmt.Sprintf("two processes write %d bytes a call, reads of %d: %d of some %d messages were broken", size, read, broken, messages)
	f := t.finding(fmt.Sprintf("interleave/%d/read-%d", size, read), broken > 0, "", how)
	if t.onLinux() && size <= slot {
		return t.predicted(f, false)
	}
	return t.emit(f) // above a slot it may happen, and need not within the time
}

// startWith starts a worker that takes up the ends; the references come before the other arguments.
func startWith(role string, ends []*syspipe.End, args ...string) (*exec.Cmd, error) {
	cmd, err := worker(context.Background(), role)
	if err != nil {
		return nil, err
	}
	job := &cmd.Env[len(cmd.Env)-1]
	for _, e := range ends {
		ref, err := e.Pass(cmd)
		if err != nil {
			return nil, err
		}
		*job += " " + ref
	}
	for _, a := range args {
		*job += " " + a
	}
	return cmd, cmd.Start()
}

// countBroken reads for a while and counts the runs of one letter that are no whole messages. The first run counts as well as the others:
// a writer's bytes begin with a message.
func countBroken(r *syspipe.End, size, read int) (messages, broken int, err error) {
	p := make([]byte, read)
	var letter byte
	run := 0
	for end := time.Now().Add(interleaveTime); time.Now().Before(end); {
		n, err := r.Read(p)
		if err != nil {
			return messages, broken, err
		}
		for _, b := range p[:n] {
			if b != letter && run > 0 {
				messages += run / size
				if run%size != 0 {
					broken++
				}
				run = 0
			}
			letter = b
			run++
		}
	}
	return messages + run/size, broken, nil
}

// stallTime without a byte accepted is a deadlock: the other side is a process that has nothing else to do.
const stallTime = 500 * time.Millisecond

// probeDeadlock builds the classic one: a parent writes all it has before it reads, and the child answers as it goes.
func probeDeadlock(t *trial) error {
	toChild, in, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	out, fromChild, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	capacity, err := toChild.Capacity()
	if err != nil {
		return err
	}
	block := capacity
	cmd, err := startWith(roleEcho, []*syspipe.End{in, out}, strconv.Itoa(block))
	if err != nil {
		return err
	}
	in.Close()
	out.Close()
	if err := toChild.SetIO(syspipe.Spin); err != nil {
		return err
	}
	stuck, err := writeUntilStuck(toChild, capacity)
	if err != nil {
		return err
	}
	f := t.finding("deadlock/parent-writes", stuck, "B",
		fmt.Sprintf("bytes a parent can write before it hangs, to a child that reads %d, then writes them; nothing for %v is a hang", block, stallTime))
	if t.isPipe() && t.onLinux() {
		err = t.emit(f.beside(2*capacity+block, "both capacities and what the child holds"))
	} else {
		err = t.emit(f)
	}
	if err != nil {
		return err
	}
	toChild.Close() // and now the parent reads, which resolves it
	got, err := io.Copy(io.Discard, fromChild)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	return t.emit(t.finding("deadlock/resolved", got == int64(stuck), "", "whether all of it came back once the parent read").beside(true, ""))
}

// writeUntilStuck writes until nothing more is accepted for a while. The pipe alone takes its capacity, so what is beyond that shows that
// the child has started; a stall before does not count.
func writeUntilStuck(w *syspipe.End, capacity int) (int, error) {
	total, since := 0, time.Now()
	for p := make([]byte, 4096); total < 16*capacity; {
		n, err := w.TryWrite(p)
		total += n
		switch {
		case err == nil:
			since = time.Now()
		case !errors.Is(err, syscall.EAGAIN):
			return total, err
		case total > capacity && time.Since(since) > stallTime:
			return total, nil
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return total, nil
}

// probeStdio looks at what a child gets: from os/exec with pipes, and, for a socket pair, what Node.js gives its children.
func probeStdio(t *trial) error {
	cmd, err := worker(context.Background(), roleStdio)
	if err != nil {
		return err
	}
	from := "os/exec"
	switch t.kind {
	case syspipe.Anonymous:
		if _, err := cmd.StdinPipe(); err != nil {
			return err
		}
		if _, err := cmd.StderrPipe(); err != nil {
			return err
		}
	case syspipe.SocketPair:
		from = "socketpair"
		if err := t.socketStdio(cmd); err != nil {
			return err
		}
	default:
		return nil // os/exec makes pipes of no other kind
	}
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var report stdioReport
	if err := json.Unmarshal(out, &report); err != nil {
		return err
	}
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		if t.kind == syspipe.SocketPair && i == 1 {
			continue // the report's own way, a pipe
		}
		step := "stdio/" + from + "/" + name
		f := t.finding(step, describeStream(report.Streams[i]), "", "what the child sees there")
		if report.Errors[i] != "" {
			f.Value, f.How = "unknown", report.Errors[i]
		}
		if err := t.emit(f); err != nil {
			return err
		}
	}
	return nil
}

// socketStdio gives a child a socket as standard input and error.
func (t *trial) socketStdio(cmd *exec.Cmd) error {
	end, _, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	if _, err := end.Pass(cmd); err != nil {
		return err
	}
	file := cmd.ExtraFiles[len(cmd.ExtraFiles)-1]
	cmd.Stdin, cmd.Stderr = file, file
	return nil
}

func describeStream(s syspipe.Stream) string {
	text := s.Kind
	if s.NonBlocking {
		text += ", non-blocking"
	} else {
		text += ", blocking"
	}
	if s.Capacity > 0 {
		text += fmt.Sprintf(", %d bytes", s.Capacity)
	}
	return text
}
