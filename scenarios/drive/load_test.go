package drive_test

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

func loaded(t *testing.T, job string, l drive.Load) results.Target {
	t.Helper()
	o := server(job)
	if strings.Contains(job, "deaf") {
		o.Patience = 5e8
	}
	d := begin(t, o)
	var kept results.Target
	if err := d.Load(t.Context(), l, func(line results.Line) error {
		kept = line.(results.Target)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestLoadMatchesAnswersByIDInAnyOrder(t *testing.T) {
	leakCheck(t)
	for _, row := range []struct {
		job       string
		reordered bool
	}{{"cat", false}, {"mcp", false}, {"mcp reorder", true}} {
		t.Run(row.job, func(t *testing.T) {
			r := loaded(t, row.job, drive.Load{Size: 500, Inflight: 16,
				Duration: 120 * time.Millisecond})
			if r.Verdict != string(target.OK) || len(r.Samples) != 6 {
				t.Fatalf("%s, %d samples: %v", r.Verdict, len(r.Samples), r.Evidence)
			}
			for _, s := range r.Samples {
				if l := s.Latency["roundtrip"]; s.Messages < 1 || l.Count != s.Messages ||
					s.WireBytes != s.Messages*(r.Size+1) {
					t.Errorf("%d messages, %d latencies, %d bytes", s.Messages, l.Count,
						s.WireBytes)
				}
			}
			if out := r.Evidence.Load.OutOfOrder; row.reordered && out == 0 {
				t.Error("answers in reverse order were not noticed")
			}
		})
	}
}

func TestLoadCountsAnAnswerOnce(t *testing.T) {
	leakCheck(t)
	r := loaded(t, "twice", drive.Load{Size: 500, Inflight: 16, Duration: 120 * time.Millisecond})
	// on a busy machine, the second answer to the last request before the load is named first
	twice := regexp.MustCompile(`answers came that nobody waited for \(id (0, )?1000000000, `)
	if r.Verdict != string(target.OK) || !twice.MatchString(strings.Join(r.Warnings, " ")) {
		t.Fatalf("%s: %v, warnings %q", r.Verdict, r.Evidence, r.Warnings)
	}
	for _, s := range r.Samples {
		if s.WireBytes != s.Messages*(r.Size+1) {
			t.Errorf("%d messages counted, %d bytes sent", s.Messages, s.WireBytes)
		}
	}
}

func TestLoadTimesAnAnswerThatOthersOvertake(t *testing.T) {
	leakCheck(t)
	// six samples: in one of 300 ms a fifth request is sent, however busy the machine is
	r := loaded(t, "late 50ms", drive.Load{Size: 500, Inflight: 4,
		Duration: 1800 * time.Millisecond})
	if r.Verdict != string(target.OK) || len(r.Samples) == 0 {
		t.Fatalf("%s: %v", r.Verdict, r.Evidence)
	}
	overtaken := false
	for _, s := range r.Samples {
		if l := s.Latency["roundtrip"]; l.Count != s.Messages ||
			l.MaxNS < int64(50*time.Millisecond) {
			t.Errorf("%d latencies of %d messages, the longest %s", l.Count, s.Messages,
				time.Duration(l.MaxNS))
		}
		overtaken = overtaken || s.Messages > 4
	}
	if !overtaken || r.Evidence.Load.OutOfOrder == 0 {
		t.Errorf("no more messages than are in flight at once, %d out of order: nothing overtook the late answer", r.Evidence.Load.OutOfOrder)
	}
}

func TestLoadAtARateCountsFromWhenRequestsAreDue(t *testing.T) {
	leakCheck(t)
	r := loaded(t, "cat", drive.Load{Size: 200, Rate: 2000, Duration: 300 * time.Millisecond})
	if r.Verdict != string(target.OK) {
		t.Fatalf("%s: %v", r.Verdict, r.Evidence)
	}
	for _, s := range r.Samples {
		if s.Load == nil || s.Load.Sent != s.Messages || s.Load.Due < s.Load.Sent ||
			s.Load.Due != s.Load.Sent+s.Load.Unsent || s.Latency["due"].Count != s.Messages ||
			s.Latency["lateness"].Count != s.Messages {
			t.Errorf("%d messages: %+v", s.Messages, s.Load)
		}
	}
}

func TestLoadNamesWhatGoesWrong(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job     string
		verdict target.Verdict
	}{
		{"mcp corrupt@500", target.Corrupt},
		{"mcp exit0@600", "exit 0"},
		{"mcp deaf@600", target.Deaf},
		{"slow 20ms", target.Overloaded},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			l := drive.Load{Size: 1000, Inflight: 4, Duration: 60 * time.Millisecond}
			if row.verdict == target.Overloaded {
				l.Rate = 10_000
			}
			r := loaded(t, row.job, l)
			if r.Verdict != string(row.verdict) {
				t.Errorf("%s: %v", r.Verdict, r.Evidence)
			}
			served := results.Target{Size: 100, Verdict: string(target.OK)}
			set := &results.Set{Targets: []results.Target{served, r}}
			if drive.Failed(set) == nil {
				t.Error("it does not count as failed, since a smaller size was served")
			}
		})
	}
}

