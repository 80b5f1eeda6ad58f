//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A FIFO that nobody writes does not keep a command that reads results from ending at a signal.
func TestReadingAFIFOEndsAtASignal(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	line := `{"kind":"environment","schema":2,"run":"r","machine":"m","os":"linux","cpus":2}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", fifo},
		{"compare", fifo, file},
		{"compare", file, fifo},
		{"compare", "--pairs", fifo, fifo},
		{"compare", "--noise", fifo, file, file},
		{"probe", fifo},
		{"probe", "--against", fifo},
		{"probe", "--claims", fifo},
		{"check", "--client", "--config", fifo, "--", "cat", "{config}"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var stdout, stderr bytes.Buffer
			code := make(chan int, 1)
			go func() { code <- run(ctx, args, strings.NewReader(""), &stdout, &stderr) }()
			select {
			case got := <-code:
				if got != exitInterrupted {
					t.Errorf("exit %d, want %d: %s", got, exitInterrupted, &stderr)
				}
			case <-time.After(20 * time.Second):
				t.Error("it still reads")
			}
		})
	}
}
