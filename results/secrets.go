package results

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Redacted replaces a value that was left out of a command line.
const Redacted = "REDACTED"

// HideSecrets returns a copy of a command line with [Redacted] for whatever may be a secret: values
// with names like key or password, passwords in URLs, and random text. If in doubt, it hides more.
func HideSecrets(command []string) []string {
	hidden := make([]string, len(command))
	for i, word := range command {
		hidden[i] = hideInWord(word)
		if i > 1 && isAnnounced(command[:i], word) { // word 0 is the program, maybe named pass
			hidden[i] = Redacted
		}
	}
	return hidden
}

const (
	// secretName matches a name in which a word for a secret occurs: "MY_API_KEY".
	secretName = `[\w.@\[\]-]*(?:key|token|secret|passw|pass|pwd|auth|cred|cookie|bearer|session` +
		`|signature|private|login|jwt)[\w.@\[\]-]*`
	// secretWords are words that a secret follows: "bearer abc123".
	secretWords = `pass|passw(?:or)?d|passphrase|token|secret|api[_-]?key|bearer|basic`
	// givesValue matches what stands between a name and its value: = or : (in a URL %3d or %3a),
	// and quotation marks.
	givesValue = `["'\\]*\s*(?:[:=]|%3a|%3d)+\s*["'\\]*`
	// inHost matches a character of the host in a URL.
	inHost = `[^/?#:@\s]`
)

var (
	// These match a word such as "--api-key" or "token" if the next word is the secret.
	secretFlag = regexp.MustCompile(`(?i)^["'\\]*(?:--?|/)` + secretName + `["'\\]*$` +
		`|^--(?:proxy-)?user$`)
	secretWord = regexp.MustCompile(`(?i)^(?:` + secretWords + `)$`)

	// These match the name of a secret up to its value: "token=". After a match of nameAtEnd, the
	// value is the next word.
	nameAnywhere = regexp.MustCompile(`(?i)(?:` + secretName + `|\bsig|\bpin)` + givesValue)
	nameAtStart  = regexp.MustCompile(`(?i)^["'\\]*(?:` + secretName + `|sig|pin)` + givesValue)
	nameAtEnd    = regexp.MustCompile(`(?i)(?:` + secretName + `|\bsig|\bpin)` + givesValue + `$`)

	// userProgram matches the programs whose flag -u is before user:password. shortPassword matches
	// the flag -p of mysql joined to its value. portNumbers matches words such as -p8080 that only
	// look like that flag.
	userProgram   = regexp.MustCompile(`\b(?:curl|wget)\b`)
	shortPassword = regexp.MustCompile(`^-p.*[A-Z0-9].*$`)
	portNumbers   = regexp.MustCompile(`^-p=?[\d.:/a-z-]*$`)

	knownToken = regexp.MustCompile(`\b(?:sk-|[spr]k_(?:live|test)_|gh[oprsu]_|github_pat_` +
		`|xox[a-z]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|glpat-|hf_|npm_|pypi-|dop_v1_|SG\.|shpat_` +
		`|gsk_|xai-|r8_|lin_api_|ntn_|tvly-)[\w.+/=-]{6,}`)
	randomText = regexp.MustCompile(`^[\w+=-]{20,}$`)

	// urlUser matches the user and the password in a URL. urlOddSecret matches a password with a
	// slash, a question mark or a #. It does not match a port.
	urlUser      = regexp.MustCompile(`(\w+://)[^/?#\s]*@`)
	urlOddSecret = regexp.MustCompile(`(\w+://)` + inHost + `*:` +
		inHost + `*[^\d/?#:@\s]` + inHost + `*[/?#]\S*@`)
)

// isAnnounced reports whether the words before this one say that it is a secret.
func isAnnounced(before []string, word string) bool {
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	if last == "-u" { // it says something else in python3 -u server.py
		return slices.ContainsFunc(before, userProgram.MatchString) ||
			strings.Contains(word, ":") && !filepath.IsAbs(word)
	}
	return secretFlag.MatchString(last) || secretWord.MatchString(last) ||
		nameAtEnd.MatchString(last)
}

// hideInWord hides the secrets in a word. The word may be a whole command line itself.
func hideInWord(word string) string {
	if !strings.ContainsFunc(word, unicode.IsSpace) {
		return hideInToken(word)
	}
	if at := nameAtStart.FindStringIndex(word); at != nil { // the blanks are in the value
		return word[:at[1]] + Redacted
	}
	return hideInLine(word)
}

// hideInLine hides the secrets in a command line that is a single string.
func hideInLine(line string) string {
	var out strings.Builder
	var before []string
	for line != "" {
		blanks := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		out.WriteString(line[:blanks])
		line = line[blanks:]
		word := line[:wordEnd(line)]
		line = line[len(word):]
		switch {
		case word == "": // the line ends with blanks
		case isAnnounced(before, word):
			out.WriteString(Redacted)
		case nameAtEnd.MatchString(word): // "Authorization:", whose value may have blanks
			out.WriteString(word + " " + Redacted)
			return out.String()
		default:
			out.WriteString(hideQuoted(word))
		}
		before = append(before, word)
	}
	return out.String()
}

// hideQuoted hides the secrets in a word that may stand in quotation marks.
func hideQuoted(word string) string {
	last := len(word) - 1
	if last > 0 && (word[0] == '\'' || word[0] == '"') && word[last] == word[0] {
		return word[:1] + hideInWord(word[1:last]) + word[last:]
	}
	return hideInToken(word)
}

// wordEnd returns where the first word of a text ends: at a blank outside quotation marks.
func wordEnd(text string) int {
	quote := rune(0)
	escaped := false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case unicode.IsSpace(c):
			return i
		}
	}
	return len(text)
}

// hideInToken hides the secrets in a word without blanks. After the name of a secret, it hides the
// rest of the word.
func hideInToken(word string) string {
	word = knownToken.ReplaceAllString(word, Redacted)
	word = urlUser.ReplaceAllString(word, "${1}"+Redacted+"@")
	word = urlOddSecret.ReplaceAllString(word, "${1}"+Redacted+"@")
	if at := nameAnywhere.FindStringIndex(word); at != nil && at[1] < len(word) {
		return word[:at[1]] + Redacted
	}
	if shortPassword.MatchString(word) && !portNumbers.MatchString(word) {
		return "-p" + Redacted
	}
	if isRandom(word) {
		return Redacted
	}
	name, value, given := strings.Cut(word, "=")
	if given && isRandom(value) {
		return name + "=" + Redacted
	}
	return word
}

// isRandom reports whether a text looks like a generated key: long, with upper case, lower case and
// digits.
func isRandom(text string) bool {
	return randomText.MatchString(text) && strings.ContainsFunc(text, unicode.IsUpper) &&
		strings.ContainsFunc(text, unicode.IsLower) && strings.ContainsFunc(text, unicode.IsDigit)
}
