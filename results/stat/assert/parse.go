package assert

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Names of figures that are not a [stat.Metric]. The verdicts "fails", "slow" and "cannot-tell" are
// such names, too.
const (
	limitName = "limit"
	slopeName = "slope"
	toRawName = "to-raw"
)

var errForm = errors.New("want METRIC<VALUE, such as p99<50ms, or METRIC<VALUE@CELLS, " +
	"such as p99<50ms@64KiB,placement=same; comparisons are <, <=, > and >=")

// Parse reads a condition. Its error says what would be right.
func Parse(text string) (Condition, error) {
	c := Condition{Text: strings.TrimSpace(text), Size: -1}
	if err := c.parse(); err != nil {
		return c, fmt.Errorf("assertion %q: %w", text, err)
	}
	return c, nil
}

func (c *Condition) parse() error {
	comparison, about, hasCells := strings.Cut(c.Text, "@")
	at := strings.IndexAny(comparison, "<>")
	if at < 0 {
		return errForm
	}
	c.Metric = strings.TrimSpace(comparison[:at])
	c.Op = comparison[at : at+1]
	value := comparison[at+1:]
	if strings.HasPrefix(value, "=") {
		c.Op += "="
		value = value[1:]
	}
	value = strings.TrimSpace(value)
	about = strings.TrimSpace(about)
	if c.Metric == "" || value == "" || hasCells && about == "" {
		return errForm
	}
	if err := c.findMetric(); err != nil {
		return err
	}
	var err error
	c.Value, err = parseQuantity(value, c.unit)
	if err != nil {
		return err
	}
	if hasCells {
		return c.parseCells(about)
	}
	return nil
}

// Metrics lists the metrics that a condition can name, apart from verdicts and percentiles by key.
func Metrics() []string { return append(stat.MetricNames(), limitName, slopeName, toRawName) }

// findMetric sets the metric that the condition names, and its unit.
func (c *Condition) findMetric() error {
	switch c.Metric {
	case limitName:
		c.unit = "B"
		return nil
	case slopeName, toRawName,
		string(results.Fails), string(results.Slow), string(results.CannotTell):
		return nil
	}
	m, err := stat.MetricByName(c.Metric)
	if err != nil {
		return fmt.Errorf("metric %q is not known; known are %s; verdicts of check are "+
			"fails, slow, cannot-tell", c.Metric, strings.Join(Metrics(), ", "))
	}
	c.metric = m
	c.unit = m.Unit
	return nil
}

// parseCells reads the text behind @: a size, settings such as placement=same, or both.
func (c *Condition) parseCells(about string) error {
	for part := range strings.SplitSeq(about, ",") {
		name, value, isField := strings.Cut(strings.TrimSpace(part), "=")
		if !isField {
			size, err := results.ParseSize(part)
			if err != nil {
				return err
			}
			if c.Size >= 0 {
				return errors.New("two sizes after @: give --assert once per size")
			}
			c.Size = size
			continue
		}
		known := results.CellFieldNames()
		if !slices.Contains(known, name) {
			return fmt.Errorf("a cell has no field %q; it has %s", name, strings.Join(known, ", "))
		}
		if value == "" {
			return fmt.Errorf("nothing after %s=", name)
		}
		isSame := func(f results.FieldText) bool { return f.Name == name }
		if slices.ContainsFunc(c.Where, isSame) {
			return fmt.Errorf("two values of %s after @: give --assert once per value", name)
		}
		c.Where = append(c.Where, results.FieldText{Name: name, Text: value})
	}
	if c.Size >= 0 && (c.Metric == slopeName || c.Metric == limitName) {
		return fmt.Errorf("a %s is over all sizes; leave out the one after @", c.Metric)
	}
	return nil
}

// parseQuantity reads a value such as 50ms, and converts it to the unit of a metric.
func parseQuantity(text, unit string) (float64, error) {
	switch unit {
	case "ns", "ns/MiB":
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("value %q: want a duration such as 50ms or 7.5us", text)
		}
		return float64(d), nil
	case "B":
		n, err := results.ParseSize(text)
		return float64(n), err
	case "B/s":
		scales := map[string]float64{"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1}
		return parseNumber(text, scales, "1.5GB/s or 800MB/s (decimal)")
	case "%":
		return parseNumber(text, map[string]float64{"%": 1}, "a percentage such as 1.5%")
	case "msg/s":
		scales := map[string]float64{"/s": 1, "": 1}
		return parseNumber(text, scales, "messages per second such as 20000 or 20000/s")
	case "":
		return parseNumber(text, map[string]float64{"": 1}, "a plain number")
	}
	return 0, errors.New("no assertion can be about this metric")
}

// parseNumber reads a number with one of the units in scales. Its error says what is wanted.
func parseNumber(text string, scales map[string]float64, want string) (float64, error) {
	form := regexp.MustCompile(`^([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*(\S*)$`)
	wrong := fmt.Errorf("value %q: want %s", text, want)
	m := form.FindStringSubmatch(text)
	if m == nil {
		return 0, wrong
	}
	scale, known := scales[m[2]]
	n, err := strconv.ParseFloat(m[1], 64)
	if !known || err != nil {
		return 0, wrong
	}
	return n * scale, nil
}
