package syspipe

import (
	"errors"
	"io"
	"testing"
)

// direct opens a pipe and its direct ways, where the system has them.
func direct(t *testing.T) (w, r *End, dw, dr Direct) {
	t.Helper()
	w, r, err := Open(Anonymous, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() }) // a second time, in some tests
	dw, ok := w.Direct()
	dr, _ = r.Direct()
	if !ok {
		t.Skip("this system has no direct way")
	}
	return w, r, dw, dr
}

func TestTheDirectWayIsCountedWhenItIsSettled(t *testing.T) {
	w, r, dw, dr := direct(t)
	p := make([]byte, 5)
	if n := dw.Write([]byte("hello")); n != 5 {
		t.Fatalf("%d bytes were written", n)
	}
	dw.Count(5)
	if n := dr.Read(p); n != 5 || string(p) != "hello" {
		t.Fatalf("read %q", p[:n])
	}
	dr.Count(5)
	for range 2 { // the second time there is nothing to settle
		w.AddWrites(&dw)
		r.AddReads(&dr)
	}
	if c := w.Counters(); c.Calls != 1 || c.Bytes != 5 {
		t.Errorf("written: %+v", c)
	}
	if c := r.Counters(); c.Calls != 1 || c.Bytes != 5 {
		t.Errorf("read: %+v", c)
	}
}

func TestTheEndGoesOnWhereADirectReadFellShort(t *testing.T) {
	w, r, dw, dr := direct(t)
	dw.Write([]byte("he"))
	p := make([]byte, 5)
	n := dr.Read(p)
	dw.Write([]byte("llo"))
	if err := r.ReadRest(p, n); err != nil || string(p) != "hello" {
		t.Errorf("read %q, %v", p, err)
	}
	if c := r.Counters(); c.Calls != 2 || c.Bytes != 5 || c.Short != 1 {
		t.Errorf("read: %+v", c)
	}
	w.Close()
	if n := dr.Read(p); n != 0 {
		t.Errorf("%d bytes came after the end", n)
	}
	if err := r.ReadRest(p, 0); !errors.Is(err, io.EOF) {
		t.Errorf("the end tells %v of it", err)
	}
}

// What cannot be done directly is left to the end, which tells why.
func TestTheEndTellsWhyADirectWriteFailed(t *testing.T) {
	w, r, dw, _ := direct(t)
	r.Close()
	if n := dw.Write([]byte("lost")); n >= 0 {
		t.Errorf("%d bytes were taken by nobody", n)
	}
	var broken *BrokenPipeError
	if err := w.WriteRest([]byte("lost"), -1); !errors.As(err, &broken) {
		t.Errorf("the end tells %v", err)
	}
	w.Close()
	if _, ok := w.Direct(); ok {
		t.Error("there is a way to an end that is closed")
	}
}

func TestThereIsNoDirectWayAroundWaiting(t *testing.T) {
	for _, io := range IOs() {
		if io == Blocking || io.Supported() != nil {
			continue
		}
		w, r, err := Open(Anonymous, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.SetIO(io); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		} else if _, ok := w.Direct(); ok && err == nil {
			t.Errorf("there is one with %s", io)
		}
		w.Close()
		r.Close()
	}
}

func TestTheDirectWayAllocatesNothing(t *testing.T) {
	_, _, dw, dr := direct(t)
	p := make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() { dw.Write(p); dr.Read(p) }); n != 0 {
		t.Errorf("%v allocations a trip", n)
	}
}
