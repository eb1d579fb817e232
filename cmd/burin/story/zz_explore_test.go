package story_test

import (
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

func TestZZ(t *testing.T) {
	s := begin(t, []llmtest.Turn{
		{Parts: []llmtest.Part{{Thinking: "let me think about it", Signature: "x"}, {Text: "Two at once."}, {Call: "write", Args: `{"path":"a.txt","content":"1"}`}, {Call: "write", Args: `{"path":"b.txt","content":"2"}`}}},
		call("bash", `{"command":"for i in 1 2 3; do echo line $i; done; exit 3"}`),
		say("Done."),
	})
	show := func(what string) { t.Logf("=== %s\n%s", what, s.Text()) }
	s.send("two")
	s.WaitText("Yes")
	s.WaitText("b.txt")
	show("two")
	s.answer("y")
	s.WaitText("it writes b.txt")
	s.answer("n")
	s.WaitText("Done.")
	s.WaitGone("Working")
	show("done")
	s.Press("alt+up")
	s.send("/queue")
	s.send("/jobs")
	s.WaitText("Background")
	show("jobs")
	s.Press("esc")
	s.send("/logout")
	s.WaitText("Login")
	show("logout")
	s.Press("esc")
	s.WaitText("Ask any")
	s.send("/cost")
	s.WaitText("By day")
	show("cost")
	s.Press("esc")
	s.send("/context")
	s.WaitText("tools")
	show("context")
	s.Press("esc")
	s.send("/session")
	s.WaitText("folder")
	show("session")
	s.Press("esc")
	s.send("/help")
	s.WaitText("rename")
	show("help")
}
