package main

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pipebench/pipebench/"

// floors are what each folder may import of the project, besides itself.
var floors = map[string][]string{
	"cmd":       {"scenarios", "bench", "framers", "syspipe", "results", "plots"},
	"scenarios": {"bench", "framers", "syspipe", "results"},
	"bench":     {"framers", "syspipe", "results"},
	"plots":     {"results"},
	"framers":   {},
	"syspipe":   {},
	"results":   {},
}

// Imports go down only: a floor may be skipped, never climbed. Tests are held to it as well.
func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		floor := folder(p.ImportPath)
		allowed, known := floors[floor]
		if !known {
			t.Errorf("%s is in a top-level folder that the house does not have", p.ImportPath)
		}
		for _, imported := range append(append(p.Imports, p.TestImports...), p.XTestImports...) {
			below := folder(imported)
			if !strings.HasPrefix(imported, module) || below == floor {
				continue
			}
			if !slices.Contains(allowed, below) {
				t.Errorf("%s imports %s: from %s only %q may be imported", p.ImportPath, imported, floor, allowed)
			}
		}
	}
}

// Below the scenarios only packages that are for tests import testing: else its flags would be in
// every program that measures.
func TestOnlyPackagesForTestsImportTesting(t *testing.T) {
	for _, p := range packages(t) {
		if folder(p.ImportPath) == "scenarios" || strings.HasSuffix(p.ImportPath, "test") {
			continue
		}
		if slices.Contains(p.Imports, "testing") {
			t.Errorf("%s imports testing: only a package whose name ends in test may", p.ImportPath)
		}
	}
}

// Each example stands in the package of what it is named after: elsewhere no documentation shows
// it.
func TestExamplesAreShown(t *testing.T) {
	for _, p := range packages(t) {
		files := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		written := len(doc.Examples(parsed...))
		about, err := doc.NewFromFiles(files, parsed, p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		if shown := examplesOf(about); shown != written {
			t.Errorf("%s: %d of %d examples are shown: the others name nothing that it has",
				p.ImportPath, shown, written)
		}
	}
}

// examplesOf counts the examples that the documentation of a package shows.
func examplesOf(p *doc.Package) int {
	shown := len(p.Examples)
	funcs := p.Funcs
	for _, typ := range p.Types {
		shown += len(typ.Examples)
		funcs = slices.Concat(funcs, typ.Funcs, typ.Methods)
	}
	for _, f := range funcs {
		shown += len(f.Examples)
	}
	return shown
}

type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// packages lists the project's packages as the go command sees them.
func packages(t *testing.T) []listed {
	t.Helper()
	const fields = "ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles," +
		"Imports,TestImports,XTestImports"
	out, err := exec.Command("go", "list", "-json="+fields, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < len(floors) {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func folder(path string) string {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return top
}
