package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
)

// A serverEntry is a server of a client's configuration, and where its command stands in the file.
type serverEntry struct {
	name    string
	command string
	args    []string

	commandAt, argsAt span // of the values; the latter is empty if there are no args
}

// A span is a part of a text.
type span struct{ from, to int64 }

// wrap puts tap before servers in a client's configuration, or takes it away.
func (f *tapFlags) wrap(cmd *cobra.Command, names []string) error {
	path := f.wrapFile
	change := f.wrapEntry
	if f.unwrapFile != "" {
		path = f.unwrapFile
		change = unwrapEntry
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := serverEntries(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(entries, func(e serverEntry) bool { return e.name == name }) {
			return usage(fmt.Errorf("%s has no server %q", path, name))
		}
	}
	var changed []string
	for _, e := range slices.Backward(entries) { // so that the places before stay
		if len(names) > 0 && !slices.Contains(names, e.name) {
			continue
		}
		next, does, err := change(e)
		if err != nil {
			return err
		}
		if does {
			text = next.writeInto(text)
			changed = append(changed, e.name)
		}
	}
	if len(changed) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to change in", path)
		return nil
	}
	copied, err := replaceConfig(path, text)
	if err != nil {
		return err
	}
	slices.Reverse(changed)
	fmt.Fprintf(cmd.OutOrStdout(), "%s: changed %s; %s is the file as it was\n",
		path, strings.Join(changed, ", "), copied)
	return nil
}

// replaceConfig writes a configuration, and leaves a copy of what it was.
func replaceConfig(path string, text []byte) (copied string, err error) {
	before, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	copied = path + ".before-tap"
	err = results.ReplaceFile(copied, before, 0o600)
	if err != nil {
		return "", err
	}
	return copied, results.ReplaceFile(path, text, info.Mode().Perm())
}

// wrapEntry puts tap before a server, unless it stands there.
func (f *tapFlags) wrapEntry(e serverEntry) (serverEntry, bool, error) {
	if tapped(e) {
		return e, false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return e, false, err
	}
	record, err := filepath.Abs(f.out)
	if err != nil {
		return e, false, err
	}
	if f.out == "" { // a client starts its servers anywhere, be it where nobody may write
		folder, err := filepath.Abs(filepath.Dir(f.wrapFile))
		if err != nil {
			return e, false, err
		}
		record = filepath.Join(folder, "tap-"+fileName(e.name)+".jsonl")
	}
	args := []string{"tap", "-o", record}
	if f.options.Bodies {
		args = append(args, "--bodies")
	}
	if f.options.Redact {
		args = append(args, "--redact")
	}
	args = append(args, "--", e.command)
	e.args = append(args, e.args...)
	e.command = self
	return e, true, nil
}

// unwrapEntry takes tap away from before a server, if it stands there.
func unwrapEntry(e serverEntry) (serverEntry, bool, error) {
	if !tapped(e) {
		return e, false, nil
	}
	own := e.args[slices.Index(e.args, "--")+1:]
	e.command = own[0]
	e.args = own[1:]
	return e, true, nil
}

// tapped reports whether the command of a server is tap, with another behind it.
func tapped(e serverEntry) bool {
	if len(e.args) == 0 || e.args[0] != "tap" {
		return false
	}
	dash := slices.Index(e.args, "--")
	ours := strings.Contains(filepath.Base(e.command), "pipebench")
	return ours && dash > 0 && dash+1 < len(e.args)
}

// fileName returns a name as a part of a file's name.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, c) || c < ' ' {
			return '-'
		}
		return c
	}, name)
}

// writeInto returns a configuration with the command and the arguments of e where they stood. The
// rest of the text stays as it is.
func (e serverEntry) writeInto(text []byte) []byte {
	command := jsonText(e.command)
	args := jsonText(e.args)
	if e.argsAt == (span{}) {
		command = slices.Concat(command, []byte(`, "args": `), args)
		return replaceSpan(text, e.commandAt, command)
	}
	// The later one first, so that the place of the other stays.
	if e.argsAt.from > e.commandAt.from {
		text = replaceSpan(text, e.argsAt, args)
		return replaceSpan(text, e.commandAt, command)
	}
	text = replaceSpan(text, e.commandAt, command)
	return replaceSpan(text, e.argsAt, args)
}

func replaceSpan(text []byte, s span, with []byte) []byte {
	return slices.Concat(text[:s.from], with, text[s.to:])
}

// jsonText writes a text or a list of texts, which is always possible.
func jsonText(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(out.Bytes())
}

// serverEntries finds the servers of a configuration: the members of "mcpServers", or of "servers",
// that have a command.
func serverEntries(text []byte) ([]serverEntry, error) {
	var entries []serverEntry
	known := false
	err := members(text, span{0, int64(len(text))}, func(name string, at span) error {
		if name != "mcpServers" && name != "servers" {
			return nil
		}
		known = true
		return members(text, at, func(name string, at span) error {
			e := serverEntry{name: name}
			err := members(text, at, func(name string, at span) error {
				value := text[at.from:at.to]
				switch name {
				case "command":
					e.commandAt = at
					return json.Unmarshal(value, &e.command)
				case "args":
					e.argsAt = at
					return json.Unmarshal(value, &e.args)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("server %q: %w", name, err)
			}
			if e.commandAt != (span{}) { // else it is reached by a URL
				entries = append(entries, e)
			}
			return nil
		})
	})
	if err == nil && !known {
		err = errors.New(`it has no member "mcpServers" or "servers"`)
	}
	return entries, err
}

// members calls do with each member of the JSON object that stands at a place of a text.
func members(text []byte, at span, do func(name string, at span) error) error {
	dec := jsontext.NewDecoder(
		bytes.NewReader(text[at.from:at.to]), jsontext.AllowDuplicateNames(true))
	begin, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if begin.Kind() != '{' {
		return errors.New("not an object")
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		to := at.from + dec.InputOffset()
		err = do(key, span{to - int64(len(value)), to})
		if err != nil {
			return err
		}
	}
	return nil
}
