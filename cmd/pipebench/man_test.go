package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var manFolder = flag.String("man", "", "the folder that TestManPages writes into, for a release")

// Each command has a man page, which names its flags. The pages of a release are made here, so that
// the program itself does without what formats them.
func TestManPages(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	root := newRoot()
	for _, cmd := range append(root.Commands(), root) {
		cmd.DisableAutoGenTag = true
		keepAngles(cmd)
	}
	header := &doc.GenManHeader{Title: "PIPEBENCH", Section: "1", Manual: "pipebench"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		t.Fatal(err)
	}
	for _, group := range commandGroups {
		for _, row := range group.commands {
			name := row.name
			page, err := os.ReadFile(filepath.Join(folder, "pipebench-"+name+".1"))
			if err != nil {
				t.Fatal(err)
			}
			checkManPage(t, root, name, strings.ReplaceAll(string(page), `\-`, "-"))
		}
	}
}

// keepAngles has the texts of a command taken as they are: the pages are made by way of Markdown,
// where "<time>" would be a tag of HTML.
func keepAngles(cmd *cobra.Command) {
	cmd.Long = strings.ReplaceAll(cmd.Long, "<", `\<`)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "<", `\<`)
	})
}

// checkManPage reports the flags that a page does not have.
func checkManPage(t *testing.T, root *cobra.Command, name, page string) {
	t.Helper()
	cmd, _, err := root.Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	angles := 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(page, "--"+f.Name) {
			t.Errorf("the page of %s does not have --%s", name, f.Name)
		}
		angles += strings.Count(f.Usage, "<")
	})
	if strings.Count(page, "<") < angles {
		t.Errorf("the page of %s lost what stands in angle brackets", name)
	}
	if !strings.Contains(page, cmd.Short) {
		t.Errorf("the page of %s does not say what it is for", name)
	}
}
