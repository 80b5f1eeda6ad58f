package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDiagnose(t *testing.T) {
	client := func(fd int, waits bool) []Holder { return []Holder{{PID: 1, Command: "client", FD: fd, Waits: waits}} }
	server := func(fd int, waits bool) []Holder { return []Holder{{PID: 2, Command: "server", FD: fd, Waits: waits}} }
	// made is an end of a pipe that a Go program made, which watches it and may never use it.
	made := func(fd int) []Holder {
		return []Holder{{PID: 1, Command: "parent", FD: fd, Waits: true, edge: true}}
	}
	reads := func(pid int) []Holder {
		return []Holder{{PID: pid, Command: "child", Waits: true, inCall: true}}
	}
	for _, row := range []struct {
		name     string
		channels []Channel
		want     Problem // "" for none
		says     string
	}{
		{"nothing", nil, "", ""},
		{"a server at rest", []Channel{
			{ID: "a", Writers: client(4, false), Readers: server(0, true)},
			{ID: "b", Writers: server(1, false), Readers: client(5, false)},
		}, "", ""},
		{"both write", []Channel{
			{ID: "a", Writers: client(4, true), Readers: server(0, false), Full: true, Queued: 8, Capacity: 8},
			{ID: "b", Writers: server(1, true), Readers: client(5, false), Full: true, Queued: 8, Capacity: 8},
		}, MutualWrite, "both sides are writing and neither reads: 1 (client)"},
		{"both full, but one is being read", []Channel{
			{ID: "a", Writers: client(4, true), Readers: server(0, true), Full: true, Queued: 8},
			{ID: "b", Writers: server(1, true), Readers: client(5, true), Full: true, Queued: 8},
		}, "", ""},
		{"both read", []Channel{
			{ID: "a", Writers: client(4, false), Readers: server(0, true)},
			{ID: "b", Writers: server(1, false), Readers: client(5, true)},
		}, MutualRead, "both wait for each other, and nothing is in the pipes: " +
			"1 (client) waits for 2 (server), which has read all that was sent; " +
			"if an answer is due"},
		{"stderr full", []Channel{
			{ID: "e", Writers: server(2, true), Readers: client(6, false), Full: true, Queued: 65536, Capacity: 65536},
		}, Undrained, "stderr is full and nobody reads it: 2 (server) is writing " +
			"(e, 65536 of 65536 bytes), and 1 (client) does not read it"},
		{"stdin full", []Channel{
			{ID: "i", Writers: client(4, true), Readers: server(0, false), Full: true},
		}, Undrained, "the stdin of 2 (server) is full and nobody reads it: 1 (client) is writing"},
		{"full, and the reader is out of sight", []Channel{
			{ID: "e", Writers: server(1, true), Full: true},
		}, Undrained, "stdout is full and nobody reads it"},
		{"full, and the writer has the reading end, too", []Channel{
			{ID: "q", Full: true, Writers: server(4, true),
				Readers: slices.Concat(client(3, false), server(3, false))},
		}, Undrained, "2 (server) is writing (q, 0 bytes), and 1 (client) does not read it"},
		{"full, and only its writer has the reading end", []Channel{
			{ID: "q", Full: true, Writers: server(4, true), Readers: server(3, false)},
		}, Undrained, "and no other process is seen to have the reading end"},
		{"full, and two have the reading end", []Channel{
			{ID: "q", Full: true, Writers: server(4, true), Readers: []Holder{
				{PID: 1, Command: "client", FD: 3}, {PID: 3, Command: "worker", FD: 3}}},
		}, Undrained, "and 1 (client) and 3 (worker) do not read it"},
		{"a request is not read", []Channel{
			{ID: "i", Writers: client(4, false), Readers: server(0, false),
				Queued: 64, Capacity: 65536},
			{ID: "o", Writers: server(1, false), Readers: client(5, true)},
		}, Unread, "2 (server) is not reading its stdin: 64 bytes wait there"},
		{"an answer is not read", []Channel{
			{ID: "i", Writers: client(4, false), Readers: server(0, true)},
			{ID: "o", Writers: server(1, false), Readers: client(5, false), Queued: 4079},
		}, Unread, "the stdout of 2 (server) holds unread bytes (o, 4079 bytes), and " +
			"1 (client) does not read"},
		{"an answer is not read, and the server stays", []Channel{
			{ID: "i", Readers: server(0, false), NoWriter: true},
			{ID: "o", Writers: server(1, false), Readers: client(5, false), Queued: 4079},
		}, PeerLeft, "the input of 2 (server) has ended (i, 0 bytes), but the process stays"},
		{"reader gone", []Channel{
			{ID: "o", Writers: server(1, false), NoReader: true},
		}, PeerLeft, "nobody can read the stdout of 2 (server) any more"},
		{"writer gone", []Channel{
			{ID: "i", Readers: server(0, false), NoWriter: true},
		}, PeerLeft, "the input of 2 (server) has ended (i, 0 bytes), but the process stays"},
		{"writer gone, and bytes are left", []Channel{
			{ID: "i", Readers: server(0, false), NoWriter: true, Queued: 3},
		}, Unread, "2 (server) is not reading its stdin: 3 bytes wait there"},
		{"waits for itself", []Channel{
			{ID: "i", Writers: server(7, false),
				Readers: []Holder{{PID: 2, Command: "server", FD: 0, Waits: true, inCall: true}}},
		}, SelfHeld, "holds the writing end itself"},
		{"a parent reads nothing of a pipe that it made for two children", []Channel{
			{ID: "i", Writers: made(4), Readers: slices.Concat(made(3), reads(2), reads(3))},
		}, TwoReaders, "goes either to 2 (child) or to 3 (child)"},
		{"a parent left open what its child reads", []Channel{
			{ID: "i", Writers: server(1, false), Readers: slices.Concat(made(3), reads(3))},
		}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			found := (&Report{Channels: row.channels}).diagnose()
			if row.want == "" {
				if len(found) > 0 {
					t.Errorf("found %+v, want nothing", found)
				}
				return
			}
			if len(found) != 1 || found[0].Kind != row.want || !strings.Contains(found[0].Sentence, row.says) {
				t.Errorf("found %+v, want one %s that says %q", found, row.want, row.says)
			}
		})
	}
}

