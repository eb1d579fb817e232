package llm_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var target = llm.Target{
	API: llm.APIAnthropic, Provider: "anthropic", Model: "claude", Images: true,
	ForeignThinking: llm.DropThinking,
}

func own(blocks ...llm.Block) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: "claude", Content: blocks}
}

func foreign(blocks ...llm.Block) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, API: llm.APIGoogle, Provider: "google", Model: "gemini", Content: blocks}
}

func call(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "read", Arguments: `{"path":"a"}`}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.RoleToolResult, ToolCallID: id, ToolName: "read", Content: []llm.Block{llm.Text{Text: text}}}
}

// brief writes a history as one line per message.
func brief(history []llm.Message) (out []string) {
	for _, m := range history {
		s := string(m.Role)
		if m.Role == llm.RoleToolResult {
			s += " " + m.ToolCallID
			if m.IsError {
				s += "!"
			}
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				s += " " + strings.ReplaceAll(b.Text, "\n", "/")
				if b.Signature != "" {
					s += "~" + b.Signature
				}
			case llm.Thinking:
				s += " (" + b.Text + "~" + b.Signature + ")"
			case llm.ToolCall:
				s += " " + b.Name + "#" + b.ID + b.Arguments
				if b.Signature != "" {
					s += "~" + b.Signature
				}
			case llm.Image:
				s += " [image]"
			case llm.Opaque:
				s += " <" + string(b.Raw) + ">"
			}
		}
		out = append(out, s)
	}
	return out
}

