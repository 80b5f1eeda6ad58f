package bench

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
)

// runClientLoad plays the asker under load: it sends on one thread and receives on
// another, since one that only sends would in the end fill both pipes.
func (e *endpoint) runClientLoad() error {
	var places chan struct{}
	if !e.load.open {
		places = make(chan struct{}, e.Cell.Inflight+int(e.Messages)) // giving a place back never waits
		for range e.Cell.Inflight {
			places <- struct{}{}
		}
	}
	over := make(chan error, 2)
	go e.onOwnThread(over, func() error { return e.generate(places) })
	go e.onOwnThread(over, func() error { return e.collect(places) })
	if err := <-over; err != nil {
		return err
	}
	return e.awaitReplies(over)
}

// onOwnThread runs half of a conversation on a thread of its own, where the part is
// placed.
func (e *endpoint) onOwnThread(over chan<- error, half func() error) {
	runtime.LockOSThread()
	if e.Pin == pinThread {
		if err := placement.PinThread(e.CPU); err != nil {
			over <- err
			return
		}
	}
	over <- half()
}

// awaitReplies waits for the last answer. Where the loop was given up, the
// receiving thread waits for ever for answers to what was never sent; it goes
// with the worker.
func (e *endpoint) awaitReplies(over <-chan error) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-look.C:
			if total := e.load.total.Load(); total >= 0 && e.load.delivered.Load() >= total {
				return nil
			}
		}
	}
}

// replyAll sends every message back, until no more come.
func (e *endpoint) replyAll() error {
	check := e.checker()
	for i := range e.Messages {
		msg, err := e.r.ReadMessage()
		if e.load.open && errors.Is(err, io.EOF) {
			return nil // the rest was never sent
		}
		if err != nil {
			return fmt.Errorf("receive message %d: %w", e.Warmup+i, err)
		}
		if err := check(e.Warmup+i, msg); err != nil {
			return err
		}
		if err := e.w.WriteMessage(msg); err != nil {
			return fmt.Errorf("answer message %d: %w", e.Warmup+i, err)
		}
	}
	return nil
}
