package drive_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

func documents(job, language string) drive.Options {
	o := server(job)
	o.Protocol, o.Request, o.Language = "lsp", drive.RequestDocument, language
	return o
}

func TestDocumentsAreOpenedAskedAboutAndClosed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, protocol, server, language string }{
		{"protocol found out", "auto", "lsp python", "python"},
		{"protocol given", "lsp", "lsp go", "go"},
		{"language unknown to us", "lsp", "lsp cobol", "cobol"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := documents(row.server, row.language)
			o.Protocol, o.Start = row.protocol, 4*time.Second
			d := begin(t, o)
			want := "documents of language " + row.language + ","
			if !strings.HasPrefix(d.Request(), want) {
				t.Errorf("sends %s, want %s", d.Request(), want)
			}
			sweep, err := d.Sweep(t.Context(), []int{1 << 10, 64 << 10}, discard)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range sweep.Targets {
				if !r.Served() { // slow is served, too
					t.Errorf("%d bytes: %s: %v", r.Size, r.Verdict, r.Evidence)
				}
				if slices.ContainsFunc(r.Warnings, ofNoDocument) {
					t.Errorf("%d bytes: warns %q", r.Size, r.Warnings)
				}
			}
			if d.Starts() != 1 {
				t.Errorf("started %d times", d.Starts())
			}
		})
	}
}

// A framing that the user names is no sign of MCP.
func TestALanguageServerIsFoundInTheFramingThatIsNamed(t *testing.T) {
	o := server("mislength 0")
	o.Framing = "content-length"
	if d := open(t, o); d.Protocol() != "lsp" {
		t.Errorf("found %s", d.Protocol())
	}
}