func TestLegal(t *testing.T) {
	user := llm.UserText
	tests := []struct {
		name string
		in   []llm.Message
		to   func(*llm.Target)
		want []string
	}{
		{"nothing", nil, nil, []string{"user Continue."}},
		{"assistant first", []llm.Message{own(llm.Text{Text: "hi"})}, nil, []string{"user Continue.", "assistant hi"}},
		{
			"interrupted call",
			[]llm.Message{user("go"), own(call("1"), call("2")), result("2", "two")},
			nil,
			[]string{"user go", `assistant read#1{"path":"a"} read#2{"path":"a"}`, "toolResult 1! The call was interrupted before it produced a result.", "toolResult 2 two"},
		},
		{
			"user speaks while the tool runs",
			[]llm.Message{user("go"), own(call("1")), user("wait"), result("1", "one"), own(llm.Text{Text: "ok"})},
			nil,
			[]string{"user go", `assistant read#1{"path":"a"}`, "toolResult 1 one", "user wait", "assistant ok"},
		},
		{
			"results that answer nothing",
			[]llm.Message{user("go"), result("9", "lost"), own(call("1")), result("1", "one"), result("1", "again")},
			nil,
			[]string{"user go", "user [Result of an earlier call of read:] lost", `assistant read#1{"path":"a"}`, "toolResult 1 one", "user [Result of an earlier call of read:] again"},
		},
		{
			"cut call",
			[]llm.Message{user("go"), own(llm.ToolCall{ID: "1", Name: "rm", Arguments: `{"path":"/`, Defect: llm.DefectCut})},
			nil,
			[]string{"user go", "assistant rm#1{}", "toolResult 1! The call did not run: its arguments were cut off or damaged on the way. Send it again if it is still needed."},
		},
		{
			"thinking of its own and of another, signed and not",
			[]llm.Message{user("go"), own(llm.Thinking{Text: "a", Signature: "s"}, llm.Thinking{Text: "b"}, llm.Text{Text: "x", Signature: "t"}), foreign(llm.Thinking{Text: "c", Signature: "s"}, llm.Text{Text: "y", Signature: "t"})},
			nil,
			[]string{"user go", "assistant (a~s) x~t", "assistant y"},
		},
		{
			"thinking as text",
			[]llm.Message{user("go"), foreign(llm.Thinking{Text: "c"}, llm.Text{Text: "y"})},
			func(t *llm.Target) { t.ForeignThinking = llm.ThinkingAsText },
			[]string{"user go", "assistant <thinking>/c/</thinking> y"},
		},
		{
			"only thinking is no answer",
			[]llm.Message{user("go"), own(llm.Thinking{Text: "a", Signature: "s"}), user("on")},
			nil,
			[]string{"user go", "user on"},
		},
		{
			"empty blocks and bytes that are no text",
			[]llm.Message{user(" \n"), user("a\xffb"), own(llm.Text{}), own(llm.Text{Text: "\t"}, call("1")), result("1", "")},
			nil,
			[]string{"user a\uFFFDb", `assistant read#1{"path":"a"}`, "toolResult 1 (no output)"},
		},
		{
			"ids that collide, with signatures of another vendor",
			[]llm.Message{user("go"), foreign(llm.ToolCall{ID: "x", Name: "a b", Signature: "s"}), result("x", "1"), own(call("x")), result("x", "2")},
			nil,
			[]string{"user go", "assistant a_b#x{}", "toolResult x 1", `assistant read#ID{"path":"a"}`, "toolResult ID 2"},
		},
		{
			"images where they are not read",
			[]llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Image{Data: []byte("x")}}}},
			func(t *llm.Target) { t.Images = false },
			[]string{"user [An image was here. This model does not read images.]"},
		},
		{
			"image in a result moves behind the results",
			[]llm.Message{user("go"), own(call("1"), call("2")), {Role: llm.RoleToolResult, ToolCallID: "1", Content: []llm.Block{llm.Image{Data: []byte("x")}}}, result("2", "two")},
			nil,
			[]string{"user go", `assistant read#1{"path":"a"} read#2{"path":"a"}`, "toolResult 1 [The image follows the tool results.]", "toolResult 2 two", "user [image]"},
		},
		{
			"opaque items go home only",
			[]llm.Message{user("go"), own(llm.Opaque{API: llm.APIAnthropic, Raw: []byte(`1`)}, llm.Text{Text: "x"}), foreign(llm.Opaque{API: llm.APIGoogle, Raw: []byte(`2`)}, llm.Text{Text: "y"})},
			nil,
			[]string{"user go", "assistant <1> x", "assistant y"},
		},
		{
			"system and custom messages",
			[]llm.Message{{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "s"}}}, {Role: llm.RoleCustom, Content: []llm.Block{llm.Text{Text: "c"}}}},
			nil,
			[]string{"user s", "user c"},
		},
		{
			"system where it is allowed",
			[]llm.Message{{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "s"}}}, user("u")},
			func(t *llm.Target) { t.SystemInline = true },
			[]string{"system s", "user u"},
		},
		{
			"only system, then an answer",
			[]llm.Message{{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "s"}}}, own(llm.Text{Text: "hi"})},
			func(t *llm.Target) { t.SystemInline = true },
			[]string{"system s", "user Continue.", "assistant hi"},
		},
		{
			"a system message with an image is not one",
			[]llm.Message{{Role: llm.RoleSystem, Content: []llm.Block{llm.Image{Data: []byte("x")}}}},
			func(t *llm.Target) { t.SystemInline = true },
			[]string{"user [image]"},
		},
	}
	newID := regexp.MustCompile(`call[0-9a-f]{16}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := target
			if tt.to != nil {
				tt.to(&to)
			}
			got := brief(llm.Legal(tt.in, to))
			for i := range got {
				got[i] = newID.ReplaceAllString(got[i], "ID")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLegalDocument(t *testing.T) {
	pdf := llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF"), Text: "words"}
	in := []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{pdf}}}
	to := target
	if got := brief(llm.Legal(in, to)); got[0] != `user <document name="a.pdf">/words/</document>` {
		t.Errorf("as text: %q", got)
	}
	to.Documents = true
	if diff := cmp.Diff([]llm.Block{pdf}, llm.Legal(in, to)[0].Content); diff != "" {
		t.Error(diff)
	}
}

// A recording reaches who takes its type; others read what is said in it, or that it was there.
func TestLegalRecording(t *testing.T) {
	said := llm.Document{Name: "a.wav", MIME: "audio/wav", Data: []byte("RIFF"), Text: "hello"}
	bare := llm.Document{Name: "b.ogg", MIME: "audio/ogg", Data: []byte("OggS")}
	call := llm.ToolCall{ID: "c", Name: "listen", Arguments: "{}"}
	in := []llm.Message{
		{Role: llm.RoleUser, Content: []llm.Block{said, bare}},
		{Role: llm.RoleAssistant, Content: []llm.Block{call}},
		{Role: llm.RoleToolResult, ToolCallID: "c", Content: []llm.Block{said}},
	}
	to := target
	to.Documents, to.ToolDocuments = true, true
	got := brief(llm.Legal(in, to))
	if want := `user <document name="a.wav">/hello/</document> [A recording was here: b.ogg. This model does not hear it.]`; got[0] != want {
		t.Errorf("who takes none reads %q", got[0])
	}
	to.Audio = func(mime string) bool { return mime == "audio/wav" }
	all := llm.Legal(in, to)
	if diff := cmp.Diff([]llm.Block{said, llm.Text{Text: "[A recording was here: b.ogg. This model does not hear it.]"}}, all[0].Content); diff != "" {
		t.Error(diff)
	}
	if last := all[len(all)-1]; last.Role != llm.RoleUser || !cmp.Equal(last.Content, []llm.Block{said}) {
		t.Errorf("after the results stands %+v", last)
	}
}

// Whatever the history, the promises of Legal hold, the input is unchanged, and
// doing it twice changes nothing more.
func TestLegalProperty(t *testing.T) {
	text := rapid.SampledFrom([]string{"", " ", "hello", "\xff\xfe", "日本", "\x00"})
	id := rapid.SampledFrom([]string{"", "1", "2", "call|fc_1", "a b", strings.Repeat("x", 200)})
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return llm.Thinking{Text: text.Draw(t, "t"), Signature: text.Draw(t, "s")}
		case 1, 2:
			return llm.ToolCall{
				ID: id.Draw(t, "id"), Name: text.Draw(t, "n"), Defect: rapid.SampledFrom([]llm.Defect{"", "", llm.DefectCut}).Draw(t, "d"),
				Arguments: rapid.SampledFrom([]string{"", "{}", `{"a`, "x", "{\"a\":\"\xff\"}"}).Draw(t, "a"),
			}
		case 3:
			return llm.Image{MIME: "image/png", Data: []byte(text.Draw(t, "i"))}
		case 4:
			return llm.Opaque{API: rapid.SampledFrom([]llm.API{llm.APIAnthropic, llm.APIGoogle}).Draw(t, "api"), Raw: []byte("1")}
		}
		return llm.Text{Text: text.Draw(t, "x")}
	})
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{
			Role:       rapid.SampledFrom([]llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleAssistant, llm.RoleToolResult, llm.RoleToolResult, llm.RoleSystem, llm.RoleCustom}).Draw(t, "role"),
			Content:    rapid.SliceOfN(block, 0, 4).Draw(t, "content"),
			ToolCallID: id.Draw(t, "call"), ToolName: text.Draw(t, "tool"),
		}
		if rapid.Bool().Draw(t, "own") {
			m.API, m.Provider, m.Model = llm.APIAnthropic, "anthropic", "claude"
		}
		return m
	})
	idRule := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	to := target
	to.CallID = func(s string) string {
		s = regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(s, "_")
		return s[:min(len(s), 64)]
	}
	rapid.Check(t, func(t *rapid.T) {
		history := rapid.SliceOfN(message, 0, 12).Draw(t, "history")
		before := brief(history)
		out := llm.Legal(history, to)
		if diff := cmp.Diff(before, brief(history)); diff != "" {
			t.Fatalf("the input changed: %s", diff)
		}
		checkLegal(t, out, idRule)
		if diff := cmp.Diff(brief(out), brief(llm.Legal(out, to))); diff != "" {
			t.Fatalf("not stable: %s", diff)
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkLegal(t fataler, out []llm.Message, idRule *regexp.Regexp) {
	if len(out) == 0 || out[0].Role != llm.RoleUser {
		t.Fatalf("does not begin with a user message: %q", brief(out))
	}
	var waiting []string
	seen := map[string]bool{}
	for _, m := range out {
		if len(m.Content) == 0 {
			t.Fatalf("message without content: %q", brief(out))
		}
		if m.Role == llm.RoleToolResult {
			if len(waiting) == 0 || waiting[0] != m.ToolCallID {
				t.Fatalf("result %q where %q is awaited: %q", m.ToolCallID, waiting, brief(out))
			}
			waiting = waiting[1:]
		} else if len(waiting) > 0 {
			t.Fatalf("calls %q not answered at once: %q", waiting, brief(out))
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) {
					t.Fatalf("bad text %q", b.Text)
				}
			case llm.ToolCall:
				if !idRule.MatchString(b.ID) || seen[b.ID] || !idRule.MatchString(b.Name) {
					t.Fatalf("bad or repeated id %q or name %q", b.ID, b.Name)
				}
				if _, state, err := llm.ParseObject(b.Arguments); err != nil || state != llm.ArgsComplete || b.Arguments == "" {
					t.Fatalf("arguments %q: %v", b.Arguments, err)
				}
				seen[b.ID] = true
				waiting = append(waiting, b.ID)
			}
		}
	}
	if len(waiting) > 0 {
		t.Fatalf("calls %q never answered", waiting)
	}
}

func TestMerge(t *testing.T) {
	in := []llm.Message{llm.UserText("a"), llm.UserText("b"), own(call("1")), result("1", "x"), llm.UserText("c"), own(llm.Text{Text: "d"}), own(llm.Text{Text: "e"})}
	want := []string{"user a b", `assistant read#1{"path":"a"}`, "toolResult 1 x", "user c", "assistant d e"}
	if diff := cmp.Diff(want, brief(llm.Merge(in))); diff != "" {
		t.Error(diff)
	}
	if len(in[0].Content) != 1 {
		t.Error("Merge changed its input")
	}
}

// Some servers give all calls of an answer one id: each keeps its own result.
func TestSameIDTwice(t *testing.T) {
	h := []llm.Message{
		llm.UserText("go"),
		{Role: llm.RoleAssistant, Content: []llm.Block{
			llm.ToolCall{ID: "call_0", Name: "read", Arguments: `{"path":"a"}`},
			llm.ToolCall{ID: "call_0", Name: "read", Arguments: `{"path":"b"}`},
		}},
		{Role: llm.RoleToolResult, ToolCallID: "call_0", ToolName: "read", Content: []llm.Block{llm.Text{Text: "content of a"}}},
		{Role: llm.RoleToolResult, ToolCallID: "call_0", ToolName: "read", Content: []llm.Block{llm.Text{Text: "content of b"}}},
	}
	out := llm.Legal(h, llm.Target{})
	calls := out[1].ToolCalls()
	for i, want := range []string{"content of a", "content of b"} {
		r := out[2+i]
		if r.ToolCallID != calls[i].ID || r.Text() != want {
			t.Errorf("result %d: id %q text %q, want id %q text %q", i, r.ToolCallID, r.Text(), calls[i].ID, want)
		}
	}
	if len(out) != 4 {
		t.Errorf("%d messages: %+v", len(out), out)
	}
}