// A server that sleeps while it owes an answer waits for no pipe.
func TestAProcessThatPausesIsNamed(t *testing.T) {
	server := Holder{PID: 2, Command: "server", FD: 1}
	reads := Holder{PID: 1, Command: "client", FD: 5, Waits: true, inCall: true}
	for _, row := range []struct {
		client  Holder
		running bool
		want    string // "" if nothing is found
	}{
		{client: reads,
			want: "2 (server) neither reads nor writes: it sleeps in nanosleep, and 1 (client) " +
				"may wait for its stdout (o)"},
		{client: Holder{PID: 1, Command: "client", FD: 5, Waits: true, edge: true},
			want: "and 1 (client) may wait for its stdout (o)"},
		{client: Holder{PID: 1, Command: "client", FD: 5}},
		{client: reads, running: true},
	} {
		r := Report{
			Processes: []Proc{{PID: 2, Threads: []Thread{{In: "nanosleep"}}, running: row.running}},
			Channels: []Channel{
				{ID: "o", Writers: []Holder{server}, Readers: []Holder{row.client}},
			},
		}
		found := r.diagnose()
		if len(found) > 0 != (row.want != "") {
			t.Errorf("%+v: found %+v", row, found)
			continue
		}
		if row.want != "" && (found[0].Kind != Pauses || found[0].PID != server.PID ||
			!strings.Contains(found[0].Sentence, row.want)) {
			t.Errorf("%+v, want %q", found[0], row.want)
		}
	}
}

