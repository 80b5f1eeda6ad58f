package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// findingSummary sums up the findings of one area, such as checks, in one line: "PASS: ok 18 of
// 18".
func findingSummary(all []results.Finding) string {
	switch area := all[0].Area(); area {
	case results.AreaFailure:
		return results.FormatCount(len(all), "way") + " to fail: " + countFailures(all)
	case results.AreaClaim, results.AreaMachine:
		return results.FormatCount(len(all), area) + ": " + countVerdicts(all)
	case results.AreaRule:
		return ruleSummary(all, nil)
	case results.AreaCompare:
		return results.FormatCount(len(all), "figure") + " of two commands: " + countVerdicts(all)
	}
	failed := FailedFindings(all) // only checks pass or fail
	undecided := selected(all, isUndecided)
	switch {
	case !slices.ContainsFunc(all, cameToVerdict):
		return fmt.Sprintf("INCONCLUSIVE: none of %d could be judged", len(all))
	case len(failed)+len(undecided) == 0:
		return "PASS: " + countPassed(all)
	}
	text := fmt.Sprintf("FAIL: %d of %d", len(failed), len(all))
	if len(undecided) > 0 {
		text += fmt.Sprintf(" (%d cannot tell)", len(undecided))
	}
	separator := ": "
	if len(failed) == 0 {
		text = "INCOMPLETE: " + countPassed(all)
		separator = "; "
	}
	// what may be wrong was seen, or the check was interrupted
	told := selected(undecided, func(f results.Finding) bool { return f.Class != "" })
	found := func(f results.Finding) string { return f.Found }
	causes := grouped(slices.Concat(failed, told), found)
	for i, alike := range causes {
		if i == fewNames {
			return fmt.Sprintf("%s; and %d more", text, len(causes)-fewNames)
		}
		names := namesOf(alike)
		if isUndecided(alike[0]) && len(alike) > fewNames { // the table has their names
			names = fmt.Sprintf("%d not judged", len(alike))
		}
		text += separator + names + ": " + alike[0].Found
		separator = "; "
	}
	return text
}

// fewNames is how many causes, or situations with one cause, a sentence names at most.
const fewNames = 3

func namesOf(all []results.Finding) string {
	var names []string
	for _, f := range all {
		names = append(names, findingName(f))
	}
	return strings.Join(names, ", ")
}

// countPassed counts checks by verdict: "ok 34 of 35, unsupported 1".
func countPassed(all []results.Finding) string {
	others := selected(all, func(f results.Finding) bool { return f.Verdict != results.OK })
	text := fmt.Sprintf("ok %d of %d", len(all)-len(others), len(all))
	if len(others) > 0 {
		text += ", " + countVerdicts(others)
	}
	return text
}

// countFailures counts ways in which stdio may fail: "38 seen here, 35 under a condition, 60 not
// seen".
func countFailures(all []results.Finding) string {
	words := map[results.Verdict]string{
		results.Fails:   "seen here",
		results.Depends: "under a condition",
		results.OK:      "not seen",
	}
	var parts []string
	for _, alike := range byVerdict(all) {
		v := alike[0].Verdict
		text := cmp.Or(words[v], VerdictText(string(v)))
		parts = append(parts, fmt.Sprintf("%d %s", len(alike), text))
	}
	return strings.Join(parts, ", ")
}

// countVerdicts counts findings by verdict: "fails 2, ok 16".
func countVerdicts(all []results.Finding) string {
	var parts []string
	for _, alike := range byVerdict(all) {
		verdict := VerdictText(string(alike[0].Verdict))
		parts = append(parts, fmt.Sprintf("%s %d", verdict, len(alike)))
	}
	return strings.Join(parts, ", ")
}

// FailedFindings returns the findings that fail. A claim about pipes that proved wrong does not
// count as a failure.
func FailedFindings(all []results.Finding) []results.Finding {
	return selected(all, func(f results.Finding) bool { return f.Verdict == results.Fails })
}

// findingTone is Bad if any finding fails, else Mixed if a check is undecided, else Good.
func findingTone(all []results.Finding) Tone {
	switch {
	case len(FailedFindings(all)) > 0:
		return Bad
	case slices.ContainsFunc(all, isUndecided):
		return Mixed
	}
	return Good
}

// isUndecided reports whether a finding is the result of a check that could not be judged.
func isUndecided(f results.Finding) bool {
	return f.Area() == results.AreaCheck && f.Verdict == results.CannotTell
}

// AllUndecided reports whether no finding came to a verdict. The run of a program with a file as
// its output does not count if it is good: other runs are only compared with it.
func AllUndecided(all []results.Finding) bool {
	return !slices.ContainsFunc(all, func(f results.Finding) bool {
		isReference := f.ID == results.AreaCheck+"/program/reference" && len(all) > 1
		return cameToVerdict(f) && !(isReference && f.Verdict == results.OK)
	})
}

func cameToVerdict(f results.Finding) bool {
	return f.Verdict != results.CannotTell && f.Verdict != results.Unsupported
}

// findingSentences returns a sentence for each area of findings. Claims that people make about
// pipes come first. For checks, it returns a sentence for each checked command.
func findingSentences(s *results.Set) []string {
	var claims, others []string
	for _, a := range areas {
		own := s.FindingsOf(a.area)
		switch {
		case len(own) == 0 || a.area == results.AreaMachine: // machines have a section of their own
		case a.area == results.AreaClaim:
			claims = []string{withPeriod(findingSummary(own))}
		case a.area == results.AreaCheck:
			for _, checks := range grouped(own, runAndCommand) {
				name := checkName(s, checks, own)
				others = append(others, name+": "+withPeriod(findingSummary(checks)))
			}
		case a.area == results.AreaRule:
			others = append(others, ruleSummary(latestRules(s), nil))
			others = append(others, changedRules(stat.FleetOf(s).Members())...)
		default:
			others = append(others, withPeriod(findingSummary(own)))
		}
	}
	return append(claims, others...)
}

// checkName names a check by its command. If other runs among all checked the same command, it adds
// the time.
func checkName(s *results.Set, checks, all []results.Finding) string {
	name := strings.Join(checks[0].About, " ")
	same := selected(all, func(f results.Finding) bool {
		return slices.Equal(f.About, checks[0].About)
	})
	e, ok := s.Environment(checks[0].Run)
	if !ok || len(same) == len(checks) {
		return name
	}
	return name + " of " + e.Time.UTC().Format("2006-01-02 15:04:05 UTC")
}

func withPeriod(text string) string { return strings.TrimSuffix(text, ".") + "." }
