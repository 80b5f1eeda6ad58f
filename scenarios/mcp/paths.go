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

// withoutPaths drops the paths from an error, so that clients do not learn where the server keeps
// its files.
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

// paths matches absolute paths of any system, and paths below a home directory. A path after a
// quotation mark ends at the next one; any other ends at white space or punctuation.
var paths = regexp.MustCompile(
	`(["'])` + pathRoot + `[^"']+|(^|[\s(=\[])` + pathRoot + `[^\s"'():;,\[\]]+`)

// pathRoot is how a path begins: at the root, at a home, at a drive or at a server.
const pathRoot = `(?:~?/|[A-Za-z]:[\\/]|\\\\)`

// hidePaths replaces paths in the text of an error, which may have been made by anybody. A place in
// a JSON schema looks like a path and is kept: it tells a client which of its arguments is wrong.
func hidePaths(text string) string {
	return paths.ReplaceAllStringFunc(text, func(path string) string {
		if strings.Contains(path, "/properties/") {
			return path
		}
		return paths.ReplaceAllString(path, "$1$2(path)")
	})
}
