package results

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// FileName is the name of the results file in the folder of a run.
const FileName = "results.jsonl"

// Find lists the results files that the paths stand for:
//
//   - "-" is standard input
//   - a folder is its [FileName] or, if it has none, all .jsonl, .jsonl.gz and .jsonl.zst files
//     below it
//   - a path that does not exist is a pattern for [filepath.Match]
//
// A path that stands for no file is an error.
func Find(paths ...string) ([]string, error) {
	var found []string
	for _, path := range paths {
		for _, match := range matches(path) {
			files, err := filesOf(match)
			if err != nil {
				return nil, fmt.Errorf("read results: %w", err)
			}
			found = append(found, files...)
		}
	}
	return found, nil
}

// matches lists the paths that match a pattern. An existing path, or a pattern that matches
// nothing, stands for itself.
func matches(pattern string) []string {
	if _, err := os.Stat(pattern); err != nil {
		paths, _ := filepath.Glob(pattern)
		if len(paths) > 0 {
			return paths
		}
	}
	return []string{pattern}
}

// filesOf lists the results files that a file or a folder stands for.
func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	own := filepath.Join(path, FileName)
	if _, err := os.Stat(own); err == nil {
		return []string{own}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && isResultsName(name) {
			files = append(files, name)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no %s, and no other file of results: %w",
			path, FileName, fs.ErrNotExist)
	}
	return files, err
}

func isResultsName(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".jsonl")
}

// Open opens a results file, the results file in a folder, or standard input for "-". It
// decompresses .gz and .zst files. The returned name is for messages to people.
func Open(path string) (name string, f io.ReadCloser, err error) {
	if path == "-" {
		return "standard input", io.NopCloser(os.Stdin), nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("read results: %w", err)
	}
	text, err := decompressed(path, file)
	if err != nil {
		return "", nil, fmt.Errorf("read results: %s: %w", path, errors.Join(err, file.Close()))
	}
	return path, text, nil
}

// decompressed returns a reader that decompresses .gz and .zst files. Closing the reader closes the
// file.
func decompressed(path string, file *os.File) (io.ReadCloser, error) {
	type reader struct {
		io.Reader
		io.Closer
	}
	switch filepath.Ext(path) {
	case ".gz":
		text, err := gzip.NewReader(file)
		return reader{text, file}, err
	case ".zst":
		text, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		return reader{text, file}, err
	}
	return file, nil
}
