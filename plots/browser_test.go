package plots

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
)

// TestReportInABrowser opens the report of everything in a headless Chromium, at three widths, and
// uses it as a person does (testdata/harness.html): no element is wider than the window, it is no
// longer than eight screens before what is folded, nothing is on the console or asked of the
// network, and what its script adds works.
func TestReportInABrowser(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	harness, err := os.ReadFile("testdata/harness.html")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"report.html": fullPage(t), "harness.html": string(harness), "run.html": runPage(t),
		"fleet.html": pageOf(t, twoMachines(), ReportOptions{}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dom, console := b.run(t, filepath.Join(dir, "harness.html"), "--dump-dom",
		"--allow-file-access-from-files", "--virtual-time-budget=60000")
	for _, line := range strings.Split(console, "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("on the console: %s", line)
		}
	}
	for _, url := range b.requests(t) {
		if !strings.HasPrefix(url, "file://") {
			t.Errorf("asked the network for %s", url)
		}
	}
	_, text, found := strings.Cut(dom, `<pre id="facts">`)
	text, _, _ = strings.Cut(text, "</pre>")
	var facts map[string]any
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &facts); !found || err != nil {
		t.Fatalf("no facts: %v in %.300s", err, dom)
	}
	want := map[string]any{
		"report overflow 400": 0.0, "report overflow 1280": 0.0, "report overflow 1920": 0.0,
		"run overflow 400": 0.0, "run overflow 1280": 0.0, "run overflow 1920": 0.0,
		"fleet overflow 400": 0.0, "fleet overflow 1280": 0.0, "fleet overflow 1920": 0.0,
		"run is short": true, "fleet is short": true,
		"background": "rgb(255, 255, 255)",
		"sections":   strings.Join(allSections, " "),
		"folded":     true, // the machines' table
		"verdicts":   true, // first on a phone
		"questions":  true, // before the answers, on a phone, too
		"phone":      true, // its pictures are as narrow as the screen
		"tells":      "ndjson",
		"sorted":     "ascending 1,descending 1",
		"filtered":   "only ndjson",
		"unfolded":   true, // what the filter looks through
		"csv":        "blob:",
	}
	if d := cmp.Diff(want, facts); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestADarkPageOnPaper opens a page where the system is dark, prints it, and has it do what no page
// of this package does. It is dark. A table whose evidence has no place to break a line at keeps
// the columns beside it to a width that can be read, so that its rows are not each as long as a
// printed page. A request and a line on the console would be found out.
func TestADarkPageOnPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser once more")
	}
	b := newBrowser(t)
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	const rows = 12
	for i := range rows {
		set.Findings = append(set.Findings, results.Finding{
			Run: "run-1", ID: fmt.Sprintf("failure/split-utf8/case-%d", i), Verdict: results.Fails,
			Found:  strings.Repeat("unbroken", 45),
			Advice: strings.Repeat("What to do is a sentence of many words. ", 6),
		})
	}
	const url = "http://pipebench.invalid/picture.png"
	dir := t.TempDir()
	page := filepath.Join(dir, "report.html")
	pdf := filepath.Join(dir, "report.pdf")
	shot := filepath.Join(dir, "shot.png")
	content := pageOf(t, set, ReportOptions{})
	content = strings.Replace(content, "Content-Security-Policy", "none", 1)
	noise := `<img src="` + url + `"><script>console.log("noise")</script></body>`
	content = strings.Replace(content, "</body>", noise, 1)
	if err := os.WriteFile(page, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	_, console := b.run(t, page, "--print-to-pdf="+pdf, "--screenshot="+shot,
		"--force-dark-mode", "--blink-settings=preferredColorScheme=0")
	printed, err := os.ReadFile(pdf)
	if err != nil {
		t.Fatal(err)
	}
	if pages := len(printedPage.FindAll(printed, -1)); pages < 1 || pages > 1+rows/4 {
		t.Errorf("%d rows of a table took %d pages", rows, pages)
	}
	if dark := brightness(t, shot); dark > 0x30 {
		t.Errorf("a dark page has brightness %d", dark)
	}
	if !slices.Contains(b.requests(t), url) {
		t.Error("a request of the page is not in the network log")
	}
	if !strings.Contains(console, "CONSOLE") {
		t.Error("a line on the console is not in the browser's log")
	}
}

// printedPage is a page's object in a PDF of Chromium's.
var printedPage = regexp.MustCompile(`/Type\s*/Page\b`)

// A browser is an installed Chromium with a profile of its own.
type browser struct {
	program string
	netLog  string
	profile string
}

// newBrowser skips the test where no Chromium is installed.
func newBrowser(t *testing.T) browser {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			dir := t.TempDir()
			return browser{program, filepath.Join(dir, "net.json"), filepath.Join(dir, "profile")}
		}
	}
	t.Skip("no Chromium is installed")
	return browser{}
}

// run opens a page and returns what the browser writes.
func (b browser) run(t *testing.T, page string, flags ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--window-size=1100,1400",
		// nothing leaves this machine, the browser's own calls home included
		"--host-resolver-rules=MAP * ~NOTFOUND",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions",
		"--enable-logging=stderr", "--user-data-dir=" + b.profile, "--log-net-log=" + b.netLog,
	}, flags...)
	cmd := exec.CommandContext(ctx, b.program, append(args, "file://"+page)...)
	cmd.WaitDelay = time.Minute // its helpers hold the pipes for a while after it is gone
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", b.program, err, errs.String())
	}
	return out.String(), errs.String()
}

// pageRequest is a request in the browser's network log that a page made: the number is the hash of
// "blink_resource_loader", by which Chromium marks those and nothing of its own.
var pageRequest = regexp.MustCompile(`"traffic_annotation":101845102,"url":("(?:[^"\\]|\\.)*")`)

// requests lists the addresses that the page of the last run asked for.
func (b browser) requests(t *testing.T) []string {
	t.Helper()
	log, err := os.ReadFile(b.netLog)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range pageRequest.FindAllSubmatch(log, -1) {
		var url string
		if err := json.Unmarshal(m[1], &url); err != nil {
			t.Fatal(err)
		}
		out = append(out, url)
	}
	return out
}

// brightness of a page's upper left corner, on a screenshot that must not be of one colour.
func brightness(t *testing.T, shot string) uint8 {
	t.Helper()
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 3 {
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("the screenshot has %d colours", len(colours))
	}
	_, green, _, _ := picture.At(2, 2).RGBA()
	return uint8(green >> 8)
}
