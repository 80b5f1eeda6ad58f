package drive_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// BenchmarkGenerator is how fast the driver itself is: cat does as little for a message as any
// server can.
func BenchmarkGenerator(b *testing.B) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		b.Skip("cat is not installed")
	}
	for _, row := range []struct{ size, inflight, capacity int }{{64, 256, 0}, {1 << 20, 8, 0},
		{1 << 20, 8, 1 << 20}} {
		b.Run(fmt.Sprintf("size=%d/inflight=%d/capacity=%d", row.size, row.inflight,
			row.capacity), func(b *testing.B) {
			d, err := drive.Open(b.Context(), drive.Options{Command: []string{cat},
				Protocol: "lines", Capacity: row.capacity, Run: "bench"})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			var messages, elapsed int64
			for b.Loop() {
				err := d.Load(b.Context(), drive.Load{Size: row.size, Inflight: row.inflight,
					Duration: 120 * time.Millisecond}, func(l results.Line) error {
					for _, s := range l.(results.Target).Samples {
						messages, elapsed = messages+s.Messages, elapsed+s.ElapsedNS
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(elapsed)/float64(messages), "ns/op")
			// each way
			b.ReportMetric(float64(messages)*float64(row.size)/float64(elapsed)*1e3, "MB/s")
		})
	}
}
