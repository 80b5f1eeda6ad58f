package plots

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWriteLeavesWholeFilesAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	files, err := Write(dir, Charts(testSet()))
	if err != nil {
		t.Fatal(err)
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

func TestWriteIntoAFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Write(path, Charts(testSet()))
	if err == nil || !strings.Contains(err.Error(), "make folder for plots") {
		t.Errorf("got %v", err)
	}
}

func TestGalleryHoldsWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	files, err := Write(dir, Charts(testSet()), "goodput", "overhead")
	if want := []string{filepath.Join(dir, "goodput.svg"), filepath.Join(dir, "overhead.svg")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %q, %v, want %q", files, err, want)
	}
	_, err = Write(dir, Charts(testSet()), "goodputt")
	if err == nil || !strings.Contains(err.Error(), "goodputt") || !strings.Contains(err.Error(), "roundtrip") {
		t.Errorf("an unknown name gives %v", err)
	}
}
