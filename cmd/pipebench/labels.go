package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// ownLabels are the labels that a run has even without --label. A label gets the value of the first
// of its environment variables that is set.
var ownLabels = []struct {
	label     string
	variables []string
}{
	// CI: GitHub, GitLab, Buildkite, CircleCI, Bitbucket, Azure, Jenkins.
	{"commit", []string{
		"GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "BITBUCKET_COMMIT",
		"BUILD_SOURCEVERSION", "GIT_COMMIT",
	}},
	{"branch", []string{
		"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH",
		"CIRCLE_BRANCH", "BITBUCKET_BRANCH", "BUILD_SOURCEBRANCHNAME", "GIT_BRANCH",
	}},
	// Slurm and Kubernetes. The manifests in docs/kubernetes set the variables that begin with
	// K8S_.
	{"node", []string{"SLURMD_NODENAME", "K8S_NODE_NAME"}},
	{"pod", []string{"K8S_POD_NAME"}},
	{"job", []string{"SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "K8S_JOB_NAME"}},
	{"task", []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}},
}

// parseLabel parses KEY=VALUE. It returns this label together with those that were given before.
func (f *sharedFlags) parseLabel(text string) (map[string]string, error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" || value == "" {
		return nil, fmt.Errorf("%q: want KEY=VALUE, such as suite=nightly", text)
	}
	labels := maps.Clone(f.labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[key] = value
	return labels, nil
}

// allLabels returns the labels of a run, which are those of ownLabels and of --label. If both have
// a label, the value from --label counts.
func (f *sharedFlags) allLabels() map[string]string {
	labels := make(map[string]string)
	for _, l := range ownLabels {
		for _, name := range l.variables {
			value := os.Getenv(name)
			if value != "" && labels[l.label] == "" {
				labels[l.label] = value
			}
		}
	}
	maps.Copy(labels, f.labels)
	return labels
}

// differences names what differs between the first runs of the two sides: labels, machines and
// programs.
func differences(oldSide, newSide *results.Set) []string {
	oldRun, newRun := describeFirst(oldSide), describeFirst(newSide)
	all := maps.Clone(oldRun)
	maps.Copy(all, newRun)
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if oldRun[key] != newRun[key] {
			parts = append(parts, fmt.Sprintf("%s %s and %s",
				key, cmp.Or(oldRun[key], "none"), cmp.Or(newRun[key], "none")))
		}
	}
	return parts
}

func describeFirst(set *results.Set) map[string]string {
	if set == nil || len(set.Environments) == 0 {
		return make(map[string]string)
	}
	e := set.Environments[0]
	about := map[string]string{"processor": e.CPU, "Go": e.Go, "pipebench": e.Version}
	about["system"] = e.OS + " " + e.Kernel
	maps.Copy(about, e.Labels)
	return about
}
