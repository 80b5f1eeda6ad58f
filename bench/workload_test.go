package bench

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

func init() {
	RegisterWorkload(Workload{Name: "greet", Writer: greet, Reader: listen})
	RegisterWorkload(Workload{
		Name:   "leave",
		Writer: func(*WorkloadContext) (any, error) { return nil, errors.New("not in the mood") },
		Reader: listen,
	})
}

// greet writes its parameter to the pipe.
func greet(s *WorkloadContext) (any, error) {
	var words string
	if err := s.Params(&words); err != nil {
		return nil, err
	}
	count := s.Count()
	if err := s.Barrier(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(s.Pipe, words); err != nil {
		return nil, err
	}
	return count(), nil
}

// listen returns what it reads until the writing end is closed.
func listen(s *WorkloadContext) (any, error) {
	if err := s.Barrier(); err != nil {
		return nil, err
	}
	heard, err := io.ReadAll(s.Pipe)
	return string(heard), err
}

func TestAWorkloadsEndsMeetAndReturnWhatTheyFound(t *testing.T) {
	var wrote results.Counters
	var heard string
	p := Plan{Duration: time.Millisecond, Seed: 1}
	err := p.RunWorkload(t.Context(), "greet", cell(), "good morning", &wrote, &heard)
	if err != nil {
		t.Fatal(err)
	}
	if heard != "good morning" || wrote.Bytes != int64(len(heard)) || wrote.Calls != 1 {
		t.Errorf("heard %q, of %d bytes in %d calls", heard, wrote.Bytes, wrote.Calls)
	}
}

func TestAWorkloadThatCannotBeIsSaidToBeSo(t *testing.T) {
	for _, row := range []struct {
		name, workload string
		change         func(*results.Cell)
		params         any
		want           string
	}{
		{
			"a workload that nobody registered", "sing", func(*results.Cell) {}, "",
			`the workload "sing" is unknown`,
		},
		{
			"an end that fails, not the one that waits for it", "leave", func(*results.Cell) {}, "",
			"not in the mood",
		},
		{
			"parameters of another shape", "greet", func(*results.Cell) {}, 7,
			"read the parameters of greet",
		},
		{
			"a cell that cannot be", "greet", func(c *results.Cell) { c.Framing = "smoke" }, "",
			"smoke",
		},
		{
			"parameters that have no JSON", "greet", func(*results.Cell) {}, func() {},
			"write the parameters of greet",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var wrote results.Counters
			var heard string
			err := Plan{Duration: time.Millisecond}.RunWorkload(
				t.Context(), row.workload, cell(row.change), row.params, &wrote, &heard,
			)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}
