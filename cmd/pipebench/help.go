package main

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
)

// helpTexts say what each command does: its usage in a line, its purpose in another, a description,
// and examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// helped makes a command that has nothing but its help.
func helped(name string) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text is a defect of this program
	}
	use, rest, _ := strings.Cut(string(text), "\n")
	short, rest, _ := strings.Cut(rest, "\n")
	long, examples, _ := strings.Cut(rest, "\nExamples:\n")
	return &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long),
		Example: strings.TrimRight(examples, "\n"),
	}
}

//go:embed docs/*.md
var guideFiles embed.FS

// newGuides returns a help topic for each guide in docs: `pipebench help TOPIC` shows it. The first
// line of a guide is its title.
func newGuides() []*cobra.Command {
	var topics []*cobra.Command
	names, _ := fs.Glob(guideFiles, "docs/*.md") // the pattern is right, and that is all that can fail
	for _, name := range names {
		text, _ := guideFiles.ReadFile(name)
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		topic := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
		topics = append(topics, &cobra.Command{Use: topic, Short: title, Long: strings.TrimSpace(string(text))})
	}
	return topics
}
