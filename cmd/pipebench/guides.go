package main

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
)

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
