package results

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
)

// Anonymize makes the writer put hashes in place of the names of hosts and of users' folders. Equal
// names get equal hashes, so whoever guesses a name can check the guess.
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

// userFolder matches a path up to the end of the user's name. Only on Windows may the name have
// blanks.
var userFolder = regexp.MustCompile(
	`(?i)([a-z]:/+users/+|\\users\\+)([^/\\"',;:]+)|((?:/home|/users)/+)([^/\\\s"',;:]+)`)

func hideUsers(text []byte) []byte {
	return userFolder.ReplaceAllFunc(text, func(path []byte) []byte {
		part := userFolder.FindSubmatch(path) // groups 1 and 2 matched, or 3 and 4
		folder := append(part[1], part[3]...)
		user := string(part[2]) + string(part[4])
		return append(folder, hashOf("user-", user)...)
	})
}

// hashOf returns the prefix and a hash of the name, such as "host-4be7…", or "" for the name "".
func hashOf(prefix, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	return prefix + hex.EncodeToString(sum[:6])
}
