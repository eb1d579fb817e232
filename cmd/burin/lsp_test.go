package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// withLanguage is a home whose lsp.json has a language server for .txt, with options of lsptest.
func withLanguage(t *testing.T, config string, options []string, turns ...llmtest.Turn) *configured {
	t.Helper()
	c := configure(t, "approval: full\n"+config, turns...)
	args, err := json.Marshal(append([]string{lsptest.Marker}, options...))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.put("burin/lsp.json", fmt.Sprintf(`{"servers": {"scripted": {"command": %q, "args": %s, "fileTypes": [".txt"], "rootMarkers": []}}}`, self, args))
	c.put("work/a.txt", "one ERR\ntwo\n")
	return c
}

// warm has the server start without a deadline of an edit: a machine may have much else to do.
func warm() llmtest.Turn { return calls("lsp", `{"action":"diagnostics","path":"a.txt"}`, 100) }

// result is that of the last call before a request, as the model reads it.
func (c *configured) result(request int) string {
	c.t.Helper()
	body := c.body(request)
	return body[strings.LastIndex(body, `"tool_result"`)+1:]
}

// What an edit breaks comes back with its result, and nothing that was there before.
func TestLSPEditReportsWhatItBreaks(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", nil, warm(),
		calls("edit", `{"path":"a.txt","edits":[{"old":"two","new":"three ERR"}]}`, 100),
		calls("lsp", `{"action":"hover","path":"a.txt","symbol":"three"}`, 100),
		calls("lsp", `{"action":"diagnostics","path":"a.txt"}`, 100), says("Done.", 100))
	out := c.burin("-p", "do it")
	if !slices.Contains(c.offered(0), "lsp") {
		t.Fatalf("the tool is not offered: %q\n%s", c.offered(0), out)
	}
	edited := c.result(2)
	if !strings.Contains(edited, `New diagnostics:\na.txt:2: error: an error: three ERR [scripted E1]`) || strings.Contains(edited, "a.txt:1: error") {
		t.Errorf("the model was told: %s\n%s", edited, out)
	}
	if hover := c.result(3); !strings.Contains(hover, "textDocument/didChange") {
		t.Errorf("hover: %s", hover)
	}
	if all := c.result(4); !strings.Contains(all, `a.txt:1: error: an error: one ERR`) {
		t.Errorf("diagnostics: %s", all)
	}
}

// Each setting does what it says.
func TestLSPSettings(t *testing.T) {
	t.Parallel()
	edit := calls("edit", `{"path":"a.txt","edits":[{"old":"two","new":"three ERR"}]}`, 100)
	write := calls("write", `{"path":"b.txt","content":"four ERR\n"}`, 100)
	blanks := calls("write", `{"path":"b.txt","content":"four   \n"}`, 100)
	for _, c := range []struct {
		setting  string
		call     llmtest.Turn
		on, off  string // in the result, with true and with false
		leftByOn string // what b.txt holds then
	}{
		{"diagnosticsOnEdit", edit, "a.txt:2: error", "Edited a.txt", ""},
		{"diagnosticsOnWrite", write, "b.txt:1: error", "Created b.txt", ""},
		{"diagnosticsDeduplicate", edit, "a.txt:2: error", "a.txt:1: error", ""},
		{"formatOnWrite", blanks, "scripted formatted b.txt", "Created b.txt", "four\n"},
		{"enabled", edit, "a.txt:2: error", "Edited a.txt", ""},
	} {
		for _, value := range []bool{true, false} {
			home := withLanguage(t, fmt.Sprintf("lsp: {%s: %v}\n", c.setting, value), nil, warm(), c.call, says("Done.", 100))
			out := home.burin("-p", "do it")
			body := home.result(2)
			if has := strings.Contains(body, c.on); value != has && c.setting != "diagnosticsDeduplicate" {
				t.Errorf("%s: %v: %s\n%s", c.setting, value, body, out)
			}
			if !value && !strings.Contains(body, c.off) || value && c.setting == "diagnosticsDeduplicate" && strings.Contains(body, c.off) {
				t.Errorf("%s: %v: %s\n%s", c.setting, value, body, out)
			}
			if c.setting == "enabled" && slices.Contains(home.offered(0), "lsp") != value {
				t.Errorf("enabled: %v offers %q", value, home.offered(0))
			}
			if c.leftByOn != "" && value {
				if text, err := os.ReadFile(filepath.Join(home.dir, "work", "b.txt")); err != nil || string(text) != c.leftByOn {
					t.Errorf("%s: b.txt holds %q, %v", c.setting, text, err)
				}
			}
		}
	}
}

