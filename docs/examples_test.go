package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// The guides are executed as a reader would type them. A page is read from top to bottom:
//
//   - a console block is run line by line in a copy of testdata/project, and what the
//     commands print must match what the page shows ("…" is any text);
//   - a yaml block that begins with "# ~/.burin/NAME" is written to that file;
//   - a json block behind a comment "file: NAME" is written to that file of the configuration;
//   - a markdown block that begins with a comment that names a file is written, without the
//     comment, to that file of the project;
//   - a comment "model" says what the model answers next, one turn a line ("call TOOL {…}"
//     is a tool call, "error STATUS" a failure); a model without a script says "Done.";
//   - a comment "exit: N" is the exit code of the next block, zero if there is none;
//   - comments "received: TEXT" and "not received: TEXT" are checks of what the commands of
//     the block before them sent to the model.
func TestGuides(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are written for a Unix shell")
	}
	bin := build(t)
	pages, err := filepath.Glob("howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "tutorial.md", "rules.md", "skills.md", "urls.md", "memory.md", "sources.md", "agents.md")
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			if page != "tutorial.md" && page != "howto/commit.md" { // those that show the most in the least time
				pacetest.Costly(t)
			}
			g := newGuide(t, bin)
			for _, step := range steps(read(t, page)) {
				g.do(step)
			}
			if g.ran == 0 {
				t.Error("the page has no example that runs")
			}
			if rest := g.model.rest(); rest > 0 {
				t.Errorf("%d turns of the page's model were never asked for", rest)
			}
		})
	}
}

// programVariable names the program to the tests that come after the one that built it: a package has
// no state here.
const programVariable = "DOCS_PROGRAM"

func TestMain(m *testing.M) {
	given := os.Getenv(programVariable)
	code := m.Run()
	if bin := os.Getenv(programVariable); bin != given {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// build makes the program that readers have, once.
func build(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv(programVariable); bin != "" {
		return bin
	}
	dir, err := os.MkdirTemp("", "burin-docs-")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "burin")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "github.com/burin-dev/burin/cmd/burin").CombinedOutput()
	if err != nil {
		os.RemoveAll(dir)
		t.Fatalf("%v\n%s", err, out)
	}
	os.Setenv(programVariable, bin) //nolint:errcheck // a name without "=" is good
	return bin
}

// step is a fenced block, or a comment for the test: its kind and its text.
type step struct{ kind, text string }

var piece = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$|^<!-- (model|exit:|file:|received:|not received:)\\s(.*?)\\s*-->$")

func steps(page string) []step {
	var out []step
	for _, m := range piece.FindAllStringSubmatch(page, -1) {
		out = append(out, step{m[1] + strings.TrimSuffix(m[3], ":"), m[2] + m[4]})
	}
	return out
}

// answers is a model whose turns are added while it runs.
type answers struct {
	mu     sync.Mutex
	next   []string
	server *llmtest.Server
	seen   int
}

func (a *answers) reply(*llm.Request) []llm.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := "Done."
	if len(a.next) > 0 {
		text, a.next = a.next[0], a.next[1:]
	}
	used := llm.Usage{Input: 1000, Output: 50}
	if status, ok := strings.CutPrefix(text, "error "); ok {
		code, _ := strconv.Atoi(status)
		return llmtest.Fail(wire.Sort(code, "", "the example wants it"))
	}
	if call, ok := strings.CutPrefix(text, "call "); ok {
		tool, args, _ := strings.Cut(call, " ")
		return append(llmtest.Call(fmt.Sprintf("call_%d", len(a.next)), tool, args), llmtest.Stop(llm.StopToolUse, used)...)
	}
	return append(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used)...)
}

func (a *answers) rest() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.next)
}

// block starts a block: got returns what the model receives from here on.
func (a *answers) block() { a.seen = len(a.server.Raw()) }

// got returns the requests received since the block started.
func (a *answers) got() string {
	var all bytes.Buffer
	for _, r := range a.server.Raw()[a.seen:] {
		all.Write(r.Body)
	}
	return all.String()
}

type guide struct {
	*testing.T
	home, project string
	env           []string
	exports       string
	file          string // that the next json block is
	exit          int
	ran           int
	model         *answers
}

