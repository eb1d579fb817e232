package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// repository is a project with one committed file, a.txt.
func repository(t *testing.T) (home, dir string) {
	t.Helper()
	home = t.TempDir()
	dir = filepath.Join(home, "project")
	write(t, filepath.Join(dir, "a.txt"), "old\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	return home, dir
}

// noFolders fails if a folder of an isolated agent is left.
func noFolders(t *testing.T, home string) {
	t.Helper()
	if left, _ := os.ReadDir(filepath.Join(home, "burin", "isolated")); len(left) > 1 { // one is the lock
		t.Errorf("folders of agents are left: %v", left)
	}
}

// Somebody looks at an isolated agent that waits for its turn: it works in the folder that it has got by
// that, and its changes come back.
func TestQueuedIsolatedAgentIsLookedAt(t *testing.T) {
	pacetest.Costly(t)
	home, dir := repository(t)
	gate, begun := make(chan struct{}), make(chan string, 2)
	o := opened(t, officeOptions{home: home, settings: "task: {maxConcurrency: 1, isolation: {mode: auto}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			begun <- s.who
			<-gate
			return llmtest.Call("w", "write", `{"path":"`+s.who+`.txt","content":"new\n"}`)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change it", "two: change it")
		}
		return nil
	})
	done := make(chan struct{})
	go func() { defer close(done); o.prompt("go") }()
	queued := map[string]string{"one": "two", "two": "one"}[<-begun]
	h, err := o.handle.Agents().Open(t.Context(), queued, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	close(gate)
	<-done
	for _, name := range []string{"one.txt", "two.txt"} {
		if got := content(t, filepath.Join(dir, name)); got != "new\n" {
			t.Errorf("%s is %q", name, got)
		}
	}
	o.end()
	noFolders(t, home)
}

// An isolated agent whose conversation is open when it is done can be asked to go on there, and what it
// changes then comes back when nobody looks any more. What the person took back meanwhile stays so.
func TestIsolatedAgentGoesOnWhileLookedAt(t *testing.T) {
	pacetest.Costly(t)
	home, dir := repository(t)
	gate, begun := make(chan struct{}), make(chan struct{}, 1)
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			begun <- struct{}{}
			<-gate
			return llmtest.Call("w", "write", `{"path":"one.txt","content":"one\n"}`)
		case s.who != "" && strings.Contains(s.last, "go on"):
			return append(llmtest.Call("v", "write", `{"path":"two.txt","content":"two\n"}`), llmtest.Call("b", "bash", `{"command":"ls"}`)...)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change it")
		}
		return nil
	})
	done := make(chan struct{})
	go func() { defer close(done); o.prompt("go") }()
	<-begun
	h, err := o.handle.Agents().Open(t.Context(), "one", "test", true)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	<-done
	if got := content(t, filepath.Join(dir, "one.txt")); got != "one\n" {
		t.Errorf("one.txt is %q when the agent is done", got)
	}
	if err := os.Remove(filepath.Join(dir, "one.txt")); err != nil {
		t.Fatal(err)
	}
	r, err := h.Conversation().Submit(t.Context(), session.Input{Message: llm.UserText("go on")})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Conversation().Wait(t.Context(), r.ID); err != nil || out.Err != nil {
		t.Errorf("%v, %v", err, out.Err)
	}
	asked := o.requests("one")
	if last := asked[len(asked)-1].last; !strings.Contains(last, "two.txt") || !strings.Contains(last, "one.txt") {
		t.Errorf("its shell does not work: %s", last)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	o.until("the changes are back", func() bool { _, err := os.Stat(filepath.Join(dir, "two.txt")); return err == nil })
	if _, err := os.Stat(filepath.Join(dir, "one.txt")); err == nil {
		t.Error("what the person had removed is there again")
	}
	o.end()
	noFolders(t, home)
}

