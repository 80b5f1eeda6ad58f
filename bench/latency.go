package bench

import (
	"encoding/binary"
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// finishLoad turns the times of a load into latencies. In a stream the sender has one half of them,
// and hands it over.
func (e *endpoint) finishLoad() error {
	switch e.Role {
	case sender:
		return e.sendTimes()
	case receiver:
		if err := e.receiveTimes(); err != nil {
			return err
		}
	case server:
		return nil
	}
	return e.summariseLoad()
}

// sendTimes tells the receiver when each message was sent.
func (e *endpoint) sendTimes() error {
	if err := e.out.Close(); err != nil {
		return err
	}
	times, err := binary.Append(nil, binary.NativeEndian, append([]int64{e.load.total.Load()}, e.load.sent...))
	if err == nil {
		_, err = e.toPeer.Write(times)
	}
	return err
}

func (e *endpoint) receiveTimes() error {
	times := make([]int64, 1+len(e.load.sent))
	if err := binary.Read(e.fromPeer, binary.NativeEndian, times); err != nil {
		return err
	}
	e.load.total.Store(times[0])
	copy(e.load.sent, times[1:])
	if got, sent := e.load.delivered.Load(), e.load.total.Load(); got != sent {
		return fmt.Errorf("%d messages were sent and %d received", sent, got)
	}
	return nil
}

// summariseLoad sums the load up: latency from when a message was sent and from when it was due,
// the generator's own lateness, and how the sends kept the schedule.
func (e *endpoint) summariseLoad() error {
	l := e.load
	n := l.delivered.Load()
	since := func(from func(i int64) int64, to []int64) []int64 {
		ns := make([]int64, n)
		for i := range ns {
			ns[i] = to[i] - from(int64(i))
		}
		return ns
	}
	sent := func(i int64) int64 { return l.sent[i] }
	name := "oneway"
	if e.Role == client {
		name = "roundtrip"
	}
	times := map[string][]int64{name: since(sent, l.received)}
	if l.open {
		times["due"] = since(l.schedule.due, l.received)
		times["lateness"] = since(l.schedule.due, l.sent)
		e.report.Load = l.scheduleStats(times["lateness"])
	}
	e.report.Latency = map[string]results.Latency{}
	for key, ns := range times {
		latency, err := results.NewLatency(ns)
		if err != nil {
			return err
		}
		e.report.Latency[key] = latency
	}
	e.report.Messages = n
	if n > 0 {
		e.report.ElapsedNS = l.received[n-1] - l.schedule.start
	}
	e.report.PayloadBytes = e.source.Bytes(e.Warmup, n)
	return nil
}

// scheduleStats compares sends with the schedule; late means more than one period after due.
func (l *load) scheduleStats(lateness []int64) *results.Load {
	k := &results.Load{Due: int64(len(l.sent)), Sent: l.total.Load()}
	k.Unsent = k.Due - k.Sent
	for _, ns := range lateness {
		if float64(ns) > l.schedule.period {
			k.Late++
		}
	}
	if n := l.delivered.Load(); n > 0 {
		k.Achieved = float64(n) / (float64(max(l.received[n-1], l.schedule.due(n))-l.schedule.start) / 1e9)
	}
	return k
}
