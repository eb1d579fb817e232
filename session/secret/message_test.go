package secret

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

// canaries are sixty secrets of all sources, and the Vault that must find them.
// Those that only a detector can know come with the text that gives them away.
func canaries(t testing.TB) (v *Vault, values, contexts []string) {
	rng := rand.New(rand.NewPCG(60, 60))
	o := Options{}
	for i := range 12 {
		s := expand(rng, []string{"{a24}", "{p16}", "{q20}"}[i%3])
		o.Env = append(o.Env, fmt.Sprintf("SERVICE%d_TOKEN=%s", i, s))
		values, contexts = append(values, s), append(contexts, s)
	}
	for range 6 {
		s := expand(rng, "{q18}")
		o.Entries = append(o.Entries, Entry{Type: Plain, Content: s, Name: "entry"})
		values, contexts = append(values, s), append(contexts, s)
	}
	o.Entries = append(o.Entries, Entry{Type: Regex, Content: `EMP-[0-9a-z]{12}`})
	for range 2 {
		s := expand(rng, "EMP-{l12}")
		values, contexts = append(values, s), append(contexts, s)
	}
	for i := 0; len(values) < 60; i++ {
		sample := expand(rng, kindSamples[(i*2)%len(kindSamples)].yes[0])
		text, s := split(sample)
		if len(s) > 3000 {
			continue
		}
		values, contexts = append(values, s), append(contexts, text)
	}
	return newVault(t, o), values, contexts
}

// everywhere is a history with text in every place of a message list.
func everywhere(i int, s string) []llm.Message {
	args := `{"path":"x","body":{"list":[` + string(appendQuoted(nil, "run "+s)) + `]}}`
	return []llm.Message{
		llm.UserText("please use " + s + " now"),
		{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: s}}},
		{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{
			llm.Thinking{Text: "thinks of " + s, Signature: "sig-of-it"},
			llm.Thinking{Text: "plain", Signature: `{"summary":` + string(appendQuoted(nil, s)) + `}`},
			llm.Text{Text: "says " + s, Signature: "sig", Citations: []llm.Citation{
				{URL: "https://h/?q=" + url.QueryEscape(s), Title: s, Text: s, Raw: json.RawMessage(`{"t":` + string(appendQuoted(nil, s)) + `}`)},
			}},
			llm.ToolCall{ID: fmt.Sprint("c", i), Name: "bash", Arguments: args, Signature: "s"},
			llm.Opaque{API: llm.APIAnthropic, Kind: "x", Raw: json.RawMessage(`{"q":` + string(appendQuoted(nil, s)) + `}`)},
		}},
		{
			Role: llm.RoleToolResult, ToolCallID: fmt.Sprint("c", i), ToolName: "bash",
			Content: []llm.Block{
				llm.Text{Text: "curl -u x:" + base64.StdEncoding.EncodeToString([]byte("ab"+s+"c"))},
				llm.Text{Text: base64.StdEncoding.EncodeToString([]byte("a" + s + "b"))},
				llm.Text{Text: base64.URLEncoding.EncodeToString([]byte(s))},
				llm.Document{Name: "a.env", MIME: "text/plain", Data: []byte("v=" + s + "\n"), Text: "v=" + s},
				llm.Image{URL: "https://h/" + url.PathEscape(s)},
			},
			Details: json.RawMessage(`{"out":` + string(appendQuoted(nil, "x "+s)) + `}`),
		},
		{Role: llm.RoleAssistant, StopReason: llm.StopError, Error: &llm.Error{Message: "failed with " + s, Err: errors.New(s)}},
		{Role: llm.RoleCustom, CustomType: "note", Content: []llm.Block{llm.Text{Text: url.QueryEscape(s)}}},
	}
}

func TestCanaries(t *testing.T) {
	v, values, contexts := canaries(t)
	var history []llm.Message
	for i, s := range values {
		history = append(history, everywhere(i, s)...)
	}
	for _, c := range contexts { // at the end: earlier messages hold the value, too
		history = append(history, llm.UserText("see "+c))
	}
	before, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	hidden := v.HideMessages(history)
	out, err := json.Marshal(hidden)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(history); string(before) != string(after) {
		t.Error("the messages given were changed")
	}
	// The text of the JSON and all that base64 of documents hides in it.
	text := string(out)
	for _, m := range hidden {
		for _, b := range m.Content {
			if d, ok := b.(llm.Document); ok {
				text += "\n" + string(d.Data)
			}
		}
	}
	for i, s := range values {
		q, _ := json.Marshal(s)
		one, two := base64.StdEncoding.EncodeToString([]byte("a"+s+"b")), base64.StdEncoding.EncodeToString([]byte("ab"+s+"c"))
		for form, f := range map[string]string{
			"plain": s, "query": url.QueryEscape(s), "path": url.PathEscape(s), "JSON": string(q[1 : len(q)-1]),
			"own JSON": strings.Trim(string(appendQuoted(nil, s)), `"`),
			"base64":   strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="), "within base64": one[4 : len(one)-4], "further within base64": two[4 : len(two)-4], "base64url": base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			if at := strings.Index(text, f); at >= 0 {
				t.Errorf("canary %d, %s: %q in %q", i, form, f, text[max(0, at-60):min(len(text), at+len(f)+20)])
			}
		}
	}
}

