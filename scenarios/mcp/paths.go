package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// withoutPaths returns err without the paths in it, so that clients do not learn where the server
// keeps its files.
func withoutPaths(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	if run, ok := errors.AsType[*exec.Error](err); ok {
		return fmt.Errorf("run: %w", run.Err)
	}
	return err
}

// paths matches absolute paths of any system and paths below a home directory. Only in quotes may
// they hold spaces or punctuation.
var paths = regexp.MustCompile(
	`(["'])` + pathRoot + `[^"']+|(^|[\s(=\[])` + pathRoot + `[^\s"'():;,\[\]]+`)

// pathRoot matches the beginning of a path: / or ~/, a drive such as C:\, or the \\ before the name
// of a Windows server.
const pathRoot = `(?:~?/|[A-Za-z]:[\\/]|\\\\)`

// hidePaths replaces each path in the text of an error by "(path)". It keeps a path that points
// into a JSON schema, because such a path tells a client which argument is wrong.
func hidePaths(text string) string {
	return paths.ReplaceAllStringFunc(text, func(path string) string {
		if strings.Contains(path, "/properties/") {
			return path
		}
		return paths.ReplaceAllString(path, "$1$2(path)")
	})
}