func TestLoadRefusesWhatCannotBe(t *testing.T) {
	d := open(t, server("cat"))
	for _, l := range []drive.Load{{Inflight: -1}, {Inflight: 1 << 20}, {Rate: -5}} {
		if err := d.Load(t.Context(), l, discard); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
}

func TestARateThatNoClockCanKeepIsRefused(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -5, 1e300, 1e-300} {
		if err := (drive.Load{Rate: rate}).Validate(); err == nil {
			t.Errorf("%v requests a second are accepted", rate)
		}
	}
	for _, rate := range []float64{0, 0.1, 1e9} {
		if err := (drive.Load{Rate: rate}).Validate(); err != nil {
			t.Errorf("%v requests a second: %v", rate, err)
		}
	}
}

// A load of other requests would pass for one of the tool that the user named.
func TestALoadCallsTheNamedToolOrNone(t *testing.T) {
	o := server("rows")
	o.Tool = "report"
	err := begin(t, o).Load(t.Context(), drive.Load{}, func(results.Line) error { return nil })
	const says = "a load cannot call tool report, which makes as much as a number says: " +
		"see check --server --tool report --only pipelined"
	if _, ok := errors.AsType[drive.OptionError](err); !ok || err.Error() != says {
		t.Errorf("%T: %[1]v", err)
	}
}

// Answers that mix are told from those that do not come, without a wait for them.
func TestAnswersOfALoadThatMix(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ job, why string }{
		{"mixes", "a message came with the beginning of another in it"},
		{"glues", "more stands on the line behind the answer: {\"jsonrpc\":"},
		{"glues notes", "a message came with the beginning of another in it"},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.Protocol = "jsonrpc"
			o.Patience = 20 * time.Second
			var set results.Set
			load := drive.Load{Size: 4 << 10, Inflight: 8, Duration: 120 * time.Millisecond}
			if err := begin(t, o).Load(t.Context(), load, keepIn(&set)); err != nil {
				t.Fatal(err)
			}
			r := set.Targets[0]
			if before := r.Evidence.Failure.ServedBefore; before != 2 { // in the handshake
				t.Errorf("%d requests were answered before", before)
			}
			hasWhy := strings.HasPrefix(r.Evidence.Why, row.why)
			hasAdvice := r.Evidence.Advice == target.Mixed.Advice()
			if r.Verdict != string(target.Mixed) || !hasWhy || !hasAdvice {
				t.Errorf("%s: %s; %s", r.Verdict, r.Evidence.Why, r.Evidence.Advice)
			}
		})
	}
}
