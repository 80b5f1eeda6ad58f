package results_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	w, err := results.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &results.Set{}
	for _, l := range resultstest.Lines() {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
		l, _ = results.WithKind(l)
		want.Add(l)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := results.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("read back (-written +read):\n%s", d)
	}
}

// oneWrite counts calls of Write.
type oneWrite struct{ calls [][]byte }

func (o *oneWrite) Write(p []byte) (int, error) {
	o.calls = append(o.calls, bytes.Clone(p))
	return len(p), nil
}

func TestEveryLineIsOneWrite(t *testing.T) {
	var o oneWrite
	w := results.NewWriter(&o)
	for _, l := range resultstest.Lines() {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.calls) != len(resultstest.Lines()) {
		t.Fatalf("got %d writes for %d lines", len(o.calls), len(resultstest.Lines()))
	}
	for i, c := range o.calls {
		if bytes.Count(c, []byte("\n")) != 1 || c[len(c)-1] != '\n' {
			t.Errorf("write %d is not one whole line: %q", i, c)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	cell := resultstest.Cell("ndjson", 256)
	nan := cell
	nan.Rate = math.NaN()
	for _, tt := range []struct {
		name, want string
		line       results.Line
	}{
		{"a pointer", "not a pointer", &results.Environment{Run: "r"}},
		{"no run", "without the name of its run", results.Environment{}},
		{"a cell without its fields", "framing is missing",
			results.Record{Run: "r", Cell: results.Cell{}, Stopped: "samples"}},
		{"a rate that is no number", "rate is not a number",
			results.Record{Run: "r", Cell: nan, Stopped: "samples"}},
		{"neither samples nor a reason", "no word why", results.Record{Run: "r", Cell: cell}},
		{"an unsupported cell with samples", "has no samples", results.Record{
			Run: "r", Cell: cell, Unsupported: "no", Samples: []results.Sample{{}},
		}},
		{"time that ran backwards", "elapsed_ns is negative", results.Record{
			Run: "r", Cell: cell, Samples: []results.Sample{{ElapsedNS: -1}},
		}},
		{"a figure that JSON cannot hold", "unsupported value",
			results.Finding{Run: "r", ID: "x", Verdict: results.OK, Value: math.Inf(1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			w := results.NewWriter(&out)
			err := w.Write(tt.line)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if out.Len() != 0 {
				t.Errorf("wrote %q", out.String())
			}
			if err := w.Write(resultstest.Environment()); err != nil {
				t.Errorf("a refused line spoilt the file: %v", err)
			}
		})
	}
}

// broken fails every write after the first.
type broken struct{ n int }

var errDisk = errors.New("disk full")

func (b *broken) Write(p []byte) (int, error) {
	if b.n++; b.n > 1 {
		return len(p) / 2, errDisk
	}
	return len(p), nil
}

func TestWriterStaysBrokenAfterATornLine(t *testing.T) {
	b := &broken{}
	w := results.NewWriter(b)
	if err := w.Write(resultstest.Environment()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Write(resultstest.Environment()); !errors.Is(err, errDisk) {
			t.Errorf("got %v, want the disk's error", err)
		}
	}
	if b.n != 2 {
		t.Errorf("wrote on after the failure: %d writes", b.n)
	}
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: got %v, want the disk's error", err)
	}
}

func TestAppendAfterATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"measu`), 0o666); err != nil {
		t.Fatal(err)
	}
	w, err := results.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(resultstest.Environment()), w.Close()); err != nil {
		t.Fatal(err)
	}
	set, err := results.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Environments) != 1 || len(set.Problems) != 1 || set.Problems[0].Line != 1 {
		t.Errorf("got %d environments, problems %v; want one of each", len(set.Environments),
			set.Problems)
	}
}

