package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetSections lists what a page says about several machines: how framings compare with raw on
// them, which machines a person should look at, and on which answers they disagree. The full
// figures of each machine are on its own page.
func FleetSections(members []stat.Member) []Section {
	if isEmptyFleet(members) {
		return nil
	}
	outliers := stat.FleetOutliers(members)
	all := []Section{differenceSection(members), attentionSection(members, outliers)}
	all = append(all, answerSections(members)...)
	all = append(all, memberSection(members))
	answer := Section{ID: "answer", Title: fleetTitle(members, outliers, pipeDifference(all))}
	var shown []Section
	for _, s := range all {
		answer.Lead = append(answer.Lead, nonEmpty(s.Lead)...)
		s.Lead = nil
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return !t.hasRows() })
		if len(s.Tables) > 0 {
			shown = append(shown, s)
		}
	}
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		condition(members[0]) + ", or any other condition on its environment or labels."}
	return append([]Section{answer}, shown...)
}

// condition is what --where takes to find a machine.
func condition(m stat.Member) string {
	e := m.Environment()
	switch m.Name {
	case e.Hostname:
		return "hostname=" + e.Hostname
	case e.Labels["node"]:
		return "node=" + m.Name
	}
	return "machine=" + e.Machine
}

// isEmptyFleet reports whether nothing was measured or found.
func isEmptyFleet(members []stat.Member) bool {
	return !slices.ContainsFunc(members, func(m stat.Member) bool {
		return m.Cells+len(m.Answers)+m.Messages > 0
	})
}

// pipeDifference returns the first sentence on how pipes differ between machines, as a title; "" if
// they do not.
func pipeDifference(sections []Section) string {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.ID == pipesSection })
	if i < 0 || len(sections[i].Lead) < 2 { // the last says how many answers differ
		return ""
	}
	return strings.TrimSuffix(sections[i].Lead[0], ".")
}

// fleetTitle says what differs most between a few machines, else how pipes differ, else how many
// machines there are; how many of them stand out, and on how many a measurement failed.
func fleetTitle(members []stat.Member, outliers []stat.Outlier, pipes string) string {
	title := cmp.Or(largestDifference(members), pipes,
		results.FormatCount(len(members), "machine"))
	switch len(outliers) {
	case 0:
	case 1:
		title += ", 1 stands out"
	default:
		title += fmt.Sprintf(", %d stand out", len(outliers))
	}
	failed := 0
	for _, m := range members {
		if len(failuresOf(m)) > 0 {
			failed++
		}
	}
	if failed > 0 {
		title += fmt.Sprintf(", a measurement failed on %d", failed)
	}
	return title
}

// FleetLead says how many machines there are, of how many runs, and when they ran.
func FleetLead(members []stat.Member) string {
	var all []results.Environment
	for _, m := range members {
		all = append(all, m.Runs...)
	}
	return JoinParts(results.FormatCount(len(members), "machine"), runsText(all))
}

// WriteFleet writes for people what several machines measured and found, as text or markdown.
func WriteFleet(w io.Writer, members []stat.Member, format Format, o Options) error {
	sections := FleetSections(members)
	if len(sections) == 0 {
		return ErrNothing
	}
	answer := sections[0]
	p := Page{Header: []string{FleetLead(members)}, Answer: answer.Lead}
	var folded []string
	for _, s := range sections[1:] {
		if s.Folded && !o.Detail {
			folded = append(folded, s.Title)
			continue
		}
		p.addSection(s)
	}
	if len(folded) > 0 {
		p.Notes = append(p.Notes, "--detail also has: "+strings.Join(folded, "; "))
	}
	p.Notes = append(p.Notes, answer.Notes...)
	return p.Write(w, format, o)
}

