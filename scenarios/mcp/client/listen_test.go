package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

// A subscription is a request without a time, and is lost with its server as any other is.
func TestSubscriptionsEndWithTheServer(t *testing.T) {
	s := newFixture(t, Options{Protocol: mcp.FirstStateless, RequestTimeout: time.Nanosecond})
	srv := s.server()
	srv.discovered(`"2025-11-25","2026-07-28"`)
	params := map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := s.goCall(ctx, mcp.Listen, params)
	id := srv.listened()
	cancel()
	if _, err := cancelled.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	told := srv.recv()
	about := `"requestId":` + string(id) + `,`
	if told.Method != "notifications/cancelled" || !strings.Contains(string(told.Params), about) {
		t.Fatalf("got %s %s, want that the subscription is cancelled", told.Method, told.Params)
	}

	ended := s.goCall(t.Context(), mcp.Listen, params)
	srv.result(srv.listened(), `{"resultType":"complete"}`)
	if got, err := ended.wait(t); !strings.Contains(got, "complete") || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	gone := s.goCall(t.Context(), mcp.Listen, params)
	srv.listened()
	srv.exit()
	_, err := gone.wait(t)
	lost(t, err, ReasonGone)
}

// A server without the revision that is asked for is not spoken to.
func TestTheRevisionHasToBeKnown(t *testing.T) {
	s := newFixture(t, Options{Protocol: mcp.FirstStateless, Restarts: -1})
	s.server().discovered(`"2099-01-01"`)
	const says = "speaks MCP 2099-01-01, not 2026-07-28"
	if err := s.c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v", err)
	}
}

// What every request carries is added to its params, and not to those that have it.
func TestParamsCarryTheRevision(t *testing.T) {
	c := &Conn{opts: Options{Protocol: mcp.FirstStateless, Version: "v"}}
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
