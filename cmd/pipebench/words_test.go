package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// formerWords are what texts for people said once, each with what they say now.
var formerWords = []struct{ word, now string }{
	{`\bdeaf\b`, "no reply, process alive"},
	{`\bexit 0\b`, "exited silently (code 0)"},
	{`\bpatience\b`, "reply timeout"},
	{`grows as size\^`, "linear (exponent 1.04)"},
	{`\bworth the same\b`, "equivalent within 5 %"},
	{`\bworth its price\b`, "best trade-off"},
	{`\bknown to [0-9%]`, "±4.3 %"},
	{`\bsent whole\b`, "unchunked"},
	{`\bfalls? due\b`, "is scheduled"},
	{`\blet nothing else run\b`, "close other programs"},
	{`\blies? far from the others\b`, "outliers"},
	{`\bkept in [%./]`, "saved in"},
	{`\bdepends (if|where|otherwise)\b|\belse depends\b`, "conditional"},
	{`\b(seed|document) 00[0-9]\b`, "the source's title"},
	{`\bpeer has left\b`, "the other end closed"},
	{`\bmains power\b`, "AC power"},
	{`\bunpaired, indicative\b`, "not paired: no verdict"},
	{`\bwhat documents say\b`, "common claims about stdio"},
	{`\bdearest framing\b`, "the slowest framing"},
	{`÷ raw`, "vs raw"},
	{`\bcannot be told apart\b`, "no significant difference"},
	{`\bnot here\b`, "unsupported"},
	{`\bpages lent\b|\blent pages\b|\blends? (its )?pages\b`, "zero-copy"},
	{`\btwo groups\b`, "bimodal"},
	{`\blevers?\b`, "variant"},
	{`\bunsupported operation\b`, "what is unsupported, and why"},
	{`\b1 (findings|samples|cells|runs|messages)\b`, "one of them"},
}

// lookedUp is a line of a text by its key, which is a name of the file and keeps its word.
var lookedUp = regexp.MustCompile(`^\s*("[^"]*"|[a-z ]*(deaf|exit 0)): `)

// No text that is printed says a former word: none of the command's, and none of its help and guides.
// A literal that is the word alone is a name, a flag or a value of the file, which keep theirs.
func TestNoFormerWordIsPrinted(t *testing.T) {
	patterns := make([]*regexp.Regexp, len(formerWords))
	for i, w := range formerWords {
		patterns[i] = regexp.MustCompile("(?i)" + w.word)
	}
	names := regexp.MustCompile(`--patience|duration patience|no-levers|deaf@\S*|rule: exit 0\b`) // flags and their values keep theirs
	judge := func(where, text string) {
		text = names.ReplaceAllString(text, "")
		for i, p := range patterns {
			if found := p.FindString(text); found != "" && !strings.EqualFold(found, text) {
				t.Errorf("%s says %q, and is to say %q: %s", where, found, formerWords[i].now, text)
			}
		}
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		ext := filepath.Ext(path)
		switch {
		case strings.Contains(path, "testdata") || strings.Contains(path, "CHANGELOG"):
		case ext == ".md" || ext == ".txt" || ext == ".json":
			content, err := os.ReadFile(path)
			for line := range strings.Lines(string(content)) {
				judge(path, lookedUp.ReplaceAllString(line, ""))
			}
			return err
		case ext == ".go" && !strings.HasSuffix(path, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, is := n.(*ast.Field); is { // its tag is a name of the file
					return false
				}
				if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
					value, _ := strconv.Unquote(l.Value)
					judge(path, value)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
