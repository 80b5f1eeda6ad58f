package main

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results/view"
)

//go:embed docs/*.md
var guideFiles embed.FS

// newGuides returns a help topic for each guide in docs: `pipebench help TOPIC` shows it. The first
// line of a guide is its title. A guide with the name of a command of root is called NAME-guide.
func newGuides(root *cobra.Command) []*cobra.Command {
	var topics []*cobra.Command
	names, err := fs.Glob(guideFiles, "docs/*.md")
	if err != nil {
		panic(err) // the pattern is part of this program
	}
	for _, name := range names {
		text, err := guideFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		topic := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
		if cmd, _, err := root.Find([]string{topic}); err == nil && cmd != root {
			topic += "-guide"
		}
		guide := &cobra.Command{Use: topic, Short: title}
		guide.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeGuide(cmd, string(text)) })
		topics = append(topics, guide)
	}
	return topics
}

var numbered = regexp.MustCompile(`^\d+\. `)

// writeGuide shows a guide, with its Markdown tables and paragraphs laid out for the screen.
func writeGuide(cmd *cobra.Command, text string) {
	w := cmd.OutOrStdout()
	o := viewOptions(cmd, true)
	var rows [][]string
	paragraph := ""
	for line := range strings.Lines(text + "\n") {
		isTable := strings.HasPrefix(line, "|")
		isItem := strings.HasPrefix(line, "- ") || numbered.MatchString(line)
		isVerbatim := strings.TrimSpace(line) == "" || strings.HasPrefix(line, "    ") ||
			strings.HasPrefix(line, "#")
		if paragraph != "" && (isTable || isItem || isVerbatim) {
			fmt.Fprintln(w, strings.Join(o.Wrap([]string{paragraph}), "\n"))
			paragraph = ""
		}
		if isTable {
			if strings.Trim(line, "|:- \n") != "" { // no rule below the titles
				rows = append(rows, tableCells(line))
			}
			continue
		}
		if len(rows) > 0 {
			writeGuideTable(cmd, rows)
			rows = nil
		}
		if isVerbatim {
			fmt.Fprint(w, line)
		} else {
			paragraph = strings.TrimSpace(paragraph + " " + strings.TrimSpace(line))
		}
	}
}

// tableCells returns the cells of a row of a Markdown table.
func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(row, "| \n"), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// writeGuideTable writes a table whose first row has the titles. Columns that have no room beside
// the first stand in tables below.
func writeGuideTable(cmd *cobra.Command, rows [][]string) {
	var t view.Table
	for i, title := range rows[0] {
		t.Columns = append(t.Columns, view.Column{Title: title, Key: i == 0})
	}
	for _, row := range rows[1:] {
		t.Append(row...)
	}
	// If the table cannot be written, neither can the next line: the output remembers why.
	_ = t.Write(cmd.OutOrStdout(), view.FormatTable, viewOptions(cmd, true))
}
