package bench

import (
	"os/exec"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// pipes are what joins the two ends of a cell: the measured pipe, the one back
// for answers, and two gates over which the ends say that they are ready.
type pipes struct {
	data, back        pipe
	toOrigin, toOther pipe // gates, towards the end that the messages come from and towards the other
}

// A pipe is its two ends, in the controller's hands only to be passed on.
type pipe struct{ w, r *syspipe.End }

func openPipes(c results.Cell) (*pipes, error) {
	p := &pipes{}
	wanted := []struct {
		into     *pipe
		kind     syspipe.Kind
		capacity int
	}{
		{&p.data, syspipe.Kind(c.Pipe), c.Capacity},
		{&p.toOrigin, syspipe.Anonymous, 0},
		{&p.toOther, syspipe.Anonymous, 0},
		{&p.back, syspipe.Kind(c.Pipe), c.Capacity},
	}
	if c.Pattern == "stream" {
		wanted = wanted[:3]
	}
	for _, want := range wanted {
		w, r, err := syspipe.Open(want.kind, want.capacity)
		if err != nil {
			p.close()
			return nil, err
		}
		*want.into = pipe{w, r}
	}
	return p, nil
}

func (p *pipes) close() {
	for _, one := range []pipe{p.data, p.back, p.toOrigin, p.toOther} {
		if one.w != nil {
			one.w.Close() // never written to here: nothing can be lost
			one.r.Close()
		}
	}
}

// A endpointSpec is a part with the ends that go with it.
type endpointSpec struct {
	role                      role
	cpu                       int
	out, in, toPeer, fromPeer *syspipe.End
}

// endpointSpecs casts the two ends of a cell.
func (p *pipes) endpointSpecs(c results.Cell, cpus placement.CPUs) (first, other endpointSpec) {
	first = endpointSpec{role: sender, cpu: cpus.Writer, out: p.data.w, toPeer: p.toOther.w, fromPeer: p.toOrigin.r}
	other = endpointSpec{role: receiver, cpu: cpus.Reader, in: p.data.r, toPeer: p.toOrigin.w, fromPeer: p.toOther.r}
	if c.Pattern == "roundtrip" {
		first.role, first.in = client, p.back.r
		other.role, other.out = server, p.back.w
	}
	return first, other
}

// pass hands the cast's ends to a worker that is about to start.
func (c endpointSpec) pass(cmd *exec.Cmd) (endpointConfig, error) {
	p := endpointConfig{Role: c.role, CPU: c.cpu}
	for _, one := range []struct {
		end *syspipe.End
		ref *string
	}{{c.out, &p.Out}, {c.in, &p.In}, {c.toPeer, &p.ToPeer}, {c.fromPeer, &p.FromPeer}} {
		if one.end == nil {
			continue
		}
		ref, err := one.end.Pass(cmd)
		if err != nil {
			return endpointConfig{}, err
		}
		*one.ref = ref
	}
	return p, nil
}