// A language that the server does not know is an answer to a request, as any other refusal is.
func TestDocumentsOfALanguageThatIsRefused(t *testing.T) {
	d := open(t, documents("lsp go", "c"))
	sweep, err := d.Sweep(t.Context(), []int{1 << 10}, discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdictsOf(sweep); got != "error reply" {
		t.Errorf("got %s", got)
	}
}

func TestTheUnknownRequestOfALanguageServerIsRefused(t *testing.T) {
	t.Parallel()
	o := server("lsp go")
	o.Start = 4 * time.Second
	d := begin(t, o)
	if d.Protocol() != "lsp" || !strings.Contains(d.Request(), "which it refuses") {
		t.Fatalf("found %s, sends %s", d.Protocol(), d.Request())
	}
	r, _ := d.Sweep(t.Context(), []int{1 << 10, 2 << 10}, discard)
	if len(failures(r)) > 0 {
		t.Errorf("%+v", failures(r))
	}
	first, second := r.Targets[0].Warnings, r.Targets[1].Warnings
	if !slices.ContainsFunc(first, ofNoDocument) || slices.ContainsFunc(second, ofNoDocument) {
		t.Errorf("it is to say once that there was no document: %q, %q", first, second)
	}
}

func ofNoDocument(warning string) bool {
	return strings.HasPrefix(warning, "no document was opened: pipebench drive ") &&
		strings.Contains(warning, " --request document --language LANGUAGE -- ")
}

func TestDocumentsAreNoLoad(t *testing.T) {
	d := open(t, documents("lsp go", "go"))
	err := d.Load(t.Context(), drive.Load{Size: 2000, Inflight: 8}, discard)
	if err == nil || !strings.Contains(err.Error(), "one at a time") {
		t.Errorf("err = %v", err)
	}
}

func TestTheLimitOfDocumentsIsFoundToTheByte(t *testing.T) {
	o := documents("lsp go 70000", "go")
	d := open(t, o)
	limits, err := d.FindLimits(t.Context(), 1<<20, discard)
	if err != nil {
		t.Fatal(err)
	}
	l := limitOf(limits[0])
	if l.above != "exit 1" || l.bytes <= 70000 || l.bytes > 70500 {
		t.Errorf("found %+v", l)
	}
	if text := l.payload + len("package p\n\nfunc pipebench() {}\n\n// \n"); text != 70000 {
		t.Errorf("the text at the limit has %d bytes", text)
	}
}

func TestDocumentsLeaveNoFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	d, err := drive.Open(t.Context(), documents("lsp go", "go"))
	if err != nil {
		t.Fatal(err)
	}
	if made, _ := filepath.Glob(filepath.Join(os.TempDir(), "pipebench-*")); len(made) != 1 {
		t.Errorf("folders %q", made)
	}
	d.Close()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "pipebench-*")); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, job string
		change    func(*drive.Options)
		says      string
	}{
		{"unknown", "cat", func(o *drive.Options) { o.Request = "wish" },
			"known: auto, unknown, tool, document"},
		{"documents for lines", "cat", func(o *drive.Options) {
			o.Protocol = "lines"
			o.Request = drive.RequestDocument
			o.Language = "go"
		}, "lines has no request"},
		{"documents for MCP", "mcp", func(o *drive.Options) {
			o.Protocol = "mcp"
			o.Request = drive.RequestDocument
			o.Language = "go"
		}, "mcp has no request"},
		{"a tool of a language server", "lsp go", func(o *drive.Options) {
			o.Protocol = "lsp"
			o.Request = drive.RequestTool
		}, "lsp has no request"},
		{"a tool for lines", "cat", func(o *drive.Options) {
			o.Protocol = "lines"
			o.Tool = "echo"
		}, "has no tools"},
		{"a tool for replies, where it is found out that there are none", "cat",
			func(o *drive.Options) { o.ReplyTool = "large" }, "has no tools"},
		{"an argument that the tool for replies lacks", "rows", func(o *drive.Options) {
			o.ReplyTool = "report"
			o.ReplyArg = "size"
		}, "tool report has no such argument; it has [rows]: "},
		{"an argument without a tool for lines", "cat", func(o *drive.Options) {
			o.Protocol = "lines"
			o.Args = `{"a":1}`
		}, "has no tools"},
		{"a tool that is not to be called", "mcp", func(o *drive.Options) {
			o.Request = drive.RequestUnknown
			o.Tool = "echo"
		}, "is not called"},
		{"a language without documents", "lsp go", func(o *drive.Options) { o.Language = "go" },
			"says nothing without"},
		{"documents without a language", "lsp go",
			func(o *drive.Options) { o.Request = drive.RequestDocument },
			"needs a language, such as json, css"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			row.change(&o)
			d, err := drive.Open(t.Context(), o)
			if err == nil {
				d.Close()
				t.Fatal("was taken")
			}
			if !strings.Contains(err.Error(), row.says) {
				t.Errorf("says %q, want %q in it", err, row.says)
			}
		})
	}
}

func TestAToolIsLeftAloneWhereTheTransportIsAskedFor(t *testing.T) {
	o := server("mcp")
	o.Request = drive.RequestUnknown
	if d := open(t, o); strings.Contains(d.Request(), "tool") {
		t.Errorf("sends %s", d.Request())
	}
}

// A server that ignores unknown methods is measured by a method that it has, if it names one.
func TestServersThatIgnoreUnknownMethods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job, language, request string
		verdict                target.Verdict
	}{
		{"lsp reserved", "",
			"method textDocument/documentSymbol, as it ignores unknown methods", target.OK},
		{"lsp shy", "", "method pipebench/unknown", target.Ignored},
		{"lsp shy", "shy", "documents of language shy, ", target.OK},
	} {
		t.Run(row.job+" "+row.language, func(t *testing.T) {
			t.Parallel()
			o := documents(row.job, row.language)
			if row.language == "" {
				o.Request = drive.RequestAuto
			}
			o.Start = 4 * time.Second
			o.Patience = 200 * time.Millisecond
			d := begin(t, o)
			if !strings.HasPrefix(d.Request(), row.request) {
				t.Errorf("sends %s, want %s", d.Request(), row.request)
			}
			set := new(results.Set)
			if _, err := d.Sweep(t.Context(), []int{1 << 10}, keepIn(set)); err != nil {
				t.Fatal(err)
			}
			kept := set.Targets[0]
			if kept.Verdict != string(row.verdict) {
				t.Errorf("%s: %s, want %s", kept.Verdict, kept.Evidence.Why, row.verdict)
			}
		})
	}
}