// FleetStreams lists the streams of bare transports at a placement that machines compared with raw,
// by framing and size. It leaves out those that fewer than half as many machines measured as the
// most common one.
func FleetStreams(members []stat.Member, placement string) []results.Cell {
	count := make(map[results.Cell]int)
	most := 0
	for _, m := range members {
		for _, f := range m.Figures {
			c := f.Cell
			isProgram := c.Source != "" || c.Touch || c.Work != 0
			if c.Placement != placement || c.Pattern != patternStream || isProgram ||
				c.WriteSize != 0 || f.ToRaw.Interval == nil {
				continue
			}
			count[c]++
			most = max(most, count[c])
		}
	}
	var cells []results.Cell
	for c, n := range count {
		if 2*n >= most {
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return cmp.Or(cmp.Compare(a.Framing, b.Framing), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Key(), b.Key()))
	})
	return cells
}

// A fleetStream is the streams of one placement and message size that machines are compared in.
type fleetStream struct {
	cell     results.Cell // without the framing
	framings []string
}

// fleetStreams picks, for each placement, the streams of the message size that is nearest to the
// usual capacity of a pipe. Framings in which machines differ come first.
func fleetStreams(members []stat.Member) []fleetStream {
	var out []fleetStream
	for _, p := range placements {
		cells := FleetStreams(members, p.name)
		if len(cells) == 0 {
			continue
		}
		measuredBy := func(c results.Cell) int {
			framing := c.Framing
			c.Framing = ""
			return len(fleetStream{cell: c}.shares(members, framing))
		}
		nearest := slices.MinFunc(cells, func(a, b results.Cell) int {
			return cmp.Or(cmp.Compare(measuredBy(b), measuredBy(a)),
				cmp.Compare(sizeDistance(a.Size), sizeDistance(b.Size)))
		})
		nearest.Framing = ""
		v := fleetStream{cell: nearest}
		for _, c := range cells {
			framing := c.Framing
			c.Framing = ""
			if c == nearest {
				v.framings = append(v.framings, framing)
			}
		}
		differ, alike, noisy := v.differing(members)
		v.framings = nil
		for _, s := range slices.Concat(differ, alike, noisy) {
			v.framings = append(v.framings, s.framing)
		}
		out = append(out, v)
	}
	return out
}

// shares returns the ratios to raw of a framing on members, one for each that compared it.
func (v fleetStream) shares(members []stat.Member, framing string) []stat.Estimate {
	cell := v.cell
	cell.Framing = framing
	var all []stat.Estimate
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell && f.ToRaw.Interval != nil {
				all = append(all, f.ToRaw)
			}
		}
	}
	return all
}

// measured returns the members on which at least one framing has a ratio to raw.
func (v fleetStream) measured(members []stat.Member) []stat.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m stat.Member) bool {
		return !slices.ContainsFunc(v.framings, func(framing string) bool {
			return len(v.shares([]stat.Member{m}, framing)) > 0
		})
	})
}

func mediansOf(all []stat.Estimate) []float64 {
	var out []float64
	for _, e := range all {
		out = append(out, e.Median)
	}
	return out
}

// FewMachines is up to how many machines are told apart by their names, and have a line each in a
// table.
const FewMachines = 7

// differenceSection says how framings compare with raw on the machines. A few machines have a line
// each in a table per placement. Many machines are grouped by the properties on which the ratios
// depend.
func differenceSection(members []stat.Member) Section {
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	streams := fleetStreams(members)
	if len(streams) == 0 {
		return out
	}
	first := streams[0]
	measured := first.measured(members)
	missing := missingSentences(members, measured)
	out.Notes = []string{"Shares of the goodput of raw messages of the same size on the same " +
		"machine. In a group of several machines: the median, and 10 to 90 of 100 of them."}
	if len(measured) > FewMachines {
		groups := first.groups(measured)
		out.Lead = append(missing, first.sentence(measured))
		out.Tables = []Table{first.table("machines", groups)}
		if len(groups) == 1 {
			out.Lead = append(out.Lead, "No kernel, processor or other property of the machines "+
				"goes with a difference beyond chance.")
		}
		return out
	}
	for _, v := range streams {
		var each []group
		for _, m := range v.measured(members) {
			each = append(each, group{m.Name, []stat.Member{m}})
		}
		out.Tables = append(out.Tables, v.table("machine", each))
	}
	if len(measured) == 1 {
		out.Lead = append(missing, first.sentence(measured))
		return out
	}
	for i, v := range streams {
		text, differ := v.difference(members)
		if differ || i == 0 {
			out.Lead = append(out.Lead, text)
		}
	}
	out.Lead = append(out.Lead, missing...)
	return out
}

