package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

const toolChanges = `"notifications":{"toolsListChanged":true}`

// listened returns the id of a subscription that a server gets.
func (s *fakeServer) listened() jsonrpc.ID {
	s.t.Helper()
	m := s.recv()
	if m.Method != mcp.Listen || !strings.Contains(string(m.Params), toolChanges) || strings.Count(string(m.Params), "protocolVersion") != 1 {
		s.t.Fatalf("got %s %s, want a subscription", m.Method, m.Params)
	}
	return m.ID
}

// A server that is started again gets the subscriptions before what waits for it, under new ids.
func TestSubscriptionsOutliveTheServer(t *testing.T) {
	s := newFixture(t, Options{Protocol: mcp.FirstWithout})
	srv := s.server()
	srv.discovered(`"2025-11-25","2026-07-28"`)
	params := map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}
	ctx, cancel := context.WithCancel(t.Context())
	kept, ended := s.goCall(ctx, mcp.Listen, params), s.goCall(t.Context(), mcp.Listen, params)
	before := []jsonrpc.ID{srv.listened(), srv.listened()}
	if about := s.c.Server(); about.ProtocolVersion != "2026-07-28" || about.ServerInfo.Name != "fake" {
		t.Errorf("the server is %+v", about)
	}
	lostCall := s.goCall(t.Context(), "m", nil)
	srv.recv()
	srv.exit()
	_, err := lostCall.wait(t)
	lost(t, err, ReasonGone)
	s.reach(Backoff)
	next := s.goCall(t.Context(), "m", nil)
	s.clock.fire()
	srv = s.server()
	srv.discovered(`"2026-07-28"`)
	after := []jsonrpc.ID{srv.listened(), srv.listened()}
	for _, id := range after {
		if slices.Contains(before, id) {
			t.Errorf("the id %s is used again", id)
		}
	}
	srv.result(srv.recv().ID, "1")
	if got, err := next.wait(t); got != "1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	cancel()
	if _, err := kept.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	told := srv.recv()
	mine := slices.IndexFunc(after, func(id jsonrpc.ID) bool { return strings.Contains(string(told.Params), `"requestId":`+string(id)+`,`) })
	if told.Method != "notifications/cancelled" || mine < 0 {
		t.Fatalf("got %s %s, want that the subscription is cancelled", told.Method, told.Params)
	}
	srv.result(after[1-mine], `{"resultType":"complete"}`)
	if got, err := ended.wait(t); !strings.Contains(got, "complete") || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// A subscription ends with its connection, whether a server is there or not.
func TestSubscriptionsEndWithTheConnection(t *testing.T) {
	s := newFixture(t, Options{Protocol: mcp.FirstWithout})
	srv := s.server()
	srv.discovered(`"2026-07-28"`)
	call := s.goCall(t.Context(), mcp.Listen, map[string]any{"notifications": map[string]bool{"toolsListChanged": true}})
	srv.listened()
	srv.exit()
	s.reach(Backoff)
	s.c.Close()
	if _, err := call.wait(t); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want that the connection is closed", err)
	}
}

// A server without the revision that is asked for is not spoken to.
func TestTheRevisionHasToBeKnown(t *testing.T) {
	s := newFixture(t, Options{Protocol: mcp.FirstWithout, Restarts: -1})
	s.server().discovered(`"2099-01-01"`)
	if err := s.c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "speaks MCP 2099-01-01, and not 2026-07-28") {
		t.Errorf("got %v", err)
	}
}

// What every request carries is added to its params, and not to those that have it.
func TestParamsCarryTheRevision(t *testing.T) {
	c := &Conn{opts: Options{Protocol: mcp.FirstWithout, Name: "n", Version: "v"}}
	meta := string(c.opts.hello())
	for params, want := range map[string]string{
		"": meta, " {} ": meta, `{"a":"<"}`: strings.TrimSuffix(meta, "}") + `,"a":"<"}`,
		`{"_meta":{}}`: `{"_meta":{}}`, `[1]`: `[1]`,
	} {
		var in []byte
		if params != "" {
			in = []byte(params)
		}
		if got := string(c.withMeta(in)); got != want {
			t.Errorf("%q became %s, want %s", params, got, want)
		}
	}
}
