package inspect

import (
	"strings"
	"testing"
)

func TestDiagnose(t *testing.T) {
	client := func(fd int, waits bool) []Holder { return []Holder{{PID: 1, Command: "client", FD: fd, Waits: waits}} }
	server := func(fd int, waits bool) []Holder { return []Holder{{PID: 2, Command: "server", FD: fd, Waits: waits}} }
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
		}, MutualRead, "both sides are reading and neither writes"},
		{"stderr full", []Channel{
			{ID: "e", Writers: server(2, true), Readers: client(6, false), Full: true, Queued: 65536, Capacity: 65536},
		}, Undrained, "stderr is full and nobody drains it: 2 (server) is writing (e, 65536 of 65536 bytes), and 1 (client) does not read"},
		{"full, and the reader is out of sight", []Channel{
			{ID: "e", Writers: server(1, true), Full: true},
		}, Undrained, "stdout is full and nobody drains it"},
		{"reader gone", []Channel{
			{ID: "o", Writers: server(1, false), NoReader: true},
		}, PeerLeft, "nobody holds the reading end of the stdout of 2 (server)"},
		{"writer gone", []Channel{
			{ID: "i", Readers: server(0, false), NoWriter: true},
		}, PeerLeft, "nobody holds the writing end of the stdin of 2 (server)"},
		{"waits for itself", []Channel{
			{ID: "i", Readers: server(0, true), Writers: server(7, false)},
		}, SelfHeld, "holds the writing end itself"},
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
