package view

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A junitSuite is a list of findings in JUnit's XML, which CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitResult `xml:"failure,omitempty"`
	Skipped *junitResult `xml:"skipped,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes each finding as a test. Findings without a verdict, and failures that were
// expected, become skipped tests.
func writeJUnit(w io.Writer, all []results.Finding) error {
	words := append([]string{"pipebench", all[0].Area()}, all[0].About...)
	suite := junitSuite{Name: Escape(strings.Join(words, " ")), Tests: len(all)}
	for _, f := range all {
		class := f.Area()
		if side, _, ok := strings.Cut(f.Name(), "/"); ok { // the side that was checked: "server"
			class = side
		}
		c := junitCase{Class: "pipebench." + Escape(class), Name: Escape(findingName(f))}
		result := &junitResult{
			Message: Escape(f.Found),
			Text:    Escape(strings.Join(nonEmpty([]string{f.Title, f.Advice, f.Reproduce}), "\n")),
		}
		switch f.Verdict {
		case results.Fails:
			c.Failure = result
			suite.Failures++
		case results.CannotTell, results.Unsupported, results.Expected:
			c.Skipped = result
			suite.Skipped++
		case results.OK, results.Holds:
			c.Out = Escape(f.Found)
		default:
			c.Out = string(f.Verdict) + ": " + Escape(f.Found)
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return failedTo("write JUnit XML", err)
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return failedTo("write JUnit XML", err)
}
