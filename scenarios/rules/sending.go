package rules

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// The names of what other processes of these experiments do.
const (
	workSend = "rules/send" // writes messages until the reader leaves
	workPass = "rules/pass" // answers each byte with one
)

const (
	sentMessage = 1_000_000 // bytes
	sendTime    = 60 * time.Millisecond
	sendRounds  = 5
	readBuffer  = 256 << 10
)

// A sending is one way to send large messages.
type sending struct {
	name     string
	capacity int // asked of the pipe, 0 for its own
	write    int // bytes of one write at most, 0 for the whole message
}

var sendings = []sending{
	{name: "whole"},
	{name: "8KiB", write: 8 << 10},
	{name: "pipe-1MiB", capacity: 1 << 20},
	{name: "pipe-256KiB-64KiB", capacity: 256 << 10, write: 64 << 10},
}

func (s sending) String() string {
	text := "whole messages"
	if s.write > 0 {
		text = "writes of " + results.FormatSize(int64(s.write))
	}
	if s.capacity > 0 {
		text += " into a pipe of " + results.FormatSize(int64(s.capacity))
	}
	return text
}

// compareWriteSizes sends large messages in several ways, on two CPUs and on one. The ways take
// turns, so that what else the machine does hits all of them.
func compareWriteSizes(t *trial) {
	places, ok := t.places()
	if !ok {
		return
	}
	for _, place := range places {
		rates := make([][]float64, len(sendings)) // B/s
		for range sendRounds {
			for i, s := range sendings {
				rate, ok := t.sendAt(place.cpus, s)
				if ok {
					rates[i] = append(rates[i], rate)
				}
			}
		}
		if t.Err() != nil {
			return
		}
		t.foundRates(place.name, rates)
	}
}

// foundRates reports the goodput of whole messages, and what each other way gains.
func (t *trial) foundRates(place string, rates [][]float64) {
	whole := medianOf(rates[0])
	how := fmt.Sprintf("goodput of messages of 1,000,000 B written whole, %s, "+
		"to a reader that only reads", place)
	t.found(Step{Name: "write-size/" + place + "/whole"}, int64(whole), "B/s", how)
	for i, s := range sendings[1:] {
		rate := medianOf(rates[i+1])
		if rate == 0 || whole == 0 {
			continue // this system sets no such capacity
		}
		how = fmt.Sprintf("goodput of %s over that of whole messages, %s", s, place)
		gain := float64(int64(100*rate/whole)) / 100
		t.found(Step{Name: "write-size/" + place + "/" + s.name}, gain, "times", how)
	}
}

type place struct {
	name string
	cpus placement.CPUs
}

// places returns one CPU for both ends and two CPUs, as far as this machine has them. Where a
// program cannot choose its CPUs the scheduler places both ends.
func (t *trial) places() (list []place, ok bool) {
	topology, err := placement.Read()
	if !t.Check(err) {
		return nil, false
	}
	for _, name := range topology.Best() {
		cpus, err := topology.Choose(name)
		if !t.Check(err) {
			return nil, false
		}
		list = append(list, place{name, cpus})
	}
	return list, true
}

type sendArgs struct {
	CPU   int // placement.Any for the scheduler's choice
	Write int // bytes of one write at most, 0 for the whole message
}

// send writes messages until the reader leaves.
func send(w *proc.Work) error {
	var args sendArgs
	if err := w.Args(&args); err != nil {
		return err
	}
	if err := pin(args.CPU); err != nil {
		return err
	}
	message := make([]byte, sentMessage)
	most := args.Write
	if most == 0 {
		most = len(message)
	}
	for {
		for left := message; len(left) > 0; {
			n, err := w.Ends[0].Write(left[:min(most, len(left))])
			if syspipe.ReaderLeft(err) {
				return nil
			}
			if err != nil {
				return err
			}
			left = left[n:]
		}
	}
}

// pin takes the calling goroutine to a CPU, and the thread with it.
func pin(cpu int) error {
	runtime.LockOSThread()
	if cpu == placement.Any {
		return nil
	}
	return placement.PinThread(cpu)
}

// sendAt sends for a while and returns the goodput in bytes per second. ok is false if the pipe
// cannot have that capacity.
func (t *trial) sendAt(cpus placement.CPUs, s sending) (rate float64, ok bool) {
	w, r := t.open()
	if t.Err() != nil {
		return 0, false
	}
	defer w.Close()
	defer r.Close()
	if s.capacity > 0 {
		if _, err := w.SetCapacity(s.capacity); err != nil {
			return 0, false
		}
	}
	p := t.Start(workSend, sendArgs{cpus.Writer, s.write}, w)
	if t.Err() != nil {
		return 0, false
	}
	w.Close()
	t.Check(pin(cpus.Reader))
	buffer := make([]byte, readBuffer)
	read := 0
	var began time.Duration
	for t.Err() == nil {
		n, err := r.Read(buffer)
		t.Check(err)
		read += n
		if began == 0 && read >= sentMessage { // the sender is under way
			began = syspipe.Now()
			read = 0
		}
		if began > 0 && syspipe.Now()-began > sendTime {
			break
		}
	}
	spent := syspipe.Now() - began
	r.Close()
	t.Check(p.Wait())
	return float64(read) / spent.Seconds(), t.Err() == nil
}

const (
	wakeUpTrips  = 1000 // of a round
	wakeUpRounds = 7
)

// timeWakeUps passes one byte to and fro. Each trip has two wake-ups; copying a byte is nothing
// beside them.
func timeWakeUps(t *trial) {
	places, ok := t.places()
	if !ok {
		return
	}
	for _, place := range places {
		toOther, in := t.open()
		out, fromOther := t.open()
		p := t.Start(workPass, place.cpus.Reader, in, out)
		if t.Err() != nil {
			return
		}
		in.Close()
		out.Close()
		t.Check(pin(place.cpus.Writer))
		var each []float64 // ns of a wake-up
		for range wakeUpRounds {
			began := syspipe.Now()
			for range wakeUpTrips {
				t.trip(toOther, fromOther)
			}
			spent := syspipe.Now() - began
			each = append(each, float64(spent)/(2*wakeUpTrips))
		}
		toOther.Close()
		t.Check(p.Wait())
		how := "half of the time in which a byte goes to another process and comes back, " +
			place.name
		t.found(Step{Name: "wake-up/" + place.name}, int64(medianOf(each)), "ns", how)
	}
}

func (t *trial) trip(w io.Writer, r io.Reader) {
	if t.Err() != nil {
		return
	}
	var b [1]byte
	_, err := w.Write(b[:])
	if t.Check(err) {
		_, err = io.ReadFull(r, b[:])
		t.Check(err)
	}
}

// passByte answers each byte with one, until there is none.
func passByte(w *proc.Work) error {
	var cpu int
	if err := w.Args(&cpu); err != nil {
		return err
	}
	if err := pin(cpu); err != nil {
		return err
	}
	var b [1]byte
	for {
		_, err := w.Ends[0].Read(b[:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Ends[1].Write(b[:]); err != nil {
			return err
		}
	}
}

func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
