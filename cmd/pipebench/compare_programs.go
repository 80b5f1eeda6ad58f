package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// comparePrograms compares the time, calls and bytes of two programs, or with --drive the time per
// message of two servers.
func (f *compareFlags) comparePrograms(
	cmd *cobra.Command, programs *turns.Programs, old, new []string,
) error {
	if _, err := os.Stat(f.stdin); f.stdin != "" && err != nil {
		return usageError(fmt.Errorf("--stdin %s: no such file", f.stdin))
	}
	var noInstructions error // why instructions cannot be counted; nil if they can
	if f.drive {
		refused := []string{"stdin", "counts", "instructions"}
		err := refuseFlags(cmd, refused,
			"is not for servers: leave it out, --drive compares the time per message")
		if err != nil {
			return err
		}
		programs.Old = driven(programs.OldName, old)
		programs.New = driven(programs.NewName, new)
	} else {
		programs.Input = f.stdin
		folder, err := os.MkdirTemp("", "pipebench-compare-")
		if err != nil {
			return fmt.Errorf("a folder for what the commands print: %w", err)
		}
		defer os.RemoveAll(folder)
		programs.Old = turns.NewFilter(old, f.stdin, folder)
		programs.New = turns.NewFilter(new, f.stdin, folder)
		if f.instructions {
			noInstructions = programs.CountInstructions(old, new, f.stdin, folder)
		}
	}
	if err := f.checkMetrics(&stat.Comparison{Names: programs.Metrics()}); err != nil {
		return err
	}
	if !f.drive && f.stdin == "" {
		f.say(cmd, "no --stdin: the standard input of both is empty")
	}
	return f.contend(cmd, func(ctx context.Context, p turns.Plan) (*stat.Comparison, error) {
		c, err := programs.Run(ctx, p)
		if c != nil && c.Pairs > 0 && !f.drive {
			f.pace.better = ", or try --counts, which no load changes"
		}
		if c != nil && f.drive {
			c.Notes = append(c.Notes, "time per message of "+results.FormatSize(drivenSize)+
				"; pipebench drive tries other sizes")
		}
		if c != nil && noInstructions != nil {
			c.Notes = append(c.Notes, "instructions are unsupported: "+noInstructions.Error())
		}
		return c, err
	})
}

// driven returns a function that starts a server and measures its time per message. The name is the
// command as it was typed.
func driven(name string, argv []string) turns.Starter {
	return func(ctx context.Context) (turns.Start, error) { return driveOnce(ctx, name, argv) }
}

const drivenSize = 4 << 10 // bytes of a message

func driveOnce(ctx context.Context, name string, argv []string) (turns.Start, error) {
	d, err := drive.Open(ctx, drive.Options{Command: argv, Budget: 200 * time.Millisecond})
	if err != nil && ctx.Err() != nil {
		return turns.Start{}, fmt.Errorf("%s: %w; it answered no request: if it is no server, "+
			"leave out --drive", name, context.Cause(ctx))
	}
	if err != nil {
		return turns.Start{}, err
	}
	defer d.Close()
	var start turns.Start
	_, err = d.Sweep(ctx, []int{drivenSize}, func(line results.Line) error {
		target, ok := line.(results.Target)
		if !ok || target.Size != drivenSize {
			return nil
		}
		if !target.Served() {
			err := fmt.Errorf("%s: while messages of %s were sent: %s",
				name, results.FormatSize(drivenSize), view.VerdictText(target.Verdict))
			if f := target.Evidence.Failure; f != nil && len(f.StderrTail) > 0 {
				err = fmt.Errorf("%w; its last words: %s", err, strings.Join(f.StderrTail, " | "))
			}
			return err
		}
		start.Wall = stat.MedianTime(target.Samples)
		start.CPU = stat.ServerCPU(target.Samples)
		return nil
	})
	return start, err
}