// Without a server for what the project is written in the tool isn't offered.
func TestLSPIsOfferedWhereAServerIs(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", nil, says("Done.", 100))
	if err := os.Remove(filepath.Join(c.dir, "work", "a.txt")); err != nil {
		t.Fatal(err)
	}
	out := c.burin("-p", "do it")
	if slices.Contains(c.offered(0), "lsp") {
		t.Errorf("offered: %q\n%s", c.offered(0), out)
	}
}

// A server of a project starts only once the person trusts it.
func TestLSPOfAProject(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", nil, says("Done.", 100), says("Done.", 100))
	text, err := os.ReadFile(filepath.Join(c.dir, "burin", "lsp.json"))
	if err != nil {
		t.Fatal(err)
	}
	c.put("burin/lsp.json", "{}")
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	c.put("work/.burin/lsp.json", string(text))
	out := c.burin("-p", "do it")
	if slices.Contains(c.offered(0), "lsp") || !strings.Contains(out, "burin trust") {
		t.Fatalf("offered: %q\n%s", c.offered(0), out)
	}
	if out := c.burin("trust", "--allow"); !strings.Contains(out, "scripted") {
		t.Fatalf("trust: %s", out)
	}
	out = c.burin("-p", "do it")
	if !slices.Contains(c.offered(1), "lsp") {
		t.Errorf("with trust: %q\n%s", c.offered(1), out)
	}
}

// Agents have language servers where the setting says so.
func TestLSPOfAgents(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		c := withLanguage(t, fmt.Sprintf("task: {enableLsp: %v}\n", on), nil, calls("task", strings.TrimPrefix(startAgents(1, ""), "task "), 100), says("The work is done.", 100), says("Done.", 100))
		out := c.burin("-p", "do it")
		agent := slices.IndexFunc(c.model.Requests(), func(r *llm.Request) bool {
			return len(r.Messages) > 0 && !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), "do it") })
		})
		if agent < 0 {
			t.Fatalf("no agent worked\n%s\n%s", c.result(1), out)
		}
		if slices.Contains(c.offered(agent), "lsp") != on {
			t.Errorf("enableLsp: %v: the agent is offered %q\n%s", on, c.offered(agent), out)
		}
	}
}

// A server that does not start holds nothing up, and says why when it is asked.
func TestLSPServerThatIsBroken(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", []string{"broken"},
		calls("edit", `{"path":"a.txt","edits":[{"old":"two","new":"three ERR"}]}`, 100),
		calls("lsp", `{"action":"hover","path":"a.txt","symbol":"three"}`, 100), says("Done.", 100))
	out := c.burin("-p", "do it")
	if body := c.result(1); !strings.Contains(body, "Edited a.txt") || strings.Contains(body, "iagnostics") {
		t.Errorf("the edit: %s\n%s", body, out)
	}
	if body := c.result(2); !strings.Contains(body, "a library is missing") {
		t.Errorf("hover: %s", body)
	}
}

// A rename changes fifty files exactly, and an undo brings back every byte.
func TestLSPRenameOfFiftyFiles(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	path := os.Getenv("BURIN_GOPLS")
	if path == "" {
		var err error
		if path, err = exec.LookPath("gopls"); err != nil {
			t.Skip("gopls is not in PATH, and BURIN_GOPLS does not name it: go install golang.org/x/tools/gopls@v0.23.0")
		}
	}
	c := configure(t, "approval: full\n",
		calls("lsp", `{"action":"rename","path":"p.go","symbol":"Greeting","line":4,"new_name":"Welcome"}`, 100),
		calls("lsp", `{"action":"apply","id":"change-1"}`, 100), says("Done.", 100))
	c.put("burin/lsp.json", fmt.Sprintf(`{"gopls": {"command": %q}}`, path))
	c.put("work/go.mod", "module example.com/p\n\ngo 1.24\n")
	want := map[string]string{}
	put := func(name, text string) {
		c.put("work/"+name, text)
		want[name] = text
	}
	put("p.go", "package p\n\n// Greeting says hello.\nfunc Greeting() string { return \"Greeting\" }\n")
	for i := range 50 {
		put(fmt.Sprintf("use%d.go", i), fmt.Sprintf("package p\r\n\r\nfunc use%d() string { return \"ä😀 Greeting\" + Greeting() } // Greeting\r\n", i))
	}
	if out := c.burin("-p", "rename it"); !strings.Contains(c.result(2), "51 files") {
		t.Fatalf("%s\n%s\n%s", c.result(1), c.result(2), out)
	}
	for name, text := range want {
		renamed := strings.ReplaceAll(strings.ReplaceAll(text, "Greeting()", "Welcome()"), "// Greeting says", "// Welcome says")
		if got, err := os.ReadFile(filepath.Join(c.dir, "work", name)); err != nil || string(got) != renamed {
			t.Fatalf("%s holds %q, want %q", name, got, renamed)
		}
	}
	out := c.burin("undo", "--yes")
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(c.dir, "work", name)); err != nil || string(got) != text {
			t.Fatalf("after the undo %s holds %q\n%s", name, got, out)
		}
	}
}

