package main

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed docs/*.md
var guideFiles embed.FS

// topicTitle is the key of an annotation. A command with this annotation is a help topic, and the
// value of the annotation is the topic's title.
const topicTitle = "topic"

// addGuides adds a help topic for each guide in docs. The first line of a guide is the title of the
// topic.
func addGuides(root *cobra.Command) {
	names, err := fs.Glob(guideFiles, "docs/*.md")
	if err != nil {
		panic(err) // cannot fail: the pattern is correct
	}
	for _, name := range names {
		text, err := guideFiles.ReadFile(name)
		if err != nil {
			panic(err) // cannot fail: the file is embedded
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		topic := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
		addTopic(root, topic, title, func(cmd *cobra.Command) {
			writeText(cmd.OutOrStdout(), string(text), viewOptions(cmd, true))
		})
	}
}

// addTopic adds a help topic, which the function write shows.
func addTopic(root *cobra.Command, name, title string, write func(*cobra.Command)) {
	topic := &cobra.Command{
		Use:         name,
		Annotations: map[string]string{topicTitle: title},
		Short:       title,
	}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) { write(cmd) })
	root.AddCommand(topic)
}
