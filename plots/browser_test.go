package plots

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// TestReportInABrowser opens the report of everything in a headless Chromium: nothing on its
// console, nothing asked of the network, every section there, and a dark page where the system is
// dark.
func TestReportInABrowser(t *testing.T) {
	b := newBrowser(t)
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(fullPage(t)), 0o644); err != nil {
		t.Fatal(err)
	}

	t.Run("light", func(t *testing.T) {
		dom, console := b.run(t, page, "--dump-dom")
		if got := sectionsOf(dom); !slices.Equal(got, allSections) {
			t.Errorf("sections %q, want %q", got, allSections)
		}
		if n := strings.Count(dom, `<svg class="plot"`); n < 15 {
			t.Errorf("%d pictures", n)
		}
		for _, line := range strings.Split(console, "\n") {
			if strings.Contains(line, "CONSOLE") {
				t.Errorf("on the console: %s", line)
			}
		}
		for _, url := range b.requests(t) {
			t.Errorf("asked the network for %s", url)
		}
		if light := b.brightness(t, page); light < 0xf0 {
			t.Errorf("a light page has brightness %d", light)
		}
	})
	t.Run("dark", func(t *testing.T) {
		if dark := b.brightness(t, page, "--force-dark-mode", "--blink-settings=preferredColorScheme=0"); dark > 0x30 {
			t.Errorf("a dark page has brightness %d", dark)
		}
	})
	t.Run("print", func(t *testing.T) {
		pdf := filepath.Join(t.TempDir(), "report.pdf")
		b.run(t, page, "--print-to-pdf="+pdf)
		if content, err := os.ReadFile(pdf); err != nil || !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("not printed: %v", err)
		}
	})
}

// TestPrintKeepsToThePage prints a table whose evidence has no place to break a line at: the
// columns beside it keep a width that can be read, so that its rows are not each as long as a page.
func TestPrintKeepsToThePage(t *testing.T) {
	b := newBrowser(t)
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	const rows = 12
	for i := range rows {
		set.Faults = append(set.Faults, results.Fault{
			Run: "run-1", ID: fmt.Sprintf("split-utf8/case-%d", i), Verdict: "silent-loss",
			Evidence: results.MustEvidence(map[string]any{"cases": strings.Repeat("unbroken", 45)}),
			Advice:   strings.Repeat("What to do is a sentence of many words. ", 6),
		})
	}
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(pageOf(t, set, ReportOptions{})), 0o644); err != nil {
		t.Fatal(err)
	}
	pdf := filepath.Join(t.TempDir(), "report.pdf")
	b.run(t, page, "--print-to-pdf="+pdf)
	content, err := os.ReadFile(pdf)
	if err != nil {
		t.Fatal(err)
	}
	if pages := len(printedPage.FindAll(content, -1)); pages < 1 || pages > 1+rows/4 {
		t.Errorf("%d rows of a table took %d pages", rows, pages)
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
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--window-size=1100,1400",
		"--host-resolver-rules=MAP * ~NOTFOUND", // nothing leaves this machine, the browser's own calls home included
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
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

// TestBrowserSeesRequests makes sure that a page which does ask for something would be found out.
func TestBrowserSeesRequests(t *testing.T) {
	b := newBrowser(t)
	page := filepath.Join(t.TempDir(), "bad.html")
	const url = "http://pipebench.invalid/picture.png"
	if err := os.WriteFile(page, []byte(`<img src="`+url+`"><script>console.log("noise")</script>`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, console := b.run(t, page, "--dump-dom")
	if !slices.Contains(b.requests(t), url) {
		t.Error("a request of the page is not in the network log")
	}
	if !strings.Contains(console, "CONSOLE") {
		t.Error("a line on the console is not in the browser's log")
	}
}

// brightness of the page's upper left corner, on a screenshot that must not be of one colour.
func (b browser) brightness(t *testing.T, page string, flags ...string) uint8 {
	t.Helper()
	shot := filepath.Join(t.TempDir(), "shot.png")
	b.run(t, page, append(flags, "--screenshot="+shot)...)
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
