package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

var versionForm = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)

func opensSessions(s *mcpSession) error {
	answer, err := s.initialize(mcpstdio.LastWithHandshake)
	switch {
	case err != nil:
		return err
	case !versionForm.MatchString(answer.ProtocolVersion):
		return fmt.Errorf("answers initialize with the protocolVersion %q", answer.ProtocolVersion)
	}
	m, err := s.ask("ping", nil)
	if err != nil {
		return err
	}
	if m.Failure != nil || !bytes.HasPrefix(m.Result, []byte("{")) {
		return errors.New("refuses ping, which is to be answered with an empty object")
	}
	s.Asked.Range(func(method, _ any) bool { // what the server has asked for so far
		if method != "ping" {
			err = fmt.Errorf("sends %s before notifications/initialized", method)
		}
		return err == nil
	})
	return err
}

func negotiatesVersion(s *mcpSession) error {
	answer, err := s.initialize(noVersion)
	if err != nil {
		return err
	}
	version := answer.ProtocolVersion
	if version == noVersion || !versionForm.MatchString(version) {
		return fmt.Errorf("asked for version %s, it answers with %q, "+
			"where one belongs that it supports", noVersion, version)
	}
	return nil
}

// answersDiscover sends the request "server/discover" without a handshake. A server may refuse the
// request with any error, but must go on running.
func answersDiscover(s *mcpSession) error {
	m, err := s.ask("server/discover", meta(mcpstdio.FirstStateless))
	if err != nil {
		return err
	}
	if m.Failure != nil {
		_, err := s.initialize(mcpstdio.LastWithHandshake)
		if _, refuses := errors.AsType[exemption](err); err != nil && !refuses {
			return fmt.Errorf("refuses server/discover, and then %w", err)
		}
		return nil
	}
	var known struct{ SupportedVersions []string }
	err = json.Unmarshal(m.Result, &known)
	if err != nil || !slices.ContainsFunc(known.SupportedVersions, versionForm.MatchString) {
		return errors.New("answers server/discover without supportedVersions")
	}
	m, err = s.ask("tools/list", meta(futureVersion))
	if err != nil {
		return err
	}
	if !refusesVersion(m) {
		return fmt.Errorf("does not refuse version %s with -32022 "+
			"and the versions that it supports", futureVersion)
	}
	return nil
}

// refusesVersion reports whether an answer is the error for a version that is not supported.
func refusesVersion(m jsonrpc.Message) bool {
	if m.Failure == nil {
		return false
	}
	refusal := jsonrpc.ParseError(m.Failure)
	var data struct{ Supported []string }
	err := json.Unmarshal(refusal.Data, &data)
	return err == nil && refusal.Code == -32022 && len(data.Supported) > 0
}

// answersWithoutSession asks for the list of tools before anything else. A server that speaks a
// revision of MCP without sessions must give the list.
func answersWithoutSession(s *mcpSession) error {
	listed, err := s.ask("tools/list", meta(mcpstdio.FirstStateless))
	if err != nil {
		return err
	}
	about, err := s.discover()
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains(about.SupportedVersions, mcpstdio.FirstStateless):
		return exemption("speaks no revision without sessions")
	case about.Capabilities["tools"] == nil:
		return exemption("has no tools")
	case listed.Failure != nil:
		return errors.New("refuses tools/list until server/discover was asked")
	}
	return nil
}

func ignoresNotifications(s *mcpSession) error {
	if _, err := s.initialize(mcpstdio.LastWithHandshake); err != nil {
		return err
	}
	const unknown = "notifications/pipebench/unknown"
	for _, method := range []string{"notifications/initialized", unknown} {
		if err := s.notify(method); err != nil {
			return err
		}
	}
	if _, err := s.ask("tools/list", nil); err != nil {
		return fmt.Errorf("after a notification that it cannot know, it %w", err)
	}
	if len(s.unasked) > 0 {
		return fmt.Errorf("answers a notification: %s", s.unasked[0])
	}
	return nil
}

// listsTools lists the tools, and calls a tool that does not exist.
func listsTools(s *mcpSession) error {
	capabilities, _, err := s.openAny(mcpstdio.LastWithHandshake)
	if err != nil {
		return err
	}
	if capabilities["tools"] == nil {
		return exemption("has no tools")
	}
	list, err := s.ask("tools/list", nil)
	if err != nil {
		return err
	}
	if list.Failure != nil {
		return errors.New("has tools, and refuses tools/list")
	}
	m, err := s.ask("tools/call", []byte(`{"name":"`+noTool+`","arguments":{}}`))
	if err != nil || m.Failure != nil {
		return err
	}
	if !failsCall(m.Result) {
		return errors.New("answers a call of an unknown tool as if it existed")
	}
	return nil
}

const noTool = "no tool has this name"

// failsCall reports whether the result of a call says that the call failed.
func failsCall(result []byte) bool {
	var said struct{ IsError bool }
	return json.Unmarshal(result, &said) == nil && said.IsError
}
