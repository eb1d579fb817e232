package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// crashed opens what is on the disk of a session at this moment, as if its process had been
// killed.
func (r *rig) crashed(change func(*rig, *session.Options)) *rig {
	r.t.Helper()
	names, err := filepath.Glob(r.path + "*")
	if err != nil || len(names) == 0 {
		r.t.Fatalf("there is no file of the session: %v", err)
	}
	raw, err := os.ReadFile(names[0])
	if err != nil {
		r.t.Fatal(err)
	}
	copied := filepath.Join(r.t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		r.t.Fatal(err)
	}
	log, _, err := transcript.OpenSession(copied, transcript.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return (&rig{t: r.t, f: r.f, srv: r.srv, net: r.net}).start(func(again *rig, o *session.Options) {
		if o.Log != nil {
			o.Log.Close() //nolint:errcheck // it is not used
		}
		o.Log, o.Path, again.path = log, copied, copied
		if change != nil {
			change(again, o)
		}
	})
}

// What was accepted is on the disk: a process that is killed at once loses none of it, and the
// next one sends it only when a person wants it.
func TestAcceptedSurvives(t *testing.T) {
	asked, gate := make(chan struct{}), make(chan struct{})
	r := start(t, formats()[0], nil, llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-gate
		return llmtest.Say("one")
	}}, say("two"), say("three"), say("four"), say("five"), say("six")) // the one that was killed goes on here
	c := r.Handle("first", false).Conversation()
	submit := func(text string, when session.When) session.Receipt {
		t.Helper()
		got, err := c.Submit(t.Context(), session.Input{Message: llm.UserText(text), When: when})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	submit("the first prompt", session.Soon)
	<-asked
	later := submit("what comes then", session.After)
	submit("never mind", session.Soon)
	again := r.crashed(nil)
	close(gate)
	h := again.Handle("second", false)
	waits, err := h.Queue().Waiting(t.Context())
	if err != nil || !waits.Held || len(waits.Steering) != 1 || len(waits.FollowUps) != 1 ||
		waits.FollowUps[0] != (session.Waiting{ID: later.ID, Text: "what comes then", By: "first"}) || waits.Steering[0].Text != "never mind" {
		t.Fatalf("what waits after the crash: %+v, %v", waits, err)
	}
	if n := again.Facts().Stats.Requests; n != 0 {
		t.Errorf("%d requests were made by themselves", n)
	}
	if _, err := h.Conversation().Submit(t.Context(), session.Input{ID: later.ID, Message: llm.UserText("what comes then")}); err != nil {
		t.Errorf("sending it again: %v", err)
	}
	if err := h.Queue().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := h.Conversation().Wait(t.Context(), later.ID)
	if err != nil || out.Reason != agent.ReasonDone {
		t.Fatalf("it ended with %+v, %v", out, err)
	}
	var said []string
	for _, m := range again.Messages() {
		if m.Role == llm.RoleUser {
			said = append(said, m.Text())
		}
	}
	if len(said) != 3 || said[0] != "the first prompt" {
		t.Errorf("the model read %q", said)
	}
	if waits, _ = h.Queue().Waiting(t.Context()); len(waits.Steering)+len(waits.FollowUps) > 0 {
		t.Errorf("still waiting: %+v", waits)
	}
}

// Custom messages of one type that wait are read together, whatever the modes of the queues are, and
// those of a resumed session, too. What is not of that type waits for its own turn.
func TestCustomMessagesAreReadTogether(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		asked, gate := make(chan struct{}), make(chan struct{})
		r := start(t, formats()[0], nil, llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			close(asked)
			<-gate
			return llmtest.Say("one")
		}}, say("two"), say("three"), say("four"), say("five")) // the one that was killed goes on here
		submit := func(custom, text string) (id string) {
			t.Helper()
			m := llm.UserText(text)
			if custom != "" {
				m.Role, m.CustomType = llm.RoleCustom, custom
			}
			got, err := r.Submit(t.Context(), session.Input{Message: m})
			if err != nil {
				t.Fatal(err)
			}
			return got.ID
		}
		submit("", "go")
		<-asked
		for _, text := range []string{"a", "b", "c"} {
			submit("letter", text)
		}
		last := submit("notice", "d")
		if n, size := session.Unread(r.Session, "letter"); n != 3 || size != 3 {
			t.Errorf("%d unread messages with %d bytes", n, size)
		}
		if resumed {
			r = r.crashed(nil)
			if err := r.Handle("test", false).Queue().Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		close(gate)
		if out, err := r.Wait(t.Context(), last); err != nil || out.Reason != agent.ReasonDone {
			t.Fatalf("%+v, %v", out, err)
		}
		var said []string
		for _, m := range r.Messages() {
			if text := m.Text(); m.Role != llm.RoleUser && text != "" {
				said = append(said, text)
			}
		}
		text := strings.Join(said, "|")
		if i := strings.Index(text, "a|b|c|"); i < 0 || !strings.Contains(text[i+6:], "|d|") {
			t.Errorf("resumed %v: %s", resumed, text)
		}
		if n, _ := session.Unread(r.Session, "letter"); n != 0 {
			t.Errorf("%d messages are unread", n)
		}
	}
}

