package main

import (
	"bytes"
	"strings"
	"testing"
)

// A word that is no command, flag or topic leads to the one that may have been meant, and a flag of
// another program to the place where it belongs.
func TestAMistypedWordLeadsToTheRightOne(t *testing.T) {
	for _, c := range []struct{ line, says, never string }{
		{"ruun", "did you mean run?", ""},
		{"version", "did you mean --version?", "known are"},
		{"hlep", "did you mean help?", ""},
		{"run --framign ndjson", "did you mean --framing?", "stand behind --"},
		{"run --dryrun", "did you mean --dry-run?", ""},
		{"run --nothing-like-it", "unknown flag: --nothing-like-it; see", "did you mean"},
		{"drive node server.js --stdio", "stand behind --", "did you mean"},
		{"drive node server.js --stdio", "stand behind --", "in the quotes"},
		{"drive --sise 4KiB -- cat", "--size?", "stand behind --"},
		{"compare ./old -c ./new -c", "in the quotes of its command", "did you mean"},
		{"check ls -x", "stand behind --", "did you mean"},
		{"compare old new --count 3", "stand behind --", ""},
		{"tune jq -c .id", "stand behind --", ""},
		{"help exitcodes", "did you mean exit-codes?", ""},
		{"help tunning", "did you mean tune?", "known are"},
		{"runner", "did you mean run?", "known are"},
		{"help chunk", "did you mean sending, framings or tune?", "check"},
		{"help EPIPE", "did you mean pipes?", ""},
		{"help nothing", "unknown help topic \"nothing\"; known are", ""},
		{"run --framing raw,ndjsn", "known are raw[:N], ndjson,", ""},
		{"run --framing chunked:0", "\"chunked:0\"", "known are"},
		{"run --framing lsp", "; LSP speaks content-length, MCP ndjson", ""},
		{"run ndjson", `run takes no arguments, got "ndjson"; see pipebench run --help`, ""},
		{"run it", "see pipebench run --help", "did you mean"},
		{"run --placement one", "known are same (one CPU), ", ""},
		{"run --preset qqq", "preset \"qqq\" is unknown; known are", ""},
		{"tune --objective latncy", "known are balanced, throughput, latency", ""},
		{"report out --format tabel", "want table, ", ""},
		{"serve --fault def@1MiB", "known are deaf, ", ""},
		{"run -framing x", "unknown flag: -framing (did you mean --framing?)", ""},
		{"run --duration 3", "such as 3s", ""},
		{"run --help=foo", "want true or false", "strconv"},
		{"run --size=", "a value is missing", ""},
		{"run --io foo", "pipebench: unknown io \"foo\" (known: poller", "256 B"},
		{"run --placement both", "pipebench: placement \"both\" is unknown", "256 B"},
		{"tune --size 200MiB", "--size 209715200: chunks carry at most 64 MiB", ""},
		{"run --seed x", "want a whole number", "strconv"},
		{"run --work 1ns", "such as 1: CPU time that the reader spends", ""},
		{"run --batch 3", "--pattern stream", ""},
		{"help sending framings", "unknown help topic \"sending framings\"", ""},
		{"report testdata/screens/tune.jsonl.gz --charts foo -o x", "no such chart", ""},
		{"report out --detial", "did you mean --detail?", "stand behind --"},
	} {
		var said bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.line), nil, &said, &said); code != exitUsage {
			t.Errorf("%s: exit %d", c.line, code)
		}
		if !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: %q does not say %q", c.line, said.String(), c.says)
		}
		if c.never != "" && strings.Contains(said.String(), c.never) {
			t.Errorf("%s: %q says %q", c.line, said.String(), c.never)
		}
	}
}