// missingSentences names the machines that are not among those that compared framings.
func missingSentences(members, compared []stat.Member) []string {
	if len(compared) == len(members) {
		return nil
	}
	var few, others []string
	for _, m := range members {
		same := func(o stat.Member) bool { return o.Name == m.Name }
		switch {
		case slices.ContainsFunc(compared, same):
		case len(m.Figures) > 0:
			few = append(few, m.Name)
		default:
			others = append(others, m.Name)
		}
	}
	text := fmt.Sprintf("%d of %d machines measured how framings compare with raw", len(compared),
		len(members))
	if len(others) > 0 {
		text += "; not " + nameSome(others)
	}
	if len(few) > 0 {
		text += "; too few samples to tell on " + nameSome(few)
	}
	return []string{text + "."}
}

// sentence says what share of raw's goodput framings keep on the machines.
func (v fleetStream) sentence(members []stat.Member) string {
	where := "on " + members[0].Name
	if len(members) > 1 {
		where = "on most machines"
	}
	return fmt.Sprintf("Messages of %s, %s: framings keep this much of raw's goodput %s: %s.",
		SizeTitle(v.cell.Size), PlacementPhrase(v.cell.Placement), where, v.sharesText(members))
}

// sharesText lists the framings with the range of their shares on most machines.
func (v fleetStream) sharesText(members []stat.Member) string {
	var parts []string
	for _, framing := range v.framings {
		s := stat.SpreadOf(mediansOf(v.shares(members, framing)))
		parts = append(parts, FramingPhrase(framing)+" "+percentRange(s.P10, s.P90))
	}
	return joinAnd(parts)
}

// factors are the properties of machines on which figures may depend. Each is the title of a
// machineField.
var factors = []string{
	"imitation", "operating system", "architecture", "processor", "virtualisation", "page", "CPUs",
	"largest pipe", "governor",
}

// factorOf returns what a machine has of a factor.
func factorOf(m stat.Member, factor string) string {
	e := m.Environment()
	switch factor {
	case "operating system": // without the patch level, which hardly two machines share
		parts := strings.SplitN(e.Kernel, ".", 3)
		return strings.TrimSpace(e.OS + " " + strings.Join(parts[:min(len(parts), 2)], "."))
	case "imitation":
		return cmp.Or(e.Imitation, "none")
	case "virtualisation":
		return cmp.Or(e.Virtualisation, "none")
	}
	for _, f := range machineFields(e) {
		if f.title == factor && f.text != "" {
			return f.text
		}
	}
	return "unknown"
}

// A group is machines that have something in common.
type group struct {
	title   string
	members []stat.Member
}

// groups returns all machines, then those with each value of each factor on which the share of a
// framing depends beyond chance, the largest group of a factor first.
func (v fleetStream) groups(members []stat.Member) []group {
	all := []group{{"all", members}}
	for _, factor := range factors {
		own := grouped(members, func(m stat.Member) string { return factorOf(m, factor) })
		depends := len(own) > 1 && len(own) < len(members) &&
			slices.ContainsFunc(v.framings, func(framing string) bool {
				var values [][]float64
				for _, alike := range own {
					if shares := v.shares(alike, framing); len(shares) > 0 {
						values = append(values, mediansOf(shares))
					}
				}
				return stat.Differ(values)
			})
		if !depends {
			continue
		}
		slices.SortStableFunc(own, func(a, b []stat.Member) int { return len(b) - len(a) })
		for _, alike := range own[:min(len(own), mostGroups)] {
			title := factor + " " + factorOf(alike[0], factor)
			all = append(all, group{title, alike})
		}
	}
	return all
}

// mostGroups is how many groups a factor has in a table.
const mostGroups = 12

