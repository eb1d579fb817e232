package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// held is an answer that begins when it is released; asked is closed when it is asked for.
func held(text string) (turn llmtest.Turn, asked, release chan struct{}) {
	asked, release = make(chan struct{}), make(chan struct{})
	return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-release
		return append(llmtest.Say(text), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20})...)
	}}, asked, release
}

// start runs burin beside the test.
func (c *configured) start(args ...string) *exec.Cmd {
	c.t.Helper()
	cmd := command(c.t, args...)
	cmd.Dir = filepath.Join(c.dir, "work")
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"))
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

const (
	remembering = "memory: {backend: local}\nmemories: {minRolloutIdleHours: 0}\n"
	merged      = "<file path=\"project/MEMORY.md\">\n- one and two\n</file>"
)

// An update that is killed while a model answers loses that answer alone. While it runs, another
// one says so and does nothing.
func TestMemoryUpdateIsKilled(t *testing.T) {
	pacetest.Costly(t)
	second, asked, release := held("- [project] the second fact")
	c := configure(t, remembering, says("One.", 100), says("Two.", 100),
		says("- [project] the first fact", 100), second, says("- [project] the second fact", 100), says(merged, 100))
	t.Cleanup(func() { close(release) }) // before the server waits for its answers
	c.burin("-p", "first prompt")
	c.burin("-p", "second prompt")
	killed := c.start("memory", "update")
	<-asked
	if out := c.burin("memory", "update"); !strings.Contains(out, "another burin is updating this memory") {
		t.Errorf("a second update says %q", out)
	}
	for _, args := range [][]string{{"memory", "clear"}, {"memory", "rebuild"}} {
		if out := c.burin(args...); !strings.Contains(out, "another burin is updating this memory") {
			t.Errorf("%v says %q", args, out)
		}
	}
	if out := c.burin("memory", "add", "a note"); !strings.Contains(out, "Remembered in") {
		t.Errorf("a note while an update runs: %q", out)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if out := c.burin("memory", "update"); !strings.Contains(out, "Memory updated: 1 session read") {
		t.Errorf("the next update says %q", out)
	}
	all := c.model.Requests()
	if len(all) != 6 {
		t.Fatalf("%d requests", len(all))
	}
	last := all[5].Messages[0].Text()
	for _, want := range []string{"the first fact", "the second fact", "a note"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not merged:\n%s", want, last)
		}
	}
	files, _ := filepath.Glob(filepath.Join(c.dir, "burin/memory/projects/*/*"))
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") {
			t.Errorf("left is %s", f)
		}
	}
}

// What a person writes into a file while an update works on it is not overwritten.
func TestMemoryUpdateLeavesEditsAlone(t *testing.T) {
	merging, asked, release := held(merged)
	c := configure(t, remembering, says("One.", 100), says("- [project] a fact", 100), merging, says(merged, 100))
	c.burin("-p", "first prompt")
	update := c.start("memory", "update")
	<-asked
	dir := strings.TrimSpace(c.burin("memory", "path"))
	writeFile(t, filepath.Join(dir, "MEMORY.md"), []byte("- by hand\n"), 0o600)
	close(release)
	if code := exitCode(t, update.Wait()); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "MEMORY.md")); string(text) != "- by hand\n" {
		t.Fatalf("the file is %q", text)
	}
	if out := c.burin("memory", "update"); !strings.Contains(out, "Memory updated") {
		t.Errorf("the next update says %q", out)
	}
	all := c.model.Requests()
	if last := all[len(all)-1].Messages[0].Text(); !strings.Contains(last, "- by hand") || !strings.Contains(last, "a fact") {
		t.Errorf("merged is %q", last)
	}
}

// An editor has the command of the memory, too, and what it adds is told to the next session.
func TestEditorMemory(t *testing.T) {
	on := filepath.Join(t.TempDir(), "on.yml")
	writeFile(t, on, []byte("memory: {backend: local}\n"), 0o600)
	r := openEditor(t, nil, []llmtest.Turn{say("On Fridays.")}, "--config", on)
	r.hello(object{})
	id := r.begin()
	told := func(text string) func() bool {
		return func() bool {
			return slices.ContainsFunc(r.frames, func(f string) bool { return strings.Contains(f, text) })
		}
	}
	r.until("the command", told(`"name":"memory","description":"Show and change what burin remembers"`))
	r.say(id, "/memory add we ship on Fridays")
	r.until("that it is remembered", told("Remembered in "))
	r.say(id, "/memory forget")
	r.until("the mistake", told(`/memory: unknown command`))
	r.say(r.begin(), "when do we ship?")
	if heard := r.last(); !strings.Contains(heard, "- we ship on Fridays") {
		t.Errorf("the model read %s", heard)
	}
}