// The page's example of linters, with gofmt, which is there where Go is.
func TestLSPLinterOfThePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gofmt"); err != nil {
		t.Skip("gofmt is not in PATH")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "lsp.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "## Linters that are programs")
	_, after, _ = strings.Cut(after, "```json\n")
	example, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	c := configure(t, "approval: full\n",
		calls("edit", `{"path":"a.go","edits":[{"old":"func","new":"fun"}]}`, 100),
		calls("lsp", `{"action":"diagnostics","path":"a.go"}`, 100), says("Done.", 100))
	c.put("burin/lsp.json", example)
	c.put("work/go.mod", "module example.com/a\n\ngo 1.24\n")
	c.put("work/a.go", "package a\n\nfunc f() {}\n")
	if out := c.burin("lsp"); !strings.Contains(out, "gofmt") || strings.Contains(out, "biome") {
		t.Errorf("burin lsp: %s", out)
	}
	if out := c.burin("lsp", "test", "gofmt"); !strings.Contains(out, "gofmt answers") {
		t.Errorf("burin lsp test: %s", out)
	}
	out := c.burin("-p", "do it")
	if edited := c.result(1); !strings.Contains(edited, `New diagnostics:`) || !strings.Contains(edited, `a.go:3: error: expected declaration, found fun`) {
		t.Errorf("the edit: %s\n%s", edited, out)
	}
	if asked := c.result(2); !strings.Contains(asked, "[gofmt]") {
		t.Errorf("diagnostics: %s", asked)
	}
}

// Of a server that looks at the whole project on request, the model gets all.
func TestLSPDiagnosticsOfTheProject(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", []string{"pull", "workspace"}, calls("lsp", `{"action":"diagnostics"}`, 100), says("Done.", 100))
	out := c.burin("-p", "do it")
	if all := c.result(1); !strings.Contains(all, `all.txt:1: error: an error: ERR of the whole project`) || strings.Contains(all, "so far") {
		t.Errorf("diagnostics: %s\n%s", all, out)
	}
}

// The servers of a running session are seen, read and restarted from outside.
func TestLSPOfRunningSessions(t *testing.T) {
	t.Parallel()
	turn, asked, release := held("Done.")
	c := withLanguage(t, "", []string{"wordy"}, warm(), turn)
	if out := c.burin("lsp", "status"); !strings.Contains(out, "no running session has language servers") {
		t.Errorf("before: %s", out)
	}
	running := c.start("-p", "do it")
	<-asked
	var status []struct {
		ID, State, Session string
		Memory             int64
		Errors, Starts     int
	}
	state := func() string {
		out := c.burin("lsp", "status", "--json")
		status = nil
		if err := json.Unmarshal([]byte(out), &status); err != nil || len(status) != 1 {
			t.Fatalf("status: %v, %s", err, out)
		}
		return status[0].State
	}
	if got := state(); got != "running" || status[0].ID != "scripted" || status[0].Errors != 1 || status[0].Starts != 1 || runtime.GOOS == "linux" && status[0].Memory < 1<<20 {
		t.Errorf("status: %+v", status)
	}
	id := status[0].Session
	if out := c.burin("lsp", "status", "--session", id[:6]); !strings.Contains(out, "scripted  running") {
		t.Errorf("as a table: %s", out)
	}
	if out := c.burin("lsp", "log", "scripted"); !strings.Contains(out, "ready to serve") {
		t.Errorf("log: %s", out)
	}
	if out := c.burin("lsp", "restart", "gopls"); !strings.Contains(out, `no running session in this folder has language servers, or this one`) {
		t.Errorf("restart of another one: %s", out)
	}
	if out := c.burin("lsp", "restart"); !strings.Contains(out, "scripted ended") {
		t.Errorf("restart: %s", out)
	}
	if got := state(); got != "stopped" {
		t.Errorf("after the restart: %+v", status)
	}
	close(release)
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
}

func TestNoLSP(t *testing.T) {
	t.Parallel()
	c := withLanguage(t, "", nil, says("Done.", 100))
	out := c.burin("-p", "do it", "--no-lsp")
	if offered := c.offered(0); slices.Contains(offered, "lsp") || !slices.Contains(offered, "edit") {
		t.Errorf("offered: %q\n%s", offered, out)
	}
}
