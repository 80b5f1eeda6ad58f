package target

import (
	"errors"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// An opening is what a server answered to the first requests.
type opening struct {
	reply child.Message // the answer to "server/discover"; zero if there was none
	hello child.Message // the answer to "initialize"; zero if there was none
	sent  int64         // how many requests were sent
}

// open sends "server/discover", the first request of MCP's newest revision. If the server is
// silent, open sends "initialize" as well.
func (g greeting) open() (opening, error) {
	o := opening{sent: 1}
	discover := g
	discover.within = min(headstart, g.within/2)
	var err error
	o.reply, err = discover.askFirst(
		jsonrpc.AppendRequest(nil, discoverID, "server/discover", []byte(discoverParams)))
	if !errors.Is(err, child.ErrSilent) || errors.Is(err, child.ErrNotTaken) {
		return o, err
	}
	o.sent++
	params := mcpstdio.InitializeParams(mcpstdio.LastWithHandshake)
	err = g.say(jsonrpc.AppendRequest(nil, helloID, "initialize", []byte(params)))
	if err != nil {
		return o, err
	}
	return o, g.blameZero(params, g.hearBoth(&o))
}

// hearBoth waits for the answer to "initialize". If other messages come before that, hearBoth keeps
// the first of them in o.reply. A line that is no answer gives way to an answer.
func (g greeting) hearBoth(o *opening) error {
	ctx, stop := g.patient()
	defer stop()
	for {
		m, err := g.hear(ctx)
		if errors.Is(err, child.ErrSilent) && o.reply.Raw != nil {
			return nil
		}
		if err != nil {
			return err
		}
		first := o.reply.Raw == nil
		if m.Envelope.Kind().Answers() && o.reply.Envelope.Kind() == jsonrpc.None {
			o.reply = child.Message{}
		}
		if string(m.Envelope.ID) == helloID {
			o.hello = m
			return nil
		}
		if o.reply.Raw == nil {
			o.reply = m
		}
		if m.Envelope.Kind() != jsonrpc.None {
			continue
		}
		g.Strays.addLine(m.Raw)
		if first { // perhaps a filter, which sends nothing but such lines
			settled, cancel := g.Patient(g.ctx, g.settle, slowStarts*g.settle)
			defer cancel()
			ctx = settled
		}
	}
}
