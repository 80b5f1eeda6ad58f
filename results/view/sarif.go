package view

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A sarifLog is findings as code scanning reads them: SARIF 2.1.0, with one run.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results     []sarifResult     `json:"results"`
	Invocations []sarifInvocation `json:"invocations"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	FullDescription  sarifText `json:"fullDescription"`
	Help             sarifText `json:"help"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

type sarifSuppression struct {
	Kind string `json:"kind"`
}

// A sarifInvocation lists what could not be judged, because that is no result.
type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

// writeSARIF writes the findings that fail as results, and expected failures as suppressed results.
func writeSARIF(w io.Writer, set *results.Set) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name = "pipebench"
	run.Tool.Driver.InformationURI = "https://github.com/pipebench/pipebench"
	ran := sarifInvocation{Successful: true}
	for _, env := range set.Environments {
		run.Tool.Driver.Version = env.Version
	}
	run.Tool.Driver.Rules = sarifRules(set.Findings)
	for _, f := range set.Findings {
		result := sarifResult{
			RuleID:    Escape(f.ID),
			Level:     "error",
			Message:   sarifText{Escape(findingName(f) + ": " + f.Found)},
			Locations: []sarifLocation{sarifLocationOf(f.About)},
		}
		switch f.Verdict {
		case results.Expected:
			result.Suppressions = []sarifSuppression{{Kind: "external"}}
			run.Results = append(run.Results, result)
		case results.Fails:
			run.Results = append(run.Results, result)
		case results.CannotTell:
			ran.Notifications = append(ran.Notifications,
				sarifNotification{"warning", result.Message})
		}
	}
	run.Invocations = []sarifInvocation{ran}
	return WriteJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// sarifRules returns a rule for each ID among the findings, in the order in which the IDs first
// come. The help is the advice of the first finding that has one.
func sarifRules(findings []results.Finding) []sarifRule {
	advice := map[string]string{}
	for _, f := range findings {
		advice[f.ID] = cmp.Or(advice[f.ID], f.Advice)
	}
	rules := []sarifRule{}
	listed := map[string]bool{}
	for _, f := range findings {
		if listed[f.ID] {
			continue
		}
		listed[f.ID] = true
		title := Escape(cmp.Or(f.Title, f.ID))
		rules = append(rules, sarifRule{
			ID:               Escape(f.ID),
			ShortDescription: sarifText{title},
			FullDescription:  sarifText{title},
			Help:             sarifText{cmp.Or(Escape(advice[f.ID]), title)},
		})
	}
	return rules
}

// sarifLocationOf returns the file at which a failure of a command is shown: the first argument
// that looks like a file ("build/server.js" of "node build/server.js"), else the program. Code
// scanning shows no result without a file.
func sarifLocationOf(command []string) sarifLocation {
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
	var l sarifLocation
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
		uri.Path = "/" + strings.TrimPrefix(uri.Path, "/")
	}
	l.Physical.Artifact.URI = uri.String()
	l.Physical.Region.StartLine = 1
	return l
}
