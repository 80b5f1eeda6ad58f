package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pipebench/pipebench/results"
)

var machineID = regexp.MustCompile(`^[0-9A-Za-z]+$`)

// File is where the noise of a machine is kept for this user: in the user's cache
// folder, by the machine's id. It need not be there.
func File(machine string) (string, error) {
	if !machineID.MatchString(machine) {
		return "", fmt.Errorf("find what is known of a machine: %q is no machine's id", machine)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find what is known of machine %s: %w", machine, err)
	}
	return filepath.Join(cache, "pipebench", machine+".jsonl"), nil
}

// Keep adds noise records of one machine to its file, for comparisons to come.
func Keep(env results.Environment, records []results.Noise) (path string, err error) {
	if path, err = File(env.Machine); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("keep the noise of machine %s: %w", env.Machine, err)
	}
	w, err := results.Append(path)
	if err != nil {
		return "", err
	}
	errs := []error{w.Write(env)}
	for _, n := range records {
		errs = append(errs, w.Write(n))
	}
	return path, errors.Join(append(errs, w.Close())...)
}