func TestHideMessagesShares(t *testing.T) {
	token := sampleOf(30, "ghp_{a36}")
	v := detectVault(t)
	plain := []llm.Message{
		llm.UserText("hello"),
		{Role: llm.RoleAssistant, Content: []llm.Block{
			llm.Thinking{Text: "x", Signature: "sig"},
			llm.Text{Text: "y", Signature: "sig"},
			llm.Opaque{API: llm.APIAnthropic, Raw: json.RawMessage(`{"a":"b\n"}`)},
		}},
	}
	if out := v.HideMessages(plain); &out[0] != &plain[0] {
		t.Error("a history without secrets is copied")
	}
	history := append(plain[:2:2], llm.UserText("my "+token))
	out := v.HideMessages(history)
	if diff := cmp.Diff(plain, out[:2]); diff != "" {
		t.Error(diff)
	}
	if &out[1].Content[0] != &plain[1].Content[0] {
		t.Error("a message without secrets is copied")
	}
	if text := out[2].Text(); strings.Contains(text, token) || history[2].Text() != "my "+token {
		t.Errorf("got %q; the original is %q", text, history[2].Text())
	}
}

func TestSignedBlocks(t *testing.T) {
	token := sampleOf(31, "ghp_{a36}")
	v := detectVault(t)
	m := llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{
		llm.Thinking{Text: "a " + token, Signature: "s"},
		llm.Thinking{Signature: token, Redacted: true},
		llm.Text{Text: token, Signature: "s"},
		llm.Opaque{API: llm.APIGoogle, Kind: "k", Raw: json.RawMessage(`{"a":"` + token + `"}`)},
		llm.ToolCall{ID: "1", Name: "n", Arguments: `{"a":"` + token + `"}`, Signature: "s"},
	}}
	p := v.Hide(token)
	want := []llm.Block{
		llm.Thinking{Text: "a " + p},
		llm.Thinking{Redacted: true},
		llm.Text{Text: p},
		llm.Opaque{Kind: "k", Raw: json.RawMessage(`{"a":"` + p + `"}`)},
		llm.ToolCall{ID: "1", Name: "n", Arguments: `{"a":"` + p + `"}`},
	}
	if diff := cmp.Diff(want, v.HideMessages([]llm.Message{m})[0].Content); diff != "" {
		t.Error(diff)
	}
}

func TestHideArguments(t *testing.T) {
	secret := sampleOf(32, "{a12}/{a12}")
	v := newVault(t, Options{Entries: []Entry{{Type: Plain, Content: secret, Name: "n"}, {Type: Plain, Content: "9182736450", Name: "n"}, {Type: Regex, Content: `"pin": "\d+"`}}})
	p := v.Hide(secret)
	for _, tt := range []struct{ name, in, want string }{
		{"plain", `{"a":"` + secret + `"}`, `{"a":"` + p + `"}`},
		{"escaped slash", `{"a":"\t` + strings.ReplaceAll(secret, "/", `\/`) + `"}`, `{"a":"\t` + p + `"}`},
		{"unicode escape", `{"a":"` + fmt.Sprintf(`\u%04x`, secret[0]) + secret[1:] + `"}`, `{"a":"` + p + `"}`},
		{"key", `{"` + secret + `":1}`, `{"` + p + `":1}`},
		{"number", `{"a":9182736450}`, `{"a":"` + v.Hide("9182736450") + `"}`},
		{"cut", `{"a":"x\n` + secret, `{"a":"x\n` + p},
		{"no JSON", "just " + secret, "just " + p},
		{"nothing", `{"a": "\n", "b": 1.5e3}`, `{"a": "\n", "b": 1.5e3}`},
	} {
		if got := v.hideJSON(tt.in); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	assigned := `{"password": "` + sampleOf(33, "{a20}") + `", "n": 1}`
	if out := v.hideJSON(assigned); out == assigned || !json.Valid([]byte(out)) || v.RestoreArgs(out) != assigned {
		t.Errorf("%s becomes %s, restored %s", assigned, out, v.RestoreArgs(out))
	}
	if out := v.hideJSON(`{"pin": "12345678"}`); strings.Contains(out, "12345678") || !strings.Contains(out, `"pin": "SECRET.`) {
		t.Errorf("an expression over a key and its value: %s", out)
	}
}

func TestCacheForgetsWhenSomethingIsLearned(t *testing.T) {
	secret := sampleOf(34, "{a32}")
	v := detectVault(t)
	old := llm.UserText(strings.Repeat("long enough for the cache ", 5) + secret)
	v.HideMessages([]llm.Message{old})
	out := v.HideMessages([]llm.Message{old, llm.UserText("api_key=\"" + secret + "\"")})
	if strings.Contains(out[0].Text(), secret) {
		t.Error("the earlier message still shows what is known now")
	}
}