func TestReaderSkipsAndSays(t *testing.T) {
	env := resultstest.Encoded(t, resultstest.Environment())
	rec := resultstest.Encoded(t, resultstest.Record(resultstest.Cell("ndjson", 256), 257, 100))
	for _, tt := range []struct {
		name, file string
		len        int
		problem    string // "" for none
	}{
		{"a file cut within its last line", env + rec[:len(rec)/2], 1, "f:2: torn line skipped"},
		{"a torn line and the next file behind it",
			env + rec[:len(rec)/2] + strings.ReplaceAll(env, `"run":"`, `"run":"2`) + rec, 3,
			"f:2: torn line skipped"},
		{"a last line whole but for its newline", env + strings.TrimSuffix(rec, "\n"), 2, ""},
		{"blank lines, a byte order mark and carriage returns",
			"\ufeff" + strings.ReplaceAll(env+"\n"+rec, "\n", "\r\n"), 2, ""},
		{"a line that is not JSON", env + "hello\n" + rec, 2, "f:2: not a line of a results file"},
		{"a line without kind", env + "{}\n" + rec, 2, "f:2: no kind: line skipped"},
		{"kinds not known here", env + strings.Repeat(`{"kind":"dream"}`+"\n", 2) + rec, 2,
			`f:2: kind "dream" is not known to this version: line skipped ` +
				`(and 1 more such lines)`},
		{"a field of the wrong type", env + `{"kind":"finding","found":1}` + "\n", 1,
			"f:2: finding: json:"},
		{"a newer schema", strings.Replace(env, `"schema":1`, `"schema":2`, 1) + rec, 2,
			"f:1: schema 2 is newer than this program's 1"},
		{"a field added to a record",
			env + strings.Replace(rec, `"run"`, `"mood":"good","run"`, 1), 2, ""},
		{"a field added to a cell",
			env + strings.Replace(rec, `"size":256`, `"size":256,"zeal":1`, 1), 1,
			`f:2: measurement: cell: json: unknown field "zeal"`},
		{"a negative size", env + strings.Replace(rec, `"size":256`, `"size":-1`, 1), 1,
			"f:2: measurement: cell: size is negative: -1"},
		{"the same lines twice", env + rec + env + rec, 2,
			"f:3: the same line was read from f: not counted twice (and 1 more such lines)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := results.ReadFrom("f", strings.NewReader(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if set.Len() != tt.len {
				t.Errorf("got %d lines, want %d", set.Len(), tt.len)
			}
			var got string
			for _, p := range set.Problems {
				got += p.String()
			}
			if !strings.HasPrefix(got, tt.problem) || (got == "") != (tt.problem == "") {
				t.Errorf("problems: got %q, want %q", got, tt.problem)
			}
		})
	}
}

func TestNothingToReadIsAnError(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"an empty file", "", "the file is empty"},
		{"blank lines alone", "\n\n", "the file is empty"},
		{"no line of ours", "PASS\nok\n", "f:1: not a line of a results file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := results.ReadFrom("f", strings.NewReader(tt.file))
			if !errors.Is(err, results.ErrEmpty) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrEmpty saying %q", err, tt.want)
			}
		})
	}
	if _, err := results.Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got %v, want fs.ErrNotExist", err)
	}
	if _, err := results.Read(); err == nil {
		t.Error("no file at all: got no error")
	}
}

func TestAFileNamedTwiceCountsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	text := []byte(resultstest.Encoded(t, resultstest.Lines()[:2]...))
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := results.Read(path, path)
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() != 2 || len(set.Problems) != 1 || set.Problems[0].More != 1 {
		t.Errorf("got %d lines and problems %v, want 2 lines and the repetition said once",
			set.Len(), set.Problems)
	}
}

func TestAFolderStandsForItsResultsFile(t *testing.T) {
	dir := t.TempDir()
	_, err := results.Read(dir)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), results.FileName) {
		t.Errorf("an empty folder: got %v, want that the results file is missing", err)
	}
	text := []byte(resultstest.Encoded(t, resultstest.Lines()[:2]...))
	if err := os.WriteFile(filepath.Join(dir, results.FileName), text, 0o666); err != nil {
		t.Fatal(err)
	}
	if set, err := results.Read(dir); err != nil || set.Len() != 2 {
		t.Errorf("got %v, %v", set, err)
	}
}