// A server that writes little between the looks, and sleeps in between, is not told to be silent.
func TestAProcessThatWritesALittleIsNotToldToBeSilent(t *testing.T) {
	report := func(written int64, taken time.Time) *Report {
		r := &Report{
			taken: taken,
			Processes: []Proc{{PID: 2, Threads: []Thread{{In: "nanosleep"}},
				Total: &Usage{WriteCalls: written / 136, WriteBytes: written}}},
			Channels: []Channel{{ID: "o",
				Writers: []Holder{{PID: 2, Command: "server", FD: 1}},
				Readers: []Holder{{PID: 1, Command: "client", FD: 5, Waits: true, inCall: true}}}},
		}
		r.Diagnoses = r.diagnose()
		return r
	}
	began := time.Now()
	r := report(816, began.Add(500*time.Millisecond))
	r.compare(report(136, began))
	const want = "2 (server) read 0 bytes and wrote 680 bytes in the last 500ms: " +
		"in between it sleeps in nanosleep, and 1 (client) may wait for its stdout (o)"
	if len(r.Diagnoses) != 1 || r.Diagnoses[0].Sentence != want {
		t.Errorf("found %+v, want %q", r.Diagnoses, want)
	}
}

// A program that waits for its child is named before the child, which may be no server.
func TestAProgramThatWaitsForAChildThatPausesIsNamed(t *testing.T) {
	r := Report{
		Processes: []Proc{
			{PID: 2, Threads: []Thread{{In: "wait", Child: 3}}},
			{PID: 3, Parent: 2, Threads: []Thread{{In: "nanosleep"}}},
		},
		Channels: []Channel{{
			ID: "o",
			Writers: []Holder{
				{PID: 2, Command: "server", FD: 1, waitsForChild: true},
				{PID: 3, Command: "sleep", FD: 1},
			},
			Readers: []Holder{{PID: 1, Command: "client", FD: 5, Waits: true, inCall: true}},
		}},
	}
	const want = "2 (server) waits for its child 3 (sleep), which neither reads nor writes: it " +
		"sleeps in nanosleep, and 1 (client) may wait for its stdout (o)"
	found := r.diagnose()
	if len(found) != 1 || found[0].PID != 3 || found[0].Sentence != want {
		t.Errorf("found %+v, want %q", found, want)
	}
}

// What a process does after the end of its input explains less than that it stays.
func TestAProcessThatStaysIsNotToldToPause(t *testing.T) {
	found := (&Report{
		Processes: []Proc{{PID: 2, Threads: []Thread{{In: "futex"}}}},
		Channels: []Channel{
			{ID: "i", Readers: []Holder{{PID: 2, Command: "server", FD: 0}}, NoWriter: true},
			{ID: "o", Writers: []Holder{{PID: 2, Command: "server", FD: 1}},
				Readers: []Holder{{PID: 1, Command: "client", FD: 5, Waits: true}}},
		},
	}).diagnose()
	const says = "but the process stays: it sleeps in futex"
	if len(found) != 1 || found[0].PID != 2 || !strings.HasSuffix(found[0].Sentence, says) {
		t.Errorf("found %+v, want one that ends %q", found, says)
	}
}

// A client that can neither reach a server nor hear of one is told so in one sentence.
func TestAClientWhoseServerHasEndedIsToldSo(t *testing.T) {
	client := func(fd int) []Holder { return []Holder{{PID: 1, Command: "client", FD: fd}} }
	out := Channel{ID: "o", Writers: client(4), NoReader: true}
	in := Channel{ID: "i", Readers: client(5), NoWriter: true}
	const ended = "the server of 1 (client) has probably ended: nobody can read its descriptor "
	for _, row := range []struct {
		channels []Channel
		want     string
	}{
		{[]Channel{in, out}, ended + "4 (o, 0 bytes) any more, or write to its descriptor 5 (i, "},
		{[]Channel{out, in}, ended + "4 (o, 0 bytes) any more, or write to its descriptor 5 (i, "},
		{[]Channel{out}, "nobody can read the descriptor 4 of 1 (client) any more"},
		{[]Channel{in}, "nobody can write to the descriptor 5 of 1 (client) any more"},
	} {
		found := (&Report{Channels: row.channels}).diagnose()
		if len(found) != 1 || found[0].Kind != PeerLeft || found[0].PID != 0 ||
			!strings.HasPrefix(found[0].Sentence, row.want) {
			t.Errorf("found %+v, want %q", found, row.want)
		}
	}
}

