package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// program is a burin that a test drives with lines.
type driven struct {
	testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan map[string]any // closed at the end of the output
	seen  []string
	said  strings.Builder // standard error
}

func drive(t testing.TB, cmd *exec.Cmd, args ...string) *driven {
	t.Helper()
	cmd.Args = append(cmd.Args, args...)
	d := &driven{TB: t, cmd: cmd, lines: make(chan map[string]any, 10_000)}
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &d.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		defer close(d.lines)
		in := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var v map[string]any
			if err := json.Unmarshal(line, &v); err != nil {
				v = map[string]any{"type": "no JSON", "line": string(line)}
			}
			v["\x00"] = strings.TrimSpace(string(line))
			d.lines <- v
		}
	}()
	return d
}

func (d *driven) send(line string) {
	d.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.Fatalf("%v; it said: %s", err, d.said.String())
	}
}

// until reads lines up to one that fits.
func (d *driven) until(what string, fits func(map[string]any) bool) map[string]any {
	d.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for {
		select {
		case v, ok := <-d.lines:
			if !ok {
				d.Fatalf("the output ended before %s; it said: %s\n%s", what, d.said.String(), strings.Join(d.seen, "\n"))
			}
			d.seen = append(d.seen, v["\x00"].(string))
			if fits(v) {
				return v
			}
		case <-late.C:
			d.Fatalf("no %s in\n%s", what, strings.Join(d.seen, "\n"))
		}
	}
}

// event waits for a line of a type.
func (d *driven) event(typ string) map[string]any {
	d.Helper()
	return d.until(typ, func(v map[string]any) bool { return v["type"] == typ })
}

// response waits for the response of an id.
func (d *driven) response(id string) map[string]any {
	d.Helper()
	return d.until("response "+id, func(v map[string]any) bool { return v["type"] == "response" && v["id"] == id })
}

// ask sends a command and gives the data of its response.
func (d *driven) ask(id, command string) map[string]any {
	d.Helper()
	d.send(command)
	v := d.response(id)
	if v["success"] != true {
		d.Fatalf("%s: %v", command, v["error"])
	}
	data, _ := v["data"].(map[string]any)
	return data
}

// end closes the input and wants an exit code.
func (d *driven) end(code int) {
	d.Helper()
	if err := d.in.Close(); err != nil {
		d.Fatal(err)
	}
	for v := range d.lines {
		d.seen = append(d.seen, v["\x00"].(string))
	}
	_ = d.cmd.Wait() // the exit code says how
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.Fatalf("exit code %d, want %d; it said: %s", got, code, d.said.String())
	}
}

// fitsPage reports whether a value of a page is that of a line: objects may have more fields,
// "…" is anything, and the names in ids stand for what came.
func fitsPage(want, got any, ids map[string]string) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for name, w := range want {
			if !ok || !fitsPage(w, m[name], ids) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := got.([]any)
		if !ok {
			return false
		}
		for _, w := range want {
			if w == "…" { // any number of others
				return len(l) >= len(want)-1
			}
		}
		if len(l) < len(want) {
			return false
		}
		for i, w := range want {
			if !fitsPage(w, l[i], ids) {
				return false
			}
		}
		return len(want) > 0 || len(l) == 0
	case string:
		if want == "…" {
			s, ok := got.(string)
			return ok && s != ""
		}
		if want == "ID" || want == "PROJECT" || want == "CHAT" || want == "PIECE" {
			s, ok := got.(string)
			ids[want] = s
			return ok
		}
	}
	return want == got
}

var pageStep = regexp.MustCompile("(?ms)^```(rpc|rpc-json)\n(.*?)^```$|^<!-- (model|received:)\\s(.*?)\\s*-->$")

// The examples of the pages run as they stand there, each block in a burin of its own.
func TestRPCPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, page := range []string{"rpc.md", "json.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + page)
			if err != nil {
				t.Fatal(err)
			}
			var answers []string
			var last *brain
			ran := 0
			for _, m := range pageStep.FindAllStringSubmatch(string(text), -1) {
				switch {
				case m[3] == "model":
					answers = strings.Split(m[4], "\n")
				case m[3] == "received:":
					if body := last.sent(); !strings.Contains(body, m[4]) {
						t.Errorf("the model did not receive %q:\n%s", m[4], body)
					}
				default:
					last = newBrain(t)
					last.script = answers
					answers = nil
					runExample(t, last, m[1], m[2])
					ran++
				}
			}
			if ran == 0 {
				t.Error("the page has no example")
			}
		})
	}
}

// sent is all that the model was sent.
func (b *brain) sent() string {
	var all strings.Builder
	for _, raw := range b.srv.Raw() {
		all.Write(append(raw.Body, '\n'))
	}
	return all.String()
}

// scripted is the next answer of a script: words, or "call TOOL {…}".
func (b *brain) scripted() ([]llm.Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.script) == 0 {
		return nil, false
	}
	text := b.script[0]
	b.script = b.script[1:]
	used := llm.Usage{Input: 100, Output: 20}
	if call, ok := strings.CutPrefix(text, "call "); ok {
		tool, args, _ := strings.Cut(call, " ")
		return append(llmtest.Call(fmt.Sprintf("call_%d", len(b.script)), tool, args), llmtest.Stop(llm.StopToolUse, used)...), true
	}
	return append(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used)...), true
}

func runExample(t *testing.T, b *brain, kind, text string) {
	t.Helper()
	args := []string{"--mode", "rpc"}
	if kind == "rpc-json" {
		args = []string{"--mode", "json", "--input-format", "json"}
	}
	d := drive(t, machine(t, b, rpcConfig), args...)
	ids := map[string]string{}
	for line := range strings.Lines(text) {
		rest := strings.TrimSpace(line[1:])
		if line[0] == '>' {
			if id := ids["ID"]; id != "" {
				rest = strings.ReplaceAll(rest, `"ID"`, `"`+id+`"`)
			}
			d.send(rest)
			continue
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(rest), &want); err != nil {
			t.Fatalf("%s: %v", rest, err)
		}
		d.until(rest, func(v map[string]any) bool { return fitsPage(want, v, ids) })
	}
	d.end(exitDone)
}
