// Package kubernetes decodes the manifests of the guide `machines` with the types of the API, which
// its published schema is made of. It is a module of its own: the program needs none of them.
package kubernetes

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../cmd/pipebench/docs/kubernetes"

func TestTheJobIsAsTheAPIHasIt(t *testing.T) {
	var job batchv1.Job
	decode(t, "job.yaml", &job)
	if job.APIVersion != "batch/v1" || job.Kind != "Job" {
		t.Errorf("it is a %s of %s", job.Kind, job.APIVersion)
	}
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion {
		t.Errorf("completion mode %s", *job.Spec.CompletionMode)
	}
	pod := job.Spec.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever { // as backoffLimitPerIndex needs it
		t.Errorf("restart policy %s", pod.RestartPolicy)
	}
	apart := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	labels := job.Spec.Template.Labels
	if len(apart) != 1 || apart[0].LabelSelector.MatchLabels["app"] != labels["app"] {
		t.Errorf("pods %v are not kept apart by %v", labels, apart)
	}
	checkMeasure(t, pod.Containers)
}

func TestTheDaemonSetIsAsTheAPIHasIt(t *testing.T) {
	var set appsv1.DaemonSet
	decode(t, "daemonset.yaml", &set)
	if set.APIVersion != "apps/v1" || set.Kind != "DaemonSet" {
		t.Errorf("it is a %s of %s", set.Kind, set.APIVersion)
	}
	wanted, labels := set.Spec.Selector.MatchLabels, set.Spec.Template.Labels
	if wanted["app"] == "" || wanted["app"] != labels["app"] {
		t.Errorf("the selector %v does not find pods %v", wanted, labels)
	}
	pod := set.Spec.Template.Spec
	checkMeasure(t, pod.InitContainers)
	for _, c := range pod.Containers { // a pod is guaranteed its CPUs if all its containers are
		checkGuaranteed(t, c)
	}
}

// A misspelt field is an error, or the test would show nothing.
func TestAFieldThatTheAPIDoesNotHaveIsRefused(t *testing.T) {
	text := []byte("apiVersion: batch/v1\nkind: Job\nspec: {completion: 3}\n")
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(text, &job); err == nil {
		t.Error("spec.completion was taken")
	}
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// checkMeasure looks at the container that the guide collects the records from.
func checkMeasure(t *testing.T, containers []corev1.Container) {
	t.Helper()
	if len(containers) != 1 || containers[0].Name != "measure" {
		t.Fatalf("no container measure alone: %v", containers)
	}
	c := containers[0]
	checkGuaranteed(t, c)
	if cpu := c.Resources.Limits.Cpu(); cpu.MilliValue()%1000 != 0 || cpu.Value() < 2 {
		t.Errorf("%v CPUs: want two whole ones for writer and reader", cpu)
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
			t.Errorf("%s is no field of the pod", e.Name)
		}
	}
}

func checkGuaranteed(t *testing.T, c corev1.Container) {
	t.Helper()
	cpu, memory := c.Resources.Limits.Cpu(), c.Resources.Limits.Memory()
	if cpu.IsZero() || !cpu.Equal(*c.Resources.Requests.Cpu()) ||
		memory.IsZero() || !memory.Equal(*c.Resources.Requests.Memory()) {
		t.Errorf("%s: limits %v and requests %v differ", c.Name, c.Resources.Limits,
			c.Resources.Requests)
	}
}
