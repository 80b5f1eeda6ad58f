package bench

import (
	"os/exec"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// BenchmarkStart is the CPU time that a start takes: of the command, and of a worker of it that is
// given no endpoints and leaves. Beside it is a program that does nothing, which is the floor.
//
//	go test ./bench -run '^$' -bench Start -benchtime 50x -new pipebench
func BenchmarkStart(b *testing.B) {
	if *newProgram == "" {
		b.Skip("no -new program was given")
	}
	for _, program := range []string{*oldProgram, *newProgram} {
		if program == "" {
			continue
		}
		b.Run("program="+program+"/of=command", func(b *testing.B) {
			var cpu time.Duration
			for range b.N {
				c := exec.Command(program, "--version")
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
				cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
		b.Run("program="+program+"/of=worker", func(b *testing.B) {
			var cpu time.Duration
			for range b.N {
				p, err := proc.Self(cellWork, endpointConfig{})
				if err != nil {
					b.Fatal(err)
				}
				p.Cmd.Path = program
				if err := p.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := p.Wait(); err != nil {
					b.Fatal(err)
				}
				cpu += p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
				p.Close()
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
