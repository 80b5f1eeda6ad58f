package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestAnOldNameSaysWhatToTypeInstead(t *testing.T) {
	for _, old := range oldCommands {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{old.name, "--flag", "word"}, nil, &stdout, &stderr)
		if code != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), old.instead) {
			t.Errorf("%s: exit %d: %s%s", old.name, code, &stdout, &stderr)
		}
		words := strings.Fields(old.instead)
		now, _, err := newRoot().Find(words[1:2])
		if err != nil || now.Hidden {
			t.Errorf("%s: there is no command for %q", old.name, old.instead)
		}
	}
}