// What waits is kept small, with its pictures as blobs, and comes back as it was typed.
func TestQueueKeepsPicturesAndTypedWords(t *testing.T) {
	asked, gate := make(chan struct{}), make(chan struct{})
	blobs := transcript.NewBlobs(t.TempDir())
	expand := func(_ context.Context, text string) (string, error) {
		return strings.ReplaceAll(text, "/review", strings.Repeat("Look at every line. ", 10)), nil
	}
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		log, err := transcript.Create(transcript.CreateFile(r.path), transcript.Header{CWD: "/work"}, transcript.Options{Blobs: blobs})
		if err != nil {
			t.Fatal(err)
		}
		o.Log, o.Expand = log, expand
	}, llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-gate
		return llmtest.Say("one")
	}}, say("two"), say("three"), say("four"))
	defer close(gate)
	c := r.Handle("first", false).Conversation()
	if _, err := c.Submit(t.Context(), session.Input{Message: llm.UserText("the first prompt")}); err != nil {
		t.Fatal(err)
	}
	<-asked
	picture := llm.Image{MIME: "image/png", Data: bytes.Repeat([]byte("picture "), 100_000)}
	typed := llm.Message{Role: llm.RoleUser, Content: []llm.Block{picture, llm.Text{Text: "blob:sha256:none"}, llm.Text{Text: "/review this"}}}
	if _, err := c.Submit(t.Context(), session.Input{Message: typed, When: session.After}); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(r.path + "*")
	if info, err := os.Stat(names[0]); err != nil || info.Size() > 10_000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	raw, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *session.Session { // as after a crash
		log, _, err := transcript.OpenSession(copied, transcript.Options{Blobs: blobs})
		if err != nil {
			t.Fatal(err)
		}
		o := r.o
		o.Log, o.Path = log, copied
		s, err := session.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	back, err := s.Handle("second", false).Queue().TakeBack(t.Context())
	if err != nil || len(back) != 1 {
		t.Fatalf("what comes back: %v, %v", back, err)
	}
	if diff := cmp.Diff(typed.Content, back[0].Message.Content); diff != "" {
		t.Errorf("what comes back: %s", diff)
	}
	_ = s.Close()

	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if followUps := s.FollowUps(); len(followUps) != 1 || !strings.HasPrefix(followUps[0].Text(), "blob:sha256:noneLook at every line.") || !cmp.Equal(followUps[0].Content[0], llm.Block(picture)) {
		t.Errorf("the model would read %d messages", len(followUps))
	}
}

// A prompt that begins a session is on the disk when Submit returns.
func TestFirstPromptSurvives(t *testing.T) {
	asked, gate := make(chan struct{}), make(chan struct{})
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		handletest.On(o).OnBeginTurn = func(string, string) error { close(asked); <-gate; return nil } // before anything is said
	}, say("one"), say("two"))
	c := r.Handle("first", false).Conversation()
	got, err := c.Submit(t.Context(), session.Input{Message: llm.UserText("hello")})
	if err != nil || !got.Started {
		t.Fatalf("%+v, %v", got, err)
	}
	<-asked
	again := r.crashed(nil)
	close(gate)
	waits, err := again.Handle("second", false).Queue().Waiting(t.Context())
	if err != nil || len(waits.Steering) != 1 || waits.Steering[0].Text != "hello" {
		t.Errorf("what waits: %+v, %v", waits, err)
	}
	if _, err := c.Wait(t.Context(), got.ID); err != nil {
		t.Error(err)
	}
}