// In a deadlock of a client and a server, pipebench tap between them is not to blame.
func TestATapInADeadlockIsNotBlamed(t *testing.T) {
	tap := Holder{PID: 2, Command: "pipebench tap", Waits: true}
	server := Holder{PID: 3, Command: "server", Waits: true}
	idleTap := Holder{PID: 2, Command: "pipebench tap"}
	idleServer := Holder{PID: 3, Command: "server"}
	found := (&Report{Channels: []Channel{
		{ID: "a", Full: true, Writers: []Holder{tap}, Readers: []Holder{idleServer}},
		{ID: "b", Full: true, Writers: []Holder{server}, Readers: []Holder{idleTap}},
	}}).diagnose()
	if len(found) != 1 || !strings.Contains(found[0].Sentence, "tap only passes on") {
		t.Errorf("found %+v", found)
	}
	client := Holder{PID: 1, Command: "client", Waits: true}
	idleClient := Holder{PID: 1, Command: "client"}
	found = (&Report{Channels: []Channel{
		{ID: "a", Full: true, Writers: []Holder{tap}, Readers: []Holder{idleServer}},
		{ID: "b", Full: true, Writers: []Holder{server}, Readers: []Holder{idleTap}},
		{ID: "c", Full: true, Writers: []Holder{client}, Readers: []Holder{idleTap}},
		{ID: "d", Full: true, Writers: []Holder{tap}, Readers: []Holder{idleClient}},
	}}).diagnose()
	for _, d := range found {
		if d.Kind != MutualWrite || !strings.Contains(d.Sentence, "tap only passes on") {
			t.Errorf("on both sides of tap: found %+v", d)
		}
	}
	if len(found) != 2 {
		t.Errorf("on both sides of tap: found %+v", found)
	}
}

// A process between two full pipes, such as pipebench tap, is not the one to blame.
func TestTheProcessAtTheEndOfFullPipesIsBlamed(t *testing.T) {
	holder := func(pid int, name string, fd int, waits bool) []Holder {
		return []Holder{{PID: pid, Command: name, FD: fd, Waits: waits}}
	}
	found := (&Report{Channels: []Channel{
		{ID: "a", Full: true,
			Writers: holder(1, "editor", 4, true), Readers: holder(2, "tap", 0, false)},
		{ID: "b", Full: true,
			Writers: holder(2, "tap", 5, true), Readers: holder(3, "server", 0, false)},
		{ID: "c", Writers: holder(3, "server", 1, false), Readers: holder(2, "tap", 6, true)},
	}}).diagnose()
	if len(found) != 2 || !strings.Contains(found[0].Sentence, "3 (server) does not read it") {
		t.Fatalf("found %+v, want the server first", found)
	}
	const passedOn = "2 (tap) does not read it: it waits to write to 3 (server)"
	if !strings.Contains(found[1].Sentence, passedOn) {
		t.Errorf("found %q", found[1].Sentence)
	}
}

// A shell hands descriptors of its own on to all that it starts. What is stuck is said before them.
func TestWhatIsStuckIsSaidBeforeWhatIsInherited(t *testing.T) {
	shell := Holder{PID: 1, Command: "shell", FD: 251}
	r := &Report{
		Channels: []Channel{
			{ID: "a", Writers: []Holder{shell, {PID: 2, Command: "server", FD: 251}},
				Readers: []Holder{{PID: 3, Command: "logger", FD: 0, Waits: true, inCall: true}}},
			{ID: "b", Writers: []Holder{{PID: 2, Command: "server", FD: 1, Waits: true}},
				Readers: []Holder{{PID: 4, Command: "client", FD: 0}},
				Full:    true, Queued: 65536, Capacity: 65536},
			{ID: "c", Readers: []Holder{{PID: 3, Command: "logger", FD: 7}}, NoWriter: true},
		},
		all: map[int]Proc{1: {PID: 1}, 2: {PID: 2, Parent: 1}},
	}
	var kinds []Problem
	for _, d := range r.diagnose() {
		kinds = append(kinds, d.Kind)
	}
	if !slices.Equal(kinds, []Problem{Undrained, HeldOpen, PeerLeft}) {
		t.Errorf("found %q", kinds)
	}
}

