//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A FIFO that nobody writes does not keep a command that reads results from ending at a signal.
func TestReadingAFIFOEndsAtASignal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.txt")
	line := "BenchmarkX 1 100 ns/op\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", "FIFO"},
		{"compare", "FIFO", file},
		{"compare", file, "FIFO"},
		{"probe", "FIFO"},
		{"probe", "--against", "FIFO"},
		{"probe", "--claims", "FIFO"},
		{"check", "--client", "--config", "FIFO", "--", "cat", "{config}"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skip(err)
			}
			args := slices.Clone(args)
			for i, arg := range args {
				if arg == "FIFO" {
					args[i] = fifo
				}
			}
			over := make(chan struct{})
			defer close(over)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when somebody reads
				if err != nil {
					t.Error(err)
				}
				cancel()
				<-over
				writer.Close()
			}()
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
