package plots

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestWriteLeavesWholeFilesAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	files, missing, err := Write(dir, testSet())
	if err != nil || len(missing) > 0 {
		t.Fatalf("%v, missing %v", err, missing)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, filepath.Join(dir, e.Name()))
		if info, err := e.Info(); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %d bytes", e.Name(), err, info.Size())
		}
	}
	slices.Sort(files)
	if !slices.Equal(there, files) {
		t.Errorf("in the folder %q, said to be written %q", there, files)
	}
	for _, name := range []string{
		"goodput.svg", "goodput.png", "ratio.svg", "roundtrip.svg", "overhead.svg",
	} {
		if !slices.Contains(files, filepath.Join(dir, name)) {
			t.Errorf("no %s among %q", name, files)
		}
	}
}

func TestWriteSaysWhatItLeavesOut(t *testing.T) {
	unsupported := results.Record{
		Cell: testCell("raw", 4096, "far", "stream"), Unsupported: "one cache only",
	}
	files, missing, err := Write(t.TempDir(), &results.Set{Records: []results.Record{unsupported}})
	if err != nil || len(files) > 0 {
		t.Errorf("files %q, %v", files, err)
	}
	if len(missing) != 4 {
		t.Errorf("missing %v, want each of the usual four", missing)
	}
}

func TestWriteIntoAFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := Write(path, testSet())
	if err == nil || !strings.Contains(err.Error(), "make folder for plots") {
		t.Errorf("got %v", err)
	}
}

func TestGalleryHoldsWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	files, _, err := Write(dir, testSet(), "goodput", "overhead")
	if want := []string{filepath.Join(dir, "goodput.svg"), filepath.Join(dir, "overhead.svg")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %q, %v, want %q", files, err, want)
	}
	_, _, err = Write(dir, testSet(), "goodputt")
	if err == nil || !strings.Contains(err.Error(), "goodputt") || !strings.Contains(err.Error(), "roundtrip") {
		t.Errorf("an unknown name gives %v", err)
	}
}