// The files of many machines lie in folders as those who collected them like it.
func TestFilesOfMachinesAreFound(t *testing.T) {
	dir := t.TempDir()
	text := []byte(resultstest.Encoded(t, resultstest.Lines()[:2]...))
	var zipped, packed bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	gz.Write(text)
	gz.Close()
	zst, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	zst.Write(text)
	zst.Close()
	for name, content := range map[string][]byte{
		"a.jsonl": text, "b/c.jsonl.gz": zipped.Bytes(), "b/d/e.jsonl.zst": packed.Bytes(),
		"b/notes.txt": []byte("nothing"),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "*"), filepath.Join(dir, "b", "d")} {
		set, err := results.Read(path)
		if err != nil || set.Len() != 2 {
			t.Errorf("%s: got %v, %v; want the two lines once", path, set, err)
		}
	}
	if _, err := results.Read(filepath.Join(dir, "*.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pattern that nothing fits: %v", err)
	}
}

func TestLineOfAnyLength(t *testing.T) {
	long := results.Message{Run: "r", Dir: "reply", Size: 1 << 20, Body: strings.Repeat("x", 1<<20)}
	text := resultstest.Encoded(t, long, resultstest.Environment())
	set, err := results.ReadFrom("f", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Messages) != 1 || len(set.Messages[0].Body) != 1<<20 || len(set.Environments) != 1 {
		t.Errorf("got %d messages, %d environments", len(set.Messages), len(set.Environments))
	}
}

func FuzzRead(f *testing.F) {
	for _, l := range resultstest.Lines() {
		text, err := results.Encode(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("{\"kind\":\"measurement\",\"cell\":null}\nx"))
	f.Fuzz(func(t *testing.T, file []byte) {
		set, err := results.ReadFrom("f", bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, r := range set.Records { // what is read can be written
			if _, err := results.Encode(r); err != nil && r.Run != "" {
				t.Errorf("a record that was read cannot be written: %v", err)
			}
		}
	})
}

func TestRunsAreUniqueAndSortByTime(t *testing.T) {
	seen := make(map[string]bool)
	last := ""
	for range 1000 {
		run, err := results.NewRun()
		if err != nil {
			t.Fatal(err)
		}
		if seen[run] || run <= last {
			t.Fatalf("run %q after %q", run, last)
		}
		seen[run], last = true, run
	}
}

// A file is replaced whole, and what cannot be written leaves nothing beside it.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	for _, content := range []string{"first", "second, which is longer"} {
		if err := results.ReplaceFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := results.ReplaceFile(dir, nil, 0o666); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

// In a folder that others can write to, a link of theirs leads to a file of the user's.
func TestNoFileIsWrittenThroughALinkOutOfItsFolder(t *testing.T) {
	theirs, mine := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(theirs, results.FileName)
	if err := os.Symlink(mine, path); err != nil {
		t.Skip("needs links")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Skip("a link looks like the file behind it here, as under Wine")
	}
	if w, err := results.Append(path); err == nil {
		t.Errorf("the link was followed: %v", w.Close())
	}
	if err := results.ReplaceFile(path, []byte("a page"), 0o666); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(mine); string(got) != "precious" {
		t.Errorf("the file behind the link holds %q, %v", got, err)
	}
}

func TestACompressedFileIsReadAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.jsonl.gz")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"kind":"finding","run":"r","id":"rule/slot","verdict":"noted"}` + "\n"))
	z.Close()
	for name, content := range map[string][]byte{"whole": packed.Bytes(), "none": []byte("text")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := results.Read(path)
		if name == "whole" && (err != nil || len(set.Findings) != 1) {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
		if name == "none" && (err == nil || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
}

func TestDanglingLinkIsNoFile(t *testing.T) {
	link := filepath.Join(t.TempDir(), "d.jsonl")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{link, filepath.Join(filepath.Dir(link), "*.jsonl")} {
		if files, err := results.Find(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %q, %v", path, files, err)
		}
	}
}