// Bytes that are read slowly are not unread.
func TestWhatIsReadSlowlyIsNotUnread(t *testing.T) {
	report := func(queued int) *Report {
		c := Channel{
			ID: "i", Queued: queued, Capacity: 65536,
			Writers: []Holder{{PID: 1, Command: "client", FD: 4}},
			Readers: []Holder{{PID: 2, Command: "server", FD: 0}},
		}
		r := &Report{Channels: []Channel{c}}
		r.Diagnoses = r.diagnose()
		return r
	}
	for after, want := range map[int]int{64: 1, 32: 0} {
		r := report(after)
		r.compare(report(64))
		if len(r.Diagnoses) != want {
			t.Errorf("64 bytes, then %d: found %+v, want %d", after, r.Diagnoses, want)
		}
	}
}

// Each row is what two looks saw of a process whose standard output is a pipe that is being read.
func TestDiagnoseOfTwoLooks(t *testing.T) {
	const ms = time.Millisecond
	for _, row := range []struct {
		name     string
		since    Usage
		runnable time.Duration // since, of its only thread
		want     Problem       // "" for none
	}{
		{name: "waits in a read"},
		{name: "computes", runnable: 490 * ms, want: Spins},
		{name: "came to rest", runnable: 360 * ms},
		{
			name: "computes and passes on", runnable: 500 * ms,
			since: Usage{WriteCalls: 9, WriteBytes: 9000},
		},
		{
			name: "asks in vain", runnable: 490 * ms,
			since: Usage{ReadCalls: 9000}, want: Spins,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			began := time.Now()
			report := func(u Usage, at time.Time, runnable time.Duration) *Report {
				u.threads = map[int]time.Duration{2: runnable}
				return &Report{
					taken:     at,
					Processes: []Proc{{PID: 2, Command: "server", Total: &u}},
					Channels: []Channel{{ID: "o",
						Writers: []Holder{{PID: 2, Command: "server", FD: 1}},
						Readers: []Holder{{PID: 1, Waits: true}}}},
				}
			}
			const earlier = 12 * ms
			r := report(row.since, began.Add(500*ms), earlier+row.runnable)
			r.compare(report(Usage{}, began, earlier))
			found := r.Diagnoses
			if len(found) > 0 != (row.want != "") || row.want != "" && found[0].Kind != row.want {
				t.Errorf("found %+v, want %q", found, row.want)
			}
		})
	}
}

// restingPair is a client that sleeps in a read of what a server writes, and a server that waits.
func restingPair() *Report {
	return &Report{
		Channels: []Channel{
			{ID: "a", Writers: []Holder{{PID: 1, Command: "client", FD: 4}},
				Readers: []Holder{{PID: 2, Command: "server", FD: 0, Waits: true}}},
			{ID: "b", Writers: []Holder{{PID: 2, Command: "server", FD: 1}},
				Readers: []Holder{{PID: 1, Command: "client", FD: 5, Waits: true, inCall: true}}},
		},
		all: map[int]Proc{1: {PID: 1}, 2: {PID: 2, Parent: 1}},
	}
}