// Each time that an isolated agent ends its changes are on a branch of their own, and so are those of an
// agent with the same name in another session.
func TestBranchesOfAgentsHaveFreeNames(t *testing.T) {
	pacetest.Costly(t)
	home, dir := repository(t)
	for range 2 {
		o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto, merge: branch}}\n"}, func(s said) []llm.Event {
			switch {
			case s.who != "" && s.turn%2 == 0:
				return llmtest.Call("w", "write", `{"path":"n`+string(rune('0'+s.turn))+`.txt","content":"new\n"}`)
			case s.who != "":
				return llmtest.Say("changed")
			case s.turn == 0:
				return isolated("one: change it")
			case s.turn == 1:
				return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
			}
			return llmtest.Say("end")
		})
		o.prompt("go")
		o.end()
	}
	for branch, files := range map[string]string{"one": "n0.txt", "one-2": "n2.txt", "one-3": "n0.txt", "one-4": "n2.txt"} {
		if got := git(t, dir, "diff", "--name-only", "HEAD", "burin/task/"+branch); !strings.Contains(got, files) {
			t.Errorf("the branch %s has %q", branch, got)
		}
	}
	noFolders(t, home)
}

// A typed result is what fits the schema: not an attempt that was refused, and with the types that
// the schema has.
func TestTypedResultsFit(t *testing.T) {
	home, _ := repository(t)
	write(t, filepath.Join(home, "burin", "agents", "counter.md"), "---\nname: counter\ndescription: Counts.\noutput: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}\n---\nCount.\n")
	o := opened(t, officeOptions{home: home}, func(s said) []llm.Event {
		switch {
		case s.who == "one":
			return append(llmtest.Call("a", "result", `{"n":"bad","junk":1}`), llmtest.Call("b", "result", `{"n":6}`)...)
		case s.who == "two":
			return llmtest.Call("a", "result", `{"n":"7"}`)
		case s.turn == 0:
			return tasks("counter", false, "one: count", "two: count")
		}
		return llmtest.Say("end")
	})
	r := o.results(o.prompt("go"))
	for i, want := range []string{`{"n":6}`, `{"n":7}`} {
		if r[i].Output != want || r[i].State != "done" {
			t.Errorf("%s has the result %q, %s %s", r[i].ID, r[i].Output, r[i].State, r[i].Error)
		}
	}
}

// An agent whose definition is gone, or may not run any more, does not go on after a resume: with which
// tools it worked is not known.
func TestAgentWithoutDefinitionDoesNotGoOn(t *testing.T) {
	home, _ := repository(t)
	file := filepath.Join(home, "burin", "agents", "looker.md")
	write(t, file, "---\nname: looker\ndescription: Looks.\ntools: read\n---\nLook.\n")
	o := opened(t, officeOptions{home: home}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return llmtest.Say("seen")
		case s.turn == 0:
			return tasks("looker", false, "one: look at it")
		}
		return llmtest.Say("end")
	})
	o.prompt("go")
	path := o.Facts().Path
	o.end()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	again := opened(t, officeOptions{home: home, change: func(s *host.Session) { s.Resume = path }}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			t.Errorf("it is asked, with the tools %v", s.Tools)
			return llmtest.Say("again")
		case !strings.Contains(s.last, "can't go on"):
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
		}
		return llmtest.Say("end")
	})
	again.prompt("go on")
	asked := again.requests("")
	if last := asked[len(asked)-1].last; !strings.Contains(last, `there is no agent "looker" that may run now`) {
		t.Errorf("the session reads %q", last)
	}
}

// A follow-up has the limits of a piece of work for itself, and what ends it is said.
func TestFollowUpsHaveTheirOwnLimits(t *testing.T) {
	o := opened(t, officeOptions{settings: "task: {softRequestBudget: 2}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && (s.turn%2 == 0 || strings.Contains(s.last, "for ever") || s.turn > 6):
			return llmtest.Call("r", "glob", `{"pattern":"`+string(rune('a'+s.turn))+`*"}`)
		case s.who != "":
			return llmtest.Say("seen")
		case s.turn == 0:
			return tasks("task", false, "one: look at it")
		case s.turn < 3:
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"again","await":true}`)
		case s.turn == 3:
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"for ever","await":true}`)
		}
		return llmtest.Say("end")
	})
	o.prompt("go")
	asked := o.requests("")
	for i := 2; i < 4; i++ {
		if last := asked[i].last; !strings.Contains(last, "seen") {
			t.Errorf("follow-up %d: %s", i-1, last)
		}
	}
	if last := asked[4].last; !strings.Contains(last, "where 2 were expected (task.softRequestBudget)") {
		t.Errorf("a follow-up without an end: %s", last)
	}
}

