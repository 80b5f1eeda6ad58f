package framers_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

func TestParse(t *testing.T) {
	for spec, canonical := range map[string]string{
		"raw": "raw", "raw:4096": "raw:4096", "raw:4KiB": "raw:4096",
		"ndjson": "ndjson", "ndjson-bytewise": "ndjson-bytewise", "ndjson-rescan": "ndjson-rescan",
		"content-length": "content-length", "length-prefix": "length-prefix",
		"chunked": "chunked:61440", "chunked:60KiB": "chunked:61440",
		"chunked:60kb": "chunked:60000", "chunked:60K": "chunked:61440",
		"chunked:4k": "chunked:4096", "chunked:1M": "chunked:1048576", "chunked:1mib": "chunked:1048576", "chunked:64": "chunked:64",
		"adaptive": "adaptive:61440", "adaptive:61440": "adaptive:61440", "adaptive:100b": "adaptive:100", "chunked+zstd": "chunked+zstd:61440", "chunked+zstd:4k": "chunked+zstd:4096",
	} {
		f, err := framers.Parse(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if f.String() != canonical {
			t.Errorf("%s: got %s, want %s", spec, f, canonical)
		}
		if again, err := framers.Parse(f.String()); err != nil || again != f {
			t.Errorf("%s does not parse back: %v, %v", f, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, say := range map[string]string{
		"":                      `unknown framing "": known are raw[:N], ndjson,`,
		"lsp":                   "; LSP speaks content-length, MCP ndjson",
		"NDJSON":                "unknown framing",
		"ndjson:4":              "takes no argument",
		"content-length:":       "takes no argument",
		"chunked:":              "not a positive number of bytes",
		"chunked:0":             "not a positive number of bytes",
		"chunked:-1":            "not a positive number of bytes",
		"chunked:+64":           "not a positive number of bytes",
		"chunked:6 4":           "not a positive number of bytes",
		"chunked:60XiB":         "not a positive number of bytes",
		"chunked:60KKiB":        "not a positive number of bytes",
		"chunked:1.5k":          "not a positive number of bytes",
		"chunked:63":            "at least 64",
		"adaptive:1":            "at least 64",
		"raw:9999999999999999k": "beyond what this machine can address",
		"chunked:64:64":         "not a positive number of bytes",
	} {
		f, err := framers.Parse(spec)
		if err == nil {
			t.Errorf("%q: parsed as %s", spec, f)
		} else if !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %q does not say %q", spec, err, say)
		}
	}
}

func TestConstructorsRefuse(t *testing.T) {
	if _, err := framers.Raw(-1); err == nil {
		t.Error("a negative size")
	}
	if _, err := framers.Chunked(framers.MinChunk - 1); err == nil {
		t.Error("a chunk without room for data")
	}
}

func TestAMebibyteInChunks(t *testing.T) {
	got := encode(t, mustParse(t, "chunked"), [][]byte{message(1 << 20)})
	if len(got) != 1<<20+782 {
		t.Errorf("overhead %d, want 782", len(got)-1<<20)
	}
	if got := bytes.Count(got, []byte("\n")); got != 18 {
		t.Errorf("%d frames, want 18", got)
	}
}

func TestFrameBound(t *testing.T) {
	for _, size := range []int{64, 65, 99, 100, 101, 1000, 4096} {
		f, err := framers.Chunked(size)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, size - 43, size - 42, size - 41, 10 * size, 11*size - 3, 20_000} {
			msg := message(max(n, 0))
			var whole []byte
			frames := 0
			for pieces := range f.Frames(msg) {
				frame := bytes.Join(pieces, nil)
				if len(frame) > size {
					t.Fatalf("size %d, message of %d: a frame of %d", size, n, len(frame))
				}
				whole = append(whole, bytes.SplitN(bytes.TrimSuffix(frame, []byte("\n")), []byte(":"), 4)[3]...)
				frames++
			}
			if !bytes.Equal(whole, msg) {
				t.Fatalf("size %d, message of %d: frames do not join to it", size, n)
			}
			if n == size-42 && frames != 1 || n == size-41 && frames != 2 {
				t.Errorf("size %d, message of %d: %d frames", size, n, frames)
			}
		}
	}
}
