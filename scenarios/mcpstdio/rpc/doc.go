// Package rpc tells JSON-RPC 2.0 messages apart and writes them, without decoding what they carry.
//
//	m, err := rpc.Parse(line)
//	if m.Kind() == rpc.Request {
//		line = rpc.AppendResult(line[:0], m.ID, []byte(`{"ok":true}`))
//	}
//
// One pass over the bytes validates the JSON and its UTF-8, finds the members of the envelope and leaves params and
// result as they are. Names are matched exactly, and an id keeps its text, so that 1, 1.0 and "1" stay three ids.
//
// The functions share nothing and may be called concurrently. Batches are not messages: an array is refused.
package rpc
