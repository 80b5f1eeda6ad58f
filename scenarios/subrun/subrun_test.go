package subrun

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := "old-build" + filepath.Ext(self)
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for _, asked := range []string{self, name, "." + string(filepath.Separator) + name} {
		b, err := Find(asked)
		if err != nil || !filepath.IsAbs(b.Path) || b.Name != asked {
			t.Errorf("%s: got %+v, %v", asked, b, err)
		}
	}
	if _, err := Find("no-such-build"); !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a binary that is not there: %v", err)
	}
}

func TestOneFileIsTheSameBinary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, other := Binary{Path: self}, Binary{Path: filepath.Join(t.TempDir(), "other")}
	if !here.Same(here) || here.Same(other) || other.Same(other) {
		t.Error("a file is not the same as itself, or the same as one that is not there")
	}
}