// The session is closed while an isolated agent works: what it has changed is not brought back, but is
// there when it goes on.
func TestIsolatedAgentIsClosedAtWork(t *testing.T) {
	pacetest.Costly(t)
	home, dir := repository(t)
	begun := make(chan struct{}, 1)
	gate := make(chan struct{})
	defer close(gate)
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("w", "write", `{"path":"half.txt","content":"half\n"}`)
		case s.who != "":
			begun <- struct{}{}
			<-gate
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change it")
		}
		return nil
	})
	path := ""
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.Prompt(ctx, llm.UserText("go")) }()
	<-begun
	path = o.Facts().Path
	o.end()
	stop()
	<-done
	if _, err := os.Stat(filepath.Join(dir, "half.txt")); err == nil {
		t.Error("half of the change was brought back")
	}
	again := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto}}\n", change: func(s *host.Session) { s.Resume = path }}, func(s said) []llm.Event {
		switch {
		case s.who != "" && strings.Contains(s.last, "go on"):
			return llmtest.Call("v", "write", `{"path":"whole.txt","content":"whole\n"}`)
		case s.who != "":
			return llmtest.Say("changed")
		case strings.Contains(s.last, "continue"):
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
		}
		return llmtest.Say("end")
	})
	again.prompt("continue")
	told := false
	for _, m := range again.requests("")[0].Messages {
		told = told || strings.Contains(m.Text(), "in its own folder, and come")
	}
	if !told {
		t.Error("the session is not told where the changes are")
	}
	for _, name := range []string{"half", "whole"} {
		if got := content(t, filepath.Join(dir, name+".txt")); got != name+"\n" {
			t.Errorf("%s.txt is %q", name, got)
		}
	}
	again.end()
	noFolders(t, home)
}

// A call that is stopped tells the model where the changes of its agents are. They come back when the
// agent has gone on.
func TestStoppedCallTellsWhereChangesAre(t *testing.T) {
	home, dir := repository(t)
	begun := make(chan struct{}, 1)
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("w", "write", `{"path":"half.txt","content":"half\n"}`)
		case s.who != "" && strings.Contains(s.last, "go on"):
			return llmtest.Call("v", "write", `{"path":"whole.txt","content":"whole\n"}`)
		case s.who != "" && len(begun) == 0 && s.turn == 1:
			begun <- struct{}{}
			return llmtest.Call("b", "bash", `{"command":"sleep 60"}`)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change it")
		case strings.Contains(s.last, "what now?"):
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
		}
		return llmtest.Say("end")
	})
	done := make(chan struct{})
	go func() { defer close(done); o.prompt("go") }()
	<-begun
	o.Abort()
	<-done
	if _, err := os.Stat(filepath.Join(dir, "half.txt")); err == nil {
		t.Error("half of the change was brought back")
	}
	o.prompt("what now?")
	asked := o.requests("")
	var all strings.Builder
	for _, m := range asked[len(asked)-1].Messages {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	for _, want := range []string{"What it changed is in its own folder, and comes back when it has gone on.", "Its changes of 2 files were brought back: half.txt, whole.txt"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("the model does not read %q: %s", want, &all)
		}
	}
	for _, name := range []string{"half", "whole"} {
		if got := content(t, filepath.Join(dir, name+".txt")); got != name+"\n" {
			t.Errorf("%s.txt is %q", name, got)
		}
	}
	o.end()
	noFolders(t, home)
}

// A later patch of the same agent does not replace the one before.
func TestPatchesOfAgentsAreKept(t *testing.T) {
	pacetest.Costly(t)
	home, dir := repository(t)
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: auto}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("r", "read", `{"path":"a.txt"}`)
		case s.who != "" && s.turn == 1:
			write(t, filepath.Join(dir, "a.txt"), "by the person\n")
			return llmtest.Call("w", "write", `{"path":"a.txt","content":"by the agent\n"}`)
		case s.who != "" && strings.Contains(s.last, "go on"):
			return llmtest.Call("v", "write", `{"path":"b.txt","content":"more\n"}`)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change it")
		case s.turn == 1:
			return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
		}
		return llmtest.Say("end")
	})
	r := o.results(o.prompt("go"))
	if got := content(t, r[0].Patch); !strings.Contains(got, "by the agent") {
		t.Errorf("the patch is now %q", got)
	}
	if got := content(t, strings.TrimSuffix(r[0].Patch, ".patch")+"-2.patch"); !strings.Contains(got, "more") {
		t.Errorf("the second patch is %q", got)
	}
}
