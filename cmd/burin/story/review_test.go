package story_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// /review shows what agents found as part of the conversation, so that the person can say what to
// do about it by number. A session that is resumed still has it.
func TestReview(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	hold := make(chan struct{})
	reply := func(r *llm.Request) []llm.Event {
		hand := func(args string) []llm.Event {
			return append(llmtest.Call("r", "result", args), llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 10, Output: 10})...)
		}
		switch {
		case strings.Contains(r.System, "You are correctness, a sub-agent"):
			<-hold
			return hand(`{"findings":[{"file":"a.txt","line":1,"severity":"P1","confidence":0.9,"title":"The greeting is misspelled","explanation":"Everybody reads it."}]}`)
		case strings.Contains(r.System, "You are verify-1, a sub-agent"):
			return hand(`{"verdicts":[{"id":1,"verdict":"confirmed","confidence":0.9,"reason":"yes"}]}`)
		case strings.Contains(r.System, "a sub-agent"):
			return hand(`{"findings":[]}`)
		}
		return append(llmtest.Say("Fixed the spelling."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 10, Output: 10})...)
	}
	turns := make([]llmtest.Turn, 20)
	for i := range turns {
		turns[i] = llmtest.Turn{Reply: reply}
	}
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release) // if the test ends early, the server can close
	s := beginWith(t, model)
	repository(t, s.dir, map[string]string{"a.txt": "Hello\n", ".gitignore": ".burin\n"})
	if out, err := exec.Command("git", "-C", s.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-am", "rest").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, filepath.Join(s.dir, "a.txt"), "Helo\n")

	s.send("/review")
	s.WaitText("Reviewing")
	release()
	s.WaitText("1. P1 The greeting is misspelled")
	s.WaitText("a.txt:1 (correctness, 90 %)")
	s.WaitText("1 finding in uncommitted changes")
	s.send("fix 1")
	s.WaitText("Fixed the spelling.")
	requests := model.Requests()
	heard := ""
	for _, m := range requests[len(requests)-1].Messages {
		heard += m.Text() + "\n"
	}
	if !strings.Contains(heard, "The greeting is misspelled") || strings.Index(heard, "misspelled") > strings.Index(heard, "fix 1") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.WaitGone("Working")
	s.send("/review nothing")
	s.WaitText(`no commit "nothing" in this repository`)
	s.Golden("review")
}