func newGuide(t *testing.T, bin string) *guide {
	home := t.TempDir()
	g := &guide{T: t, home: home, project: filepath.Join(home, "greet"), model: &answers{}}
	if err := os.CopyFS(g.project, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{Reply: g.model.reply}}, 100)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	g.model.server = srv
	g.env = []string{
		"HOME=" + home, "BURIN_HOME=" + filepath.Join(home, ".burin"), "XDG_RUNTIME_DIR=" + t.TempDir(),
		"PATH=" + filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH"), "TERM=dumb", "LC_ALL=C.UTF-8",
		"BURIN_NO_KEYRING=1", "BURIN_SKIP_SETUP=1", "AWS_EC2_METADATA_DISABLED=true",
		"OLLAMA_HOST=http://127.0.0.1:1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1",
		"ANTHROPIC_API_KEY=sk-example", "ANTHROPIC_BASE_URL=" + srv.URL, "BURIN_MODEL=anthropic/claude-sonnet-4-5",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.org",
		"GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.org",
	}
	if code, out := g.run("git init -q && git add greet.go go.mod && git commit -qm 'Say hello'"); code != 0 {
		t.Fatal(out)
	}
	return g
}

func (g *guide) run(command string) (code int, out string) {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), "sh", "-c", g.exports+command)
	cmd.Dir, cmd.Env = g.project, g.env
	all, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		g.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(all), "\r", "")
}

func (g *guide) do(s step) {
	g.Helper()
	switch s.kind {
	case "console":
		g.console(s.text)
	case "model":
		g.model.mu.Lock()
		g.model.next = append(g.model.next, strings.Split(s.text, "\n")...)
		g.model.mu.Unlock()
	case "exit":
		n, err := strconv.Atoi(s.text)
		if err != nil {
			g.Fatal(err)
		}
		g.exit = n
	case "received", "not received":
		quoted, _ := json.Marshal(s.text)
		if strings.Contains(g.model.got(), string(bytes.Trim(quoted, `"`))) != (s.kind == "received") {
			g.Errorf("%s %q is not true: %s", s.kind, s.text, g.model.got())
		}
	case "yaml":
		name, ok := settingsFile(s.text)
		if !ok {
			g.Fatalf("the example does not say which file it is:\n%s", s.text)
		}
		g.write(name, strings.ReplaceAll(s.text, "http://127.0.0.1:8000", g.model.server.URL))
	case "file":
		g.file = s.text
	case "json":
		if g.file == "" {
			g.Fatalf("the example does not say which file it is:\n%s", s.text)
		}
		g.write(g.file, s.text)
		g.file = ""
	case "markdown":
		first, text, _ := strings.Cut(s.text, "\n")
		name, ok := strings.CutPrefix(first, "<!-- ")
		name, closed := strings.CutSuffix(name, " -->")
		if !ok || !closed || !filepath.IsLocal(name) {
			g.Fatalf("the example does not say which file it is:\n%s", s.text)
		}
		path := filepath.Join(g.project, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			g.Fatal(err)
		}
	case "text": // what a terminal shows
	default:
		g.Errorf("a block of kind %q is not run: use console, yaml, json, markdown or text", s.kind)
	}
}