// Without anybody there a question is refused, or waits and times out, as it was set.
func TestUnattended(t *testing.T) {
	ask := func(d *session.Desk) error {
		_, err := d.Ask(t.Context(), session.Question{Kind: session.AskConfirm, Title: "Sure?"})
		return err
	}
	if d := session.NewDesk(session.DeskOptions{}); d.CanAsk() || ask(d) != session.ErrUnattended {
		t.Error("nobody was there, and it waited")
	}
	d := session.NewDesk(session.DeskOptions{Wait: true, Timeout: 1})
	if !d.CanAsk() || ask(d) != session.ErrUnattended || len(d.Open()) != 0 {
		t.Error("it did not time out")
	}
	d = session.NewDesk(session.DeskOptions{Wait: true})
	answered := make(chan error, 1)
	go func() { answered <- ask(d) }()
	leave := d.Attend()
	for len(d.Open()) == 0 {
		select {
		case err := <-answered:
			t.Fatal(err)
		default:
		}
	}
	leave()
	leave() // once is enough
	if err := d.Answer(d.Open()[0].ID, session.Reply{Yes: true}, "late"); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := d.Answer("gone", session.Reply{}, "late"); err != session.ErrSettled {
		t.Errorf("an answer to nothing: %v", err)
	}
}

// overtaken is a store that another process takes over, or that can't write for another reason.
type overtaken struct {
	transcript.Memory
	why error
	now atomic.Bool
}

func (o *overtaken) Append(records ...[]byte) ([]transcript.Ref, error) {
	if o.now.Load() {
		return nil, fmt.Errorf("append: %w", o.why)
	}
	return o.Memory.Append(records...)
}

// A session that another process has taken over, or that can't be written any more, accepts nothing, says nothing of
// what isn't in its transcript, and asks no model. Who waits for a turn asks whoever has it then.
func TestTakenOver(t *testing.T) {
	for _, why := range []error{transcript.ErrTakenOver, transcript.ErrUnkept} {
		t.Run(why.Error(), func(t *testing.T) { testTakenOver(t, why) })
	}
}

