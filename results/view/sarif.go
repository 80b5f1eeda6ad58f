package view

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// writeSARIF writes failures as results of SARIF 2.1.0, for code scanning. Expected failures are
// suppressed, and undecided checks become notifications.
func writeSARIF(w io.Writer, set *results.Set) error {
	driver := object{
		"name":           "pipebench",
		"informationUri": "https://github.com/pipebench/pipebench",
		"rules":          sarifRules(set.Findings),
	}
	for _, env := range set.Environments {
		driver["version"] = env.Version
	}
	found := []object{} // not nil, which would be null in JSON
	undecided := []object{}
	for _, f := range set.Findings {
		message := object{"text": Escape(findingName(f) + ": " + f.Found)}
		result := object{
			"ruleId":    Escape(f.ID),
			"level":     "error",
			"message":   message,
			"locations": []object{sarifLocation(f.About)},
		}
		switch f.Verdict {
		case results.Expected:
			result["suppressions"] = []object{{"kind": "external"}}
			found = append(found, result)
		case results.Fails:
			found = append(found, result)
		case results.CannotTell:
			undecided = append(undecided, object{"level": "warning", "message": message})
		}
	}
	ran := object{"executionSuccessful": true, "toolExecutionNotifications": undecided}
	return WriteJSON(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": driver},
			"results":     found,
			"invocations": []object{ran},
		}},
	})
}

// An object is a JSON object.
type object map[string]any

// sarifRules returns a rule for each ID that findings have. The first advice in these findings
// becomes the help text of the rule.
func sarifRules(findings []results.Finding) []object {
	rules := []object{}
	for _, own := range grouped(findings, func(f results.Finding) string { return f.ID }) {
		advice := ""
		for _, f := range own {
			advice = cmp.Or(advice, f.Advice)
		}
		title := Escape(cmp.Or(own[0].Title, own[0].ID))
		rules = append(rules, object{
			"id":               Escape(own[0].ID),
			"shortDescription": object{"text": title},
			"fullDescription":  object{"text": title},
			"help":             object{"text": cmp.Or(Escape(advice), title)},
		})
	}
	return rules
}

// sarifLocation returns the file that a command is about: "build/server.js" for "node
// build/server.js". Code scanning shows no result without a file.
func sarifLocation(command []string) object {
	file := "pipebench"
	if len(command) > 0 {
		file = command[0]
		for _, word := range command[1:] {
			if !strings.HasPrefix(word, "-") && filepath.Ext(word) != "" {
				file = word
				break
			}
		}
	}
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
		uri.Path = "/" + strings.TrimPrefix(uri.Path, "/")
	}
	return object{"physicalLocation": object{
		"artifactLocation": object{"uri": uri.String()},
		"region":           object{"startLine": 1},
	}}
}
