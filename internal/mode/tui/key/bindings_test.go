package key

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Key
		err  string
	}{
		{in: "Ctrl+P", want: "ctrl+p"},
		{in: "Shift+Ctrl+P", want: "ctrl+shift+p"},
		{in: "alt + shift + L", want: "alt+shift+l"},
		{in: "Escape", want: "esc"},
		{in: "Return", want: "enter"},
		{in: "pageUp", want: "pageup"},
		{in: "ctrl++", want: "ctrl++"},
		{in: "+", want: "+"},
		{in: "F12", want: "f12"},
		{in: "cmd+k", want: "super+k"},
		{in: "Option+Backspace", want: "alt+backspace"},
		{in: "é", want: "é"},
		{in: "ctrl+-", want: "ctrl+-"},
		{in: "ctrl", err: `unknown key "ctrl"`},
		{in: "", err: `unknown key ""`},
		{in: "ctrl+", err: `unknown key "ctrl+"`},
		{in: "hold+x", err: `unknown modifier "hold"`},
		{in: "ctrl+x ctrl+s", err: "unknown modifier"},
		{in: "f99", err: "unknown key"},
	} {
		got, err := Parse(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse(%q): error %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestKeyText(t *testing.T) {
	for k, want := range map[Key]string{
		"ctrl+shift+p": "Ctrl+Shift+P", "pageup": "PageUp", "a": "a", "ctrl++": "Ctrl++", "?": "?", "esc": "Esc", "alt+é": "Alt+É",
	} {
		if got := k.Text(); got != want {
			t.Errorf("%q shown as %q, want %q", k, got, want)
		}
		if back, err := Parse(want); err != nil || back != k {
			t.Errorf("Parse(%q) = %q, %v; want %q", want, back, err, k)
		}
	}
}

// The table itself: canonical keys, no conflict, words for each row.
func TestDefaults(t *testing.T) {
	_, problems := NewBindings(Overrides{})
	for _, p := range problems {
		t.Error(p)
	}
	ids := map[Action]bool{}
	for _, b := range defaults {
		if b.Help == "" {
			t.Errorf("%s has no help", b.Action)
		}
		ids[b.Action] = true
		for _, k := range b.Keys {
			if c, err := Parse(string(k)); err != nil || c != k {
				t.Errorf("%s: key %q: canonical %q, %v", b.Action, k, c, err)
			}
		}
	}
	for old, now := range legacy {
		if !ids[now] {
			t.Errorf("older name %s means %s, which is no action", old, now)
		}
	}
}

// What users of the pi family have in their fingers.
func TestDocumentedDefaults(t *testing.T) {
	b, _ := NewBindings(Overrides{})
	for chord, want := range map[string]Action{
		"Ctrl+P": "app.model.cycleForward", "Shift+Ctrl+P": "app.model.cycleBackward",
		"Alt+P": "app.model.selectTemporary", "Ctrl+L": "app.model.select", "Alt+Shift+P": "app.plan.toggle",
		"Ctrl+R": "app.history.search", "Ctrl+O": "app.tools.expand", "Ctrl+T": "app.thinking.toggle",
		"Shift+Tab": "app.thinking.cycle", "Ctrl+G": "app.editor.external", "Ctrl+Enter": "app.message.followUp",
		"Alt+Up": "app.message.dequeue", "Alt+Shift+L": "app.clipboard.copyLine",
		"Alt+Shift+C": "app.clipboard.copyPrompt",
	} {
		k, err := Parse(chord)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := b.Lookup(Editor, k); got != want {
			t.Errorf("%s is %q, want %q", chord, got, want)
		}
	}
	if a, ok := b.Lookup(Select, "ctrl+p"); ok {
		t.Errorf("in a list, Ctrl+P is %s, want nothing", a)
	}
	if a, _ := b.Lookup(Tree, "up"); a != SelectUp {
		t.Errorf("in the tree, Up is %q, want that of lists", a)
	}
}

func TestOverrides(t *testing.T) {
	speak := Binding{Action: "ext.speak", Context: App, Keys: []Key{"Ctrl+Alt+S"}, Help: "read aloud"}
	for _, tt := range []struct {
		name     string
		json     string
		context  Context
		lookup   map[Key]Action // "" is no action
		problems []string
	}{
		{"one key", `{"app.transcript.open": "Ctrl+Shift+S"}`, Editor, map[Key]Action{"ctrl+shift+s": OpenTranscript, "alt+o": ""}, nil},
		{"several", `{"app.transcript.open": ["f9", "F10"]}`, Editor, map[Key]Action{"f9": OpenTranscript, "f10": OpenTranscript}, nil},
		{"disabled", `{"app.transcript.open": []}`, Editor, map[Key]Action{"alt+o": ""}, nil},
		{"older name", `{"selectModel": "f2"}`, Editor, map[Key]Action{"f2": SelectModel}, nil},
		{"newer name wins", `{"selectModel": "f2", "app.model.select": "f3"}`, Editor, map[Key]Action{"f3": SelectModel, "f2": ""}, nil},
		{"unknown action", `{"app.fly": "f2"}`, Editor, map[Key]Action{"f2": ""}, []string{`keybindings.json:1: unknown action "app.fly"; /hotkeys lists`}},
		{"misspelt action", "{\n\n\"app.modle.select\": \"f2\"}", Editor, map[Key]Action{"f2": ""}, []string{`keybindings.json:3: unknown action "app.modle.select" (did you mean "app.model.select"?)`}},
		{"no JSON", "{\n\"app.model.select\" \"f2\"}", Editor, map[Key]Action{"f2": ""}, []string{`keybindings.json:2: want an object`}},
		{"action of other programs", `{"app.stt.toggle": "ctrl+t", "toggleSTT": "ctrl+o"}`, Editor, map[Key]Action{"ctrl+t": ToggleThinking, "ctrl+o": ExpandTools}, nil},
		{"unknown key keeps the default", `{"app.transcript.open": "Ctrl+Banana"}`, Editor, map[Key]Action{"alt+o": OpenTranscript}, []string{`app.transcript.open: unknown key "Ctrl+Banana"`}},
		{"nested object", `{"keybindings": {"app.transcript.open": "f2"}}`, Editor, map[Key]Action{"f2": "", "alt+o": OpenTranscript}, []string{"keybindings.json:1: keybindings: want a key or a list"}},
		{"not an object", `["f2"]`, Editor, map[Key]Action{"alt+o": OpenTranscript}, []string{"want an object"}},
		{"two of the user's", `{"app.transcript.open": "f2", "app.plan.toggle": "f2"}`, Editor, map[Key]Action{"f2": TogglePlan}, []string{"keybindings.json:1: f2 is bound to both app.plan.toggle and app.transcript.open; app.plan.toggle keeps it"}},
		{"taken from another", `{"app.transcript.open": "ctrl+t"}`, Editor, map[Key]Action{"ctrl+t": OpenTranscript}, []string{"keybindings.json:1: ctrl+t is app.transcript.open now and no longer app.thinking.toggle"}},
		{"taken from the editor", `{"app.transcript.open": "ctrl+k"}`, Editor, map[Key]Action{"ctrl+k": OpenTranscript}, []string{"ctrl+k is app.transcript.open now and no longer tui.editor.deleteToLineEnd"}},
		{"what it had anyway takes nothing", `{"app.exit": "ctrl+d"}`, Editor, map[Key]Action{"ctrl+d": DeleteForward}, nil},
		{"lists are apart", `{"tui.select.down": ["down", "ctrl+t"]}`, Editor, map[Key]Action{"ctrl+t": ToggleThinking}, nil},
		{"extension", `{}`, Editor, map[Key]Action{"ctrl+alt+s": "ext.speak"}, nil},
		{"extension's key changed", `{"ext.speak": "f7"}`, Editor, map[Key]Action{"f7": "ext.speak", "ctrl+alt+s": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			overrides, problems := ParseOverrides("keybindings.json", []byte(tt.json))
			b, more := NewBindings(overrides, speak)
			problems = append(problems, more...)
			for k, want := range tt.lookup {
				if got, _ := b.Lookup(tt.context, k); got != want {
					t.Errorf("%s is %q, want %q", k, got, want)
				}
			}
			if len(problems) != len(tt.problems) {
				t.Fatalf("problems %q, want %q", problems, tt.problems)
			}
			for i, p := range problems {
				if !strings.Contains(p.Error(), tt.problems[i]) || strings.Contains(p.Error(), "\n") {
					t.Errorf("problem %q, want %q in one line", p, tt.problems[i])
				}
			}
		})
	}
}

func TestHelp(t *testing.T) {
	b, _ := NewBindings(Overrides{Actions: map[string]Override{string(OpenTranscript): {}, string(TogglePlan): {Keys: []string{"ctrl+t"}}}})
	rows := b.Help()
	if !slices.IsSortedFunc(rows, func(a, b Binding) int {
		return contextOrder(a.Context) - contextOrder(b.Context)
	}) || rows[0].Action != Interrupt {
		t.Error("rows are not sorted")
	}
	keys := map[Action][]Key{}
	for _, r := range rows {
		keys[r.Action] = r.Keys
		for _, k := range r.Keys {
			if got, _ := b.Lookup(r.Context, k); got != r.Action {
				t.Errorf("%s is listed for %s and is %q", k, r.Action, got)
			}
		}
	}
	if diff := cmp.Diff([]Key{"ctrl+t"}, keys[TogglePlan]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(keys[OpenTranscript])+len(keys[ToggleThinking]) != 0 {
		t.Errorf("disabled: %v, its key taken: %v", keys[OpenTranscript], keys[ToggleThinking])
	}
	if diff := cmp.Diff([]Key{"shift+enter", "alt+enter", "ctrl+j"}, b.Keys(NewLine)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"Ctrl+P", "shift+ctrl+é", "++", "ctrl++", "f1", " alt + x "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(string(k)); err != nil || again != k {
			t.Errorf("Parse(%q) = %q, and that parses as %q, %v", s, k, again, err)
		}
	})
}