func testTakenOver(t *testing.T, why error) {
	store := &overtaken{why: why}
	log, err := transcript.Create(store, transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked, gate := make(chan struct{}), make(chan struct{})
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Log, o.Path, o.Tools = log, "", []*tool.Tool{echo("look", tool.Reads)}
	},
		say("one"), llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			close(asked)
			<-gate
			return append(llmtest.Call("c1", "look", "{}"), llmtest.Stop(llm.StopToolUse, llm.Usage{})...)
		}})
	c := r.Handle("face", false).Conversation()
	submit := func(id string) error {
		_, err := c.Submit(t.Context(), session.Input{ID: id, Message: llm.UserText(id)})
		return err
	}
	if err := submit("first"); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Wait(t.Context(), "first"); err != nil || out.Reason != agent.ReasonDone {
		t.Fatal(out, err)
	}
	if err := submit("second"); err != nil {
		t.Fatal(err)
	}
	<-asked
	kept := len(log.Nodes())
	store.now.Store(true)
	close(gate)
	if _, err := c.Wait(t.Context(), "second"); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("who waits reads %v", err)
	}
	if _, err := r.Handle("late", false).Events(session.Cursor{}).Next(t.Context()); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("who follows reads %v", err)
	}
	for range 2 { // it isn't known the second time
		if err := submit("third"); !errors.Is(err, session.ErrOwnerGone) {
			t.Errorf("a message is answered with %v", err)
		}
	}
	for _, e := range r.seen(agent.MessageEnd) {
		if i := slices.IndexFunc(log.Nodes(), func(n transcript.Node) bool { return n.ID == e.EntryID }); i >= kept {
			t.Errorf("an event tells of entry %s, which is not kept", e.EntryID)
		}
	}
	if n := len(r.seen(session.AgentSettled)); n != 1 {
		t.Errorf("%d turns were settled", n)
	}
	if n := len(r.srv.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A message that is refused when it is written is accepted when it is sent again elsewhere, and here not known.
func TestTakenOverIdle(t *testing.T) {
	store := &overtaken{why: transcript.ErrUnkept}
	log, err := transcript.Create(store, transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Log, o.Path = log, "" }, say("one"))
	store.now.Store(true)
	for _, when := range []session.When{session.Next, session.Soon, session.Soon} {
		if got, err := r.Submit(t.Context(), session.Input{ID: "first", When: when, Message: llm.UserText("hello")}); !errors.Is(err, session.ErrOwnerGone) {
			t.Errorf("accepted as %+v, %v", got, err)
		}
	}
	if n := len(r.srv.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Whoever waits for a message that an earlier process had accepted reads what became of it, and of one that
// wasn't answered as soon as it is.
func TestWaitAfterCrash(t *testing.T) {
	asked, gate, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("look", tool.Reads)} },
		llmtest.Turn{Events: append(llmtest.Call("c1", "look", `{"path":"x"}`), llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 3, Output: 2})...)},
		say("one"),
		llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			close(asked)
			<-gate
			return llmtest.Say("lost")
		}},
		llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			<-again
			return append(llmtest.Say("two"), llmtest.Stop(llm.StopEnd, llm.Usage{})...)
		}})
	for _, id := range []string{"first", "second"} {
		if _, err := r.Submit(t.Context(), session.Input{ID: id, Message: llm.UserText(id)}); err != nil {
			t.Fatal(err)
		}
		if id == "first" {
			if out, err := r.Wait(t.Context(), id); err != nil || out.Reason != agent.ReasonDone {
				t.Fatal(out, err)
			}
		}
	}
	<-asked
	next := r.crashed(func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("look", tool.Reads)} })
	close(gate)
	c := next.Handle("later", false).Conversation()
	wait := func(id string) agent.Outcome {
		t.Helper()
		out, err := c.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(id, err)
		}
		return out
	}
	if out := wait("first"); out.Reason != agent.ReasonDone || out.Text() != "one" || out.Turns != 2 || len(out.Messages) != 3 {
		t.Errorf("the first one ended as %+v", out)
	}
	if out := wait("second"); out.Reason != agent.ReasonAborted || out.Err == nil || out.Text() != "" {
		t.Errorf("the second one ended as %+v", out)
	}
	if _, err := c.Wait(t.Context(), "none"); err == nil {
		t.Error("it waits for a message that there never was")
	}
	if _, err := c.Resend(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan agent.Outcome, 1)
	go func() {
		out, _ := c.Wait(t.Context(), "second") // without an error it has an outcome
		done <- out
	}()
	close(again)
	if out := <-done; out.Reason != agent.ReasonDone || out.Text() != "two" {
		t.Errorf("the second one ended as %+v", out)
	}
}

// What is sent after a stop runs when what was stopped has ended, also if it was sent before that. What had been sent
// before the stop waits for the user.
func TestSentAfterStop(t *testing.T) {
	for _, stopFirst := range []bool{true, false} {
		asked, gate := make(chan struct{}), make(chan struct{})
		slow := simple("slow", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
			close(asked)
			<-gate // it takes its time to end
			return tool.Text("done"), nil
		})
		r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{slow} },
			llmtest.Turn{Events: slices.Concat(llmtest.Call("1", "slow", `{"path":"x"}`), llmtest.Stop(llm.StopToolUse, llm.Usage{}))}, say("two"))
		submit := func(text string) session.Receipt {
			t.Helper()
			got, err := r.Submit(t.Context(), session.Input{Message: llm.UserText(text)})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := submit("go")
		<-asked
		var next session.Receipt
		if stopFirst {
			r.Abort()
			next = submit("something else")
		} else {
			next = submit("something else")
			r.Abort()
		}
		close(gate)
		if out, err := r.Wait(t.Context(), first.ID); err != nil || out.Reason != agent.ReasonAborted {
			t.Fatalf("the first ended with %+v, %v", out, err)
		}
		waits, err := r.Handle("test", false).Queue().Waiting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waits.Held == stopFirst {
			t.Fatalf("stopped first: %v, the queue: %+v", stopFirst, waits)
		}
		if !stopFirst {
			continue
		}
		if out, err := r.Wait(t.Context(), next.ID); err != nil || out.Reason != agent.ReasonDone {
			t.Errorf("what was sent after the stop: %+v, %v", out, err)
		}
	}
}
