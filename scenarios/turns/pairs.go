package turns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Names of the files with the records of the two builds.
const (
	OldFile = "old.jsonl"
	NewFile = "new.jsonl"
)

// Builds are two builds of pipebench, compared in pairs of runs. While one run of a pair measures,
// the other waits.
type Builds struct {
	Flags []string // for the run command of both builds
	Seed  int64    // of the first pair; the same for both builds

	Before, After []*results.Set // the records of the old and of the new build, pair by pair

	old, new         Side
	oldFile, newFile *os.File
	scratch          string // for the folders of single runs
}

// OpenBuilds prepares the comparison of two builds, which are named as Find takes them. In the
// folder dir, it creates a new file for the records of each build. The caller calls Close.
func OpenBuilds(old, new, dir string) (*Builds, error) {
	b := &Builds{old: Side{Name: old}, new: Side{Name: new}}
	var err error
	b.old.Path, err = Find(old)
	if err != nil {
		return nil, err
	}
	b.new.Path, err = Find(new)
	if err != nil {
		return nil, err
	}
	b.oldFile, err = createSide(dir, OldFile)
	if err != nil {
		return nil, err
	}
	b.newFile, err = createSide(dir, NewFile)
	if err != nil {
		b.oldFile.Close()
		os.Remove(b.oldFile.Name()) // nothing is in it
		return nil, err
	}
	b.scratch, err = os.MkdirTemp("", "pipebench-pairs-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for single runs: %w", err), b.Close())
	}
	return b, nil
}

// createSide creates the file for the records of one build. The file must not exist yet.
func createSide(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the records of pairs: %w; name another folder", err)
	}
	return f, nil
}

// Close closes both files of records, and removes what single runs left.
func (b *Builds) Close() error {
	if b.scratch != "" {
		os.RemoveAll(b.scratch) // on Windows, a file may stay that a virus scanner has open
	}
	return errors.Join(b.oldFile.Close(), b.newFile.Close())
}

// Pair runs both builds in turns, and keeps their records if both succeeded.
func (b *Builds) Pair(ctx context.Context, oldFirst bool) error {
	folder := filepath.Join(b.scratch, strconv.Itoa(len(b.Before)+1))
	old, new := b.old, b.new
	old.Dir = folder + "-old"
	new.Dir = folder + "-new"
	sides := []Side{old, new}
	if !oldFirst {
		slices.Reverse(sides)
	}
	flags := []string{"--seed", strconv.FormatInt(b.Seed+int64(len(b.Before)), 10)}
	flags = append(flags, b.Flags...)
	sets, err := Together(ctx, flags, sides...)
	if err != nil {
		return err
	}
	if !oldFirst {
		slices.Reverse(sets)
	}
	err = errors.Join(keepRun(b.oldFile, old.Dir), keepRun(b.newFile, new.Dir))
	if err != nil {
		return err
	}
	b.Before = append(b.Before, sets[0])
	b.After = append(b.After, sets[1])
	return nil
}

// Compare judges the pairs.
func (b *Builds) Compare(o stat.CompareOptions) (*stat.Comparison, error) {
	c, err := stat.ComparePairs(b.Before, b.After, o)
	if err != nil {
		return nil, err
	}
	c.Old = b.old.Name
	c.New = b.new.Name
	return c, nil
}

// keepRun moves the records in the folder of a run to the file of its build.
func keepRun(into *os.File, dir string) error {
	// Not decoded: records of another version may have members unknown here.
	text, err := os.ReadFile(filepath.Join(dir, results.FileName))
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	if _, err := into.Write(text); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	os.RemoveAll(dir)
	return nil
}