// A client and a server that wait for each other may be idle. A server may have asked a child, and
// one that runs is at work.
func TestAnIdleServerIsBlamedForNothingUncertain(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Report)
		says   string // "" if nothing is found
	}{
		{"a client in read", func(*Report) {},
			"has read all that was sent; if an answer is due, a message was swallowed, lies in " +
				"the buffer of a reader that polls, or was not written, a request of the server " +
				"was not answered, one side waits for the rest of one (wrong length, no end of " +
				"line) or for the end of its input, or the server for something else, such as a " +
				"lock or a network; else they are idle"},
		{"a client in poll", func(r *Report) { r.Channels[1].Readers[0].inCall = false },
			"if an answer is due"},
		{"a server that waits for a child",
			func(r *Report) { r.Channels[0].Readers[0].waitsForChild = true }, ""},
		{"a server whose child reads its standard input", func(r *Report) {
			r.all[3] = Proc{PID: 3, Parent: 2}
			in := &r.Channels[0]
			in.Readers[0] = Holder{PID: 2, Command: "server", waitsForChild: true}
			in.Readers = append(in.Readers,
				Holder{PID: 3, Command: "cat", Waits: true, inCall: true})
		}, "1 (client) waits for 2 (server), whose descendant 3 (cat) reads the stdin of 2 (a)"},
		{"a server that reads the output of a child at its standard input", func(r *Report) {
			captureChild(r, Holder{PID: 3, Command: "git", FD: 1})
		}, "1 (client) waits for 2 (server), whose descendant 3 (git) reads the stdin of 2 (a)"},
		{"a server that reads the output of a pipeline at its standard input", func(r *Report) {
			captureChild(r, Holder{PID: 4, Command: "sh", FD: 1})
			r.all[3] = Proc{PID: 3, Parent: 4}
			r.all[4] = Proc{PID: 4, Parent: 2}
		}, "whose descendant 3 (git) reads the stdin of 2 (a)"},
		{"a server at work, whose child reads its standard input", func(r *Report) {
			captureChild(r, Holder{PID: 3, Command: "git", FD: 1})
			r.all[2] = Proc{PID: 2, running: true}
		}, ""},
		{"a server at work", func(r *Report) { r.all[2] = Proc{PID: 2, running: true} }, ""},
		{"a server that waits for a helper", func(r *Report) {
			r.Channels = append(r.Channels, Channel{ID: "c", Writers: []Holder{{PID: 3, FD: 1}},
				Readers: []Holder{{PID: 2, Command: "server", FD: 7, Waits: true}}})
		}, ""},
		{"a server that wrote to something else than its output",
			func(r *Report) { r.Channels[1].Writers[0].FD = 2 }, ""},
	} {
		r := restingPair()
		row.change(r)
		found := r.diagnose()
		if row.says == "" {
			if len(found) > 0 {
				t.Errorf("%s: found %+v", row.name, found)
			}
			continue
		}
		kind := MutualRead
		if strings.Contains(row.says, "whose descendant") {
			kind = ChildAtStdin
		}
		if len(found) != 1 || found[0].PID != 2 || found[0].Kind != kind ||
			!strings.Contains(found[0].Sentence, row.says) {
			t.Errorf("%s: found %+v, want one that says %q", row.name, found, row.says)
		}
	}
}

// captureChild lets the server of r read what writer writes, and its child git its standard input.
func captureChild(r *Report, writer Holder) {
	r.all[3] = Proc{PID: 3, Parent: 2}
	in := &r.Channels[0]
	in.Readers = []Holder{{PID: 2, Command: "server"},
		{PID: 3, Command: "git", Waits: true, inCall: true}}
	r.Channels = append(r.Channels, Channel{ID: "c", Writers: []Holder{writer},
		Readers: []Holder{{PID: 2, Command: "server", FD: 3, Waits: true}}})
}