// table has a line for each group of machines, and a column for each framing.
func (v fleetStream) table(by string, groups []group) Table {
	t := Table{
		Title: fmt.Sprintf("Goodput vs raw, messages of %s, %s",
			SizeTitle(v.cell.Size), ShortPlacement(v.cell.Placement)),
		Columns: []Column{
			{Title: by, Key: true},
			{Title: "number", Right: true},
			{Title: "raw", Right: true},
		},
	}
	for i, framing := range v.framings {
		title := FramingPhrase(framing)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	for _, g := range groups {
		number := Value{}
		if len(g.members) > 1 {
			number = countValue(int64(len(g.members)))
		}
		row := []Value{textValue(g.title), number, rawValue(g.members, v.cell)}
		for _, framing := range v.framings {
			row = append(row, sharesValue(v.shares(g.members, framing)))
		}
		t.AppendValues(row...)
	}
	return t.dropEmpty()
}

// rawValue is the goodput of raw messages: the median of several machines.
func rawValue(members []stat.Member, cell results.Cell) Value {
	cell.Framing = results.FramingRaw
	var values []float64
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell {
				values = append(values, f.Speed.Median)
			}
		}
	}
	if len(values) == 0 {
		return Value{}
	}
	median := stat.SpreadOf(values).Median
	return figureValue(median, results.FormatGoodput(median))
}

// sharesValue shows the share on one machine with its interval, or the median of several machines
// with its range.
func sharesValue(all []stat.Estimate) Value {
	switch len(all) {
	case 0:
		return Value{}
	case 1:
		return figureValue(all[0].Median, ratioText(&all[0]))
	}
	s := stat.SpreadOf(mediansOf(all))
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.P10, s.P90)
	return figureValue(s.Median, text)
}

// memberSection describes the machines, a line each. It leaves out what all have in common.
func memberSection(members []stat.Member) Section {
	about := Section{ID: "machines", Title: "The machines", Folded: true}
	t := Table{Columns: []Column{{Title: "machine", Key: true}, {Title: "runs", Right: true}}}
	fields := machineFields(results.Environment{})
	for _, f := range fields {
		t.Columns = append(t.Columns, Column{Title: f.title})
	}
	for _, m := range members {
		row := []string{m.Name, fmt.Sprint(len(m.Runs))}
		for _, f := range machineFields(m.Environment()) {
			row = append(row, f.text)
		}
		t.Append(row...)
	}
	about.Tables = []Table{t.dropEmpty()}
	if len(members) <= FewMachines {
		about.Lead = machineLines(members)
	}
	return about
}

// machineLines says of each machine what it has of the factors in which the machines differ, and
// how fast raw bytes are.
func machineLines(members []stat.Member) []string {
	var differ []string
	for _, factor := range factors {
		if len(grouped(members, func(m stat.Member) string { return factorOf(m, factor) })) > 1 {
			differ = append(differ, factor)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	streams := fleetStreams(members)
	var lines []string
	for _, m := range members {
		var parts []string
		for _, factor := range differ {
			parts = append(parts, factorPhrase(m, factor))
		}
		if len(streams) > 0 {
			raw := rawValue([]stat.Member{m}, streams[0].cell)
			if raw.Text != "" {
				parts = append(parts, "raw bytes "+raw.Text)
			}
		}
		if parts = nonEmpty(parts); len(parts) > 0 {
			lines = append(lines, m.Name+": "+strings.Join(parts, ", ")+".")
		}
	}
	return lines
}

// factorPhrase says in words what a machine has of a factor, "" if that is not known.
func factorPhrase(m stat.Member, factor string) string {
	value := factorOf(m, factor)
	switch {
	case value == "unknown" || factor == "imitation" && value == "none":
		return ""
	case factor == "virtualisation" && value == "none":
		return "no virtual machine"
	case factor == "page":
		return "pages of " + value
	case factor == "CPUs":
		return value + " CPUs"
	case factor == "largest pipe":
		return "pipes of up to " + value
	case factor == "governor":
		return "governor " + value
	}
	return value
}

// nameSome names a few of many.
func nameSome(names []string) string {
	more := len(names) - mostNamedMachines
	if more < 2 {
		return joinAnd(names)
	}
	return strings.Join(names[:mostNamedMachines], ", ") + fmt.Sprintf(" and %d more", more)
}

// mostNamedMachines is how many machines a sentence names.
const mostNamedMachines = 3
