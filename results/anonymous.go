package results

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
)

// Anonymize makes all lines written after it name no host and no user: a hash stands for the host
// name, for the labels that name a node or a pod, and for the name of each user's folder in any
// text. The same name has the same hash everywhere, so hosts can still be told apart. Somebody who
// guesses a name can check the guess by the hash.
func (w *Writer) Anonymize() { w.anonymous = true }

// withoutHost returns an environment with a hash in place of the name of its host.
func withoutHost(e Environment) Environment {
	e.Hostname = hashOf("host-", e.Hostname)
	e.Labels = maps.Clone(e.Labels)
	for _, key := range []string{"node", "pod"} {
		if e.Labels[key] != "" {
			e.Labels[key] = hashOf("host-", e.Labels[key])
		}
	}
	return e
}

// userFolder matches the folder of a user. On Windows names may have blanks.
var userFolder = regexp.MustCompile(
	`(?i)([a-z]:/+users/+|\\users\\+)([^/\\"',;:]+)|((?:/home|/users)/+)([^/\\\s"',;:]+)`)

// hideUsers hides the names of users' folders in a line of JSON.
func hideUsers(text []byte) []byte {
	return userFolder.ReplaceAllFunc(text, func(path []byte) []byte {
		part := userFolder.FindSubmatch(path) // either 1 and 2 are empty, or 3 and 4
		folder := append(part[1], part[3]...)
		user := string(part[2]) + string(part[4])
		return append(folder, hashOf("user-", user)...)
	})
}

// hashOf returns a name's hash after a prefix: "host-4be7…"; "" for no name.
func hashOf(prefix, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	return prefix + hex.EncodeToString(sum[:6])
}
