package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
)

// A serverEntry is one server in a client's configuration, and where its command and arguments
// stand in the text.
type serverEntry struct {
	name    string
	command string
	args    []string

	commandAt, argsAt span // each is zero if the entry lacks that member
}

// A span is the part of a text from one byte offset up to, but not including, another.
type span struct{ from, to int64 }

// changeConfiguration puts "pipebench tap" before the commands of the named servers in a client's
// configuration. With --unwrap, it takes that away again. Without names, it changes all servers.
func (f *tapFlags) changeConfiguration(cmd *cobra.Command, names []string) error {
	path := cmp.Or(f.wrapFile, f.unwrapFile)
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := serverEntries(before)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(entries, func(e serverEntry) bool { return e.name == name }) {
			return usageError(fmt.Errorf("%s has no server %q", path, name))
		}
	}
	after := before
	var changed []string
	for _, e := range slices.Backward(entries) { // backward: earlier spans stay valid
		isMeant := len(names) == 0 || slices.Contains(names, e.name)
		isDone := e.isWrapped() == (f.wrapFile != "")
		if !isMeant || isDone {
			continue
		}
		if f.wrapFile == "" {
			e.unwrap()
		} else if err := f.wrap(&e); err != nil {
			return err
		}
		after = e.writeInto(after)
		changed = append(changed, e.name)
	}
	if len(changed) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to change in", path)
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	backup := path + ".before-tap"
	if err := results.ReplaceFile(backup, before, 0o600); err != nil {
		return err
	}
	if err := results.ReplaceFile(path, after, info.Mode().Perm()); err != nil {
		return err
	}
	slices.Reverse(changed)
	fmt.Fprintf(cmd.OutOrStdout(), "%s: changed %s; %s is the file as it was\n",
		path, strings.Join(changed, ", "), backup)
	return nil
}

// wrap puts "pipebench tap" before the command of a server. Without --out, the recording goes
// beside the configuration file, because the server's own folder may be read-only.
func (f *tapFlags) wrap(e *serverEntry) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name := "tap-" + strings.Map(fileNameRune, e.name) + ".jsonl"
	record, err := filepath.Abs(cmp.Or(f.out, filepath.Join(filepath.Dir(f.wrapFile), name)))
	if err != nil {
		return err
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
	return nil
}

// fileNameRune replaces a character if some system does not allow it in the name of a file.
func fileNameRune(c rune) rune {
	if strings.ContainsRune(`/\:*?"<>|`, c) || c < ' ' {
		return '-'
	}
	return c
}

// isWrapped reports whether the command of a server is "pipebench tap", followed by the server's
// own command.
func (e *serverEntry) isWrapped() bool {
	if len(e.args) == 0 || e.args[0] != "tap" {
		return false
	}
	dash := slices.Index(e.args, "--")
	ours := strings.Contains(filepath.Base(e.command), "pipebench")
	return ours && dash > 0 && dash+1 < len(e.args)
}

func (e *serverEntry) unwrap() {
	own := e.args[slices.Index(e.args, "--")+1:]
	e.command = own[0]
	e.args = own[1:]
}

// writeInto returns the text of a configuration with the command and the arguments of e in place of
// the old ones.
func (e *serverEntry) writeInto(text []byte) []byte {
	first, firstText := e.commandAt, jsonText(e.command)
	second, secondText := e.argsAt, jsonText(e.args)
	if second == (span{}) { // the entry has no "args" yet: add them behind the command
		second = span{first.to, first.to}
		secondText = slices.Concat([]byte(`, "args": `), secondText)
	}
	if first.from > second.from {
		first, second = second, first
		firstText, secondText = secondText, firstText
	}
	between := text[first.to:second.from]
	return slices.Concat(text[:first.from], firstText, between, secondText, text[second.to:])
}

// jsonText encodes a string or a list of strings. For these, encoding cannot fail.
func jsonText(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(out.Bytes())
}

// serverEntries finds the servers that a configuration starts: those in "mcpServers" or "servers"
// that have a command.
func serverEntries(text []byte) ([]serverEntry, error) {
	var entries []serverEntry
	known := false
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		path := slices.Collect(dec.StackPointer().Tokens()) // such as "mcpServers", NAME
		if len(path) == 0 || path[0] != "mcpServers" && path[0] != "servers" {
			continue
		}
		known = true
		if len(path) == 2 && token.Kind() == '{' {
			e := serverEntry{name: path[1]}
			err := e.read(dec)
			if err != nil {
				return nil, fmt.Errorf("server %q: %w", e.name, err)
			}
			entries = append(entries, e)
		}
	}
	if !known {
		return nil, errors.New(`it has no member "mcpServers" or "servers"`)
	}
	hasNoCommand := func(e serverEntry) bool { return e.commandAt == (span{}) }
	return slices.DeleteFunc(entries, hasNoCommand), nil
}

// read reads the members of the server's object, whose opening brace has just been read, and notes
// where in the text their values stand.
func (e *serverEntry) read(dec *jsontext.Decoder) error {
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		member := name.String() // ReadValue makes name invalid
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		to := dec.InputOffset()
		at := span{to - int64(len(value)), to}
		switch member {
		case "command":
			e.commandAt = at
			err = json.Unmarshal(value, &e.command)
		case "args":
			e.argsAt = at
			err = json.Unmarshal(value, &e.args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
