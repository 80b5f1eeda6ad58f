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

// Names of the files that builds leave in their folder, one for each side.
const (
	OldFile = "old.jsonl"
	NewFile = "new.jsonl"
)

// Builds are two builds of pipebench. In each pair both measure the same cells at the same time,
// and take turns after each round.
type Builds struct {
	Flags []string // for the run command of both
	Seed  int64    // of the first pair; it is the same for both sides

	Before, After []*results.Set // the records of the pairs

	old, new         Build
	oldFile, newFile *os.File
	scratch          string // for the folders of single runs
}

// OpenBuilds makes a contest of two builds. It creates the folder if it is not there, and in it a
// file for the records of each build. The caller calls Close.
func OpenBuilds(old, new Build, dir string) (*Builds, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for pairs: %w", err)
	}
	b := &Builds{old: old, new: new}
	var err error
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

// createSide creates the file of a side, which must not be there yet.
func createSide(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the records of pairs: %w; name another folder", err)
	}
	return f, nil
}

// Close closes the files.
func (b *Builds) Close() error {
	if b.scratch != "" {
		os.RemoveAll(b.scratch) // a file that Windows keeps open for a scanner may stay
	}
	return errors.Join(b.oldFile.Close(), b.newFile.Close())
}

// Pair runs both builds in turns, and keeps their records if both succeeded.
func (b *Builds) Pair(ctx context.Context, oldFirst bool) error {
	folder := filepath.Join(b.scratch, strconv.Itoa(len(b.Before)+1))
	old := Side{Build: b.old, Dir: folder + "-old"}
	new := Side{Build: b.new, Dir: folder + "-new"}
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

// keepRun appends the records of a run's folder to a side's file, and removes the folder. It copies
// byte for byte: lines of another version may hold what this one does not know.
func keepRun(into *os.File, dir string) error {
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