// A wrapper such as npx waits for the server that it started, which has its input and its output.
func TestAWrapperIsNoServerWhoseChildReadsItsInput(t *testing.T) {
	r := restingPair()
	r.all[3] = Proc{PID: 3, Parent: 2}
	in, out := &r.Channels[0], &r.Channels[1]
	in.Readers = []Holder{
		{PID: 2, Command: "npx", waitsForChild: true},
		{PID: 3, Command: "node", Waits: true, inCall: true},
	}
	for _, writer := range []Holder{
		{PID: 3, Command: "node", FD: 1},
		{PID: 4, Command: "tee", FD: 1}, // node | tee
	} {
		r.all[writer.PID] = Proc{PID: writer.PID, Parent: 2}
		out.Writers = []Holder{{PID: 2, Command: "npx", FD: 1}, writer}
		for _, d := range r.diagnose() {
			if strings.Contains(d.Sentence, "whose descendant") {
				t.Error(d.Sentence)
			}
		}
	}
}

// A child waits for the end of its input, and its sibling has inherited the writing end, and the
// output of the server, too.
func TestASiblingThatHoldsAnInputOpenIsNamed(t *testing.T) {
	r := Report{
		Processes: []Proc{{PID: 4, Parent: 2, Threads: []Thread{{In: "nanosleep"}}}},
		Channels: []Channel{
			{ID: "a",
				Writers: []Holder{
					{PID: 2, Command: "server", FD: 1}, {PID: 4, Command: "sleep", FD: 1},
				},
				Readers: []Holder{{PID: 1, Command: "client", FD: 5, Waits: true, inCall: true}}},
			{ID: "b",
				Writers: []Holder{{PID: 4, Command: "sleep", FD: 4}},
				Readers: []Holder{{PID: 3, Command: "cat", FD: 0, Waits: true, inCall: true}}},
		},
		all: map[int]Proc{
			1: {PID: 1}, 2: {PID: 2, Parent: 1}, 3: {PID: 3, Parent: 2}, 4: {PID: 4, Parent: 2},
		},
	}
	const want = "4 (sleep) has inherited the writing end as its descriptor 4: until it closes " +
		"that too, 3 (cat) sees no end of file (b)"
	found := r.diagnose()
	if len(found) != 1 || found[0].PID != 4 || found[0].Sentence != want {
		t.Errorf("found %+v, want %q", found, want)
	}
	r.Channels = r.Channels[1:]
	r.Channels[0].Writers[0].FD = stdout // a pipeline
	for _, d := range r.diagnose() {
		if d.Kind == HeldOpen {
			t.Errorf("of a pipeline: %s", d.Sentence)
		}
	}
}

// Who has a writing end too many is told once, and only if a reader waits for the end of the pipe.
func TestAWriterTooManyIsToldOnce(t *testing.T) {
	report := func(reader Holder) *Report {
		r := &Report{all: map[int]Proc{1: {PID: 1}, 2: {PID: 2, Parent: 1}}}
		for _, id := range []string{"a", "b", "c"} {
			r.Channels = append(r.Channels, Channel{ID: id, Readers: []Holder{reader},
				Writers: []Holder{{PID: 1, Command: "server", FD: 1}, {PID: 2, Command: "helper", FD: 1}}})
		}
		return r
	}
	for want, reader := range map[int]Holder{
		0: {PID: 3, Waits: true}, // an event loop watches all that it has
		1: {PID: 3, Waits: true, inCall: true},
	} {
		if found := report(reader).diagnose(); len(found) != want {
			t.Errorf("found %+v, want %d", found, want)
		}
	}
}

// A reader that does not read waits for something else.
func TestWhatAReaderWaitsForInstead(t *testing.T) {
	r := restingPair()
	r.Channels = append(r.Channels, Channel{ID: "e", Full: true, Queued: 8, Capacity: 8,
		Writers: []Holder{{PID: 2, Command: "server", FD: 2, Waits: true}},
		Readers: []Holder{{PID: 1, Command: "client", FD: 6}}})
	r.Channels[0].Readers[0].Waits = false
	found := r.diagnose()
	const says = "1 (client) does not read it: it waits for the stdout of 2 (server)"
	if len(found) != 1 || !strings.HasSuffix(found[0].Sentence, says) {
		t.Errorf("found %+v, want one that ends %q", found, says)
	}
}
