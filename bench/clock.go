package bench

import (
	"time"

	"github.com/pipebench/pipebench/results"
)

// runPattern warms up, meets the other end, and moves the messages of the sample.
func (e *endpoint) runPattern() error {
	began := time.Now()
	if err := e.exchange(0, e.Warmup); err != nil {
		return explain("warm-up", err)
	}
	e.report.Warmup = results.Warmup{Messages: e.Warmup, ElapsedNS: time.Since(began).Nanoseconds()}
	if e.isTimer() {
		return explain("timed part", e.runTimed())
	}
	return explain("timed part", e.runPeer())
}

// runTimed waits until the other end is ready, starts the clock, says go, and
// stops the clock when it has the last message.
func (e *endpoint) runTimed() error {
	heap := e.heap()
	if _, err := e.awaitPeer(); err != nil {
		return err
	}
	before := e.snapshot(heap)
	start := e.startSchedule()
	began := time.Now()
	if err := e.signalPeer(start); err != nil {
		return err
	}
	if err := e.runMessages(); err != nil {
		return err
	}
	e.report.ElapsedNS = time.Since(began).Nanoseconds()
	return e.fillReport(before)
}

// runPeer says that it is ready, and moves its messages when it may.
func (e *endpoint) runPeer() error {
	heap := e.heap()
	quiesce()
	before := e.snapshot(heap)
	if err := e.signalPeer(0); err != nil {
		return err
	}
	start, err := e.awaitPeer()
	if err != nil {
		return err
	}
	e.setSchedule(start)
	if err := e.runMessages(); err != nil {
		return err
	}
	return e.fillReport(before)
}

// cpuSamples is how often an end notes its CPU while the clock runs. Each costs a
// system call of some 50 ns.
const cpuSamples = 16

// runMessages exchanges the sample's messages.
func (e *endpoint) runMessages() error {
	if e.load != nil {
		e.sampleCPU()
		defer e.sampleCPU()
		return e.runLoad()
	}
	e.trips = e.trips[:0]
	for i := range int64(cpuSamples) {
		from, to := e.Messages*i/cpuSamples, e.Messages*(i+1)/cpuSamples
		e.sampleCPU()
		if err := e.exchange(e.Warmup+from, to-from); err != nil {
			return err
		}
	}
	e.sampleCPU()
	return nil
}