// write writes a file of the configuration.
func (g *guide) write(name, text string) {
	g.Helper()
	path := filepath.Join(g.home, ".burin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		g.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

// settingsFile is the name in a first line "# ~/.burin/NAME".
func settingsFile(text string) (name string, ok bool) {
	first, _, _ := strings.Cut(text, "\n")
	return strings.CutPrefix(first, "# ~/.burin/")
}

func (g *guide) console(text string) {
	g.Helper()
	g.model.block()
	code := 0
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		for strings.HasSuffix(command, `\`) { // continued on the next line
			more, rest, _ := strings.Cut(want, "\n")
			command, want = command+"\n"+more, rest
		}
		for strings.HasPrefix(want, ">") { // the shell asks for the rest of a text
			more, rest, _ := strings.Cut(want[1:], "\n")
			command, want = command+"\n"+strings.TrimPrefix(more, " "), rest
		}
		if strings.HasPrefix(command, "export ") {
			g.exports += command + "\n"
			continue
		}
		g.ran++
		var out string
		code, out = g.run(command)
		if !printed(want).MatchString(strings.TrimSpace(out)) {
			g.Errorf("$ %s\nprints (exit code %d)\n%s\nthe page shows\n%s", command, code, out, want)
		}
	}
	if code != g.exit {
		g.Errorf("exit code %d, want %d, after\n%s", code, g.exit, text)
	}
	g.exit = 0
}

// printed matches output as a page shows it.
func printed(want string) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(strings.TrimSpace(want)) {
		line = strings.TrimRight(line, "\n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n?)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\s*`)
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`)
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```(?:console|sh|)\n(.*?)^```$|(?m)((?:^    .*\n)+)")
	flagName  = regexp.MustCompile(`^--[a-z][a-z-]*`)
	quotedArg = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// Every command line that any page shows names subcommands and flags that exist.
func TestCommandLines(t *testing.T) {
	bin := build(t)
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("howto/*.md")
	help := map[string]string{}
	checked := 0
	for _, page := range append([]string{"../README.md"}, pacetest.Cases(nil, append(pages, more...))...) { // each command's help is a process
		for _, m := range codeBlock.FindAllStringSubmatch(read(t, page), -1) {
			for line := range strings.Lines(m[1] + m[2]) {
				line, _, _ = strings.Cut(quotedArg.ReplaceAllString(line, "X"), " #")
				_, line, ok := strings.Cut(" "+strings.TrimPrefix(strings.TrimSpace(line), "$ "), " burin ")
				if !ok {
					continue
				}
				line, _, _ = strings.Cut(line, "|")
				words := strings.Fields(line)
				var path []string
				for _, w := range words {
					if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(w) || len(path) == 3 || words[0] == "acp-run" {
						break
					}
					path = append(path, w)
				}
				text := helpOf(t, bin, path, help)
				if len(words) > 0 && words[0] == "acp-run" { // other flags of burin's hold for it, too
					text = helpOf(t, bin, words[:1], help) + helpOf(t, bin, nil, help)
				}
				for _, w := range words {
					if words[0] == "acp-run" && (w == "npx" || w == "gemini") {
						break // what stands behind is the agent's
					}
					if name := flagName.FindString(w); name != "" && !strings.Contains(text, name) && !strings.Contains(m[1]+m[2], "unknown flag "+name) { // the page shows the error
						t.Errorf("%s: %q: no such flag: %s", page, line, name)
					}
				}
				checked++
			}
		}
	}
	if checked < pacetest.Cases(5, 60) {
		t.Errorf("only %d command lines were found: does this test still know how they look?", checked)
	}
}

// helpOf is the help of a command, or of the longest part of its path that is one.
func helpOf(t *testing.T, bin string, path []string, known map[string]string) string {
	t.Helper()
	key := strings.Join(path, " ")
	if text, ok := known[key]; ok {
		return text
	}
	args := append(slices.Clone(path), "--help")
	if len(path) == 0 {
		args = []string{"help", "flags"}
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = append(os.Environ(), "BURIN_HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("burin %s --help: %v", key, err)
	}
	known[key] = string(out)
	return known[key]
}

// Links lead to pages, files and sections that exist, and every page is in the index.
func TestLinks(t *testing.T) {
	pages, _ := filepath.Glob("*.md")
	more, _ := filepath.Glob("howto/*.md")
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	part := regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	inIndex := map[string]bool{"README.md": true}
	for _, page := range append(append(pages, more...), "../README.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
			if page == "README.md" {
				inIndex[m[1]] = true
			}
		}
		for _, m := range part.FindAllStringSubmatch(read(t, page), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if strings.HasSuffix(to, ".md") && !slices.Contains(anchors(read(t, to)), m[2]) {
				t.Errorf("%s links to #%s of %s, which has no such section", page, m[2], to)
			}
		}
	}
	for _, page := range append(pages, more...) {
		if !inIndex[page] {
			t.Errorf("README.md, the index, doesn't have %s", page)
		}
	}
}

// anchors are the ends of the addresses of a page's sections, as GitHub and the help of the chat app make them.
func anchors(text string) (all []string) {
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || title == line {
			continue
		}
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return all
}
