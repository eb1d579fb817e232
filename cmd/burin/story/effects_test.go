package story_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// effect is a setting with two values, which a person sees differently.
type effect struct {
	key   string
	one   string // of config.yml
	other string
	// Texts that only the one shows, and only the other; "" is not looked for.
	ofOne, ofOther string
	turns          func() []llmtest.Turn
	with           func(*setting)
	act            func(*story)
	see            func(*story) string // nil is the screen with its colors
}

// hello sends a prompt and waits for the answer.
func hello(s *story) {
	s.send("hello")
	s.WaitText("The end.")
	s.WaitGone("Working")
}

// tall is a picture that fills the screen where nothing limits it.
func tall(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1500, 1500))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each of these settings shows its effect on the screen. testdata/effects.txt of the module
// names the tests of all settings.
func TestSettingEffects(t *testing.T) {
	t.Parallel()
	sample := func() []llmtest.Turn {
		return []llmtest.Turn{{Parts: []llmtest.Part{{Thinking: "Deep thoughts."}, {Text: "A [link](https://example.com).\n\n```\na\tb\n```\n\nThe end."}}}}
	}
	asks := func() []llmtest.Turn { return []llmtest.Turn{call("write", `{"path":"a.txt","content":"a\tb\n"}`)} }
	changes := func() []llmtest.Turn {
		return []llmtest.Turn{call("read", `{"path":"README.md"}`), call("write", `{"path":"README.md","content":"# Another\n"}`), say("The end.")}
	}
	pictures := func() []llmtest.Turn {
		return []llmtest.Turn{call("read", `{"path":"tall.png"}`), say("The end.")}
	}
	withPicture := func(o *setting) {
		o.files, o.Env = map[string]string{"tall.png": tall(t)}, append(o.Env, "BURIN_IMAGE_PROTOCOL=kitty")
	}
	graphics := func(s *story) string {
		for range 10 { // a picture is made beside the loop, which takes a busy machine a while
			if s.still(); s.Stats().Graphics > 0 {
				break
			}
		}
		return fmt.Sprintf("%d pictures", s.Stats().Graphics)
	}
	asked := func(s *story) { s.send("hello"); s.WaitText("Yes") }
	custom := func(side, segment string) string {
		left, right := "time", "time"
		if side == "left" {
			left = segment
		} else {
			right = segment
		}
		return "statusLine: {preset: custom, leftSegments: [" + left + "], rightSegments: [" + right + "]}\n"
	}
	const roles = "modelRoles: {default: anthropic/claude-opus-4-5, smol: anthropic/claude-haiku-4-5, slow: anthropic/claude-sonnet-4-5}\n"
	esc := func(s *story) {
		hello(s)
		s.Press("esc", "esc")
		s.WaitFor("a pane", func(t *vt.Terminal) bool { return !strings.Contains(t.Screen(), "Ask anything") })
		s.still()
	}
	for _, e := range []effect{
		{key: "statusLine.preset", one: "statusLine: {preset: minimal}", other: "statusLine: {preset: full}", ofOne: "ask  ~/project", ofOther: "k/200k"},
		{key: "statusLine.separator", one: "statusLine: {separator: slash}", other: "statusLine: {separator: pipe}", ofOne: "ask / ~/project"},
		{key: "statusLine.transparent", one: "statusLine: {transparent: true}", other: "statusLine: {transparent: false}", ofOther: "bg=#232323"},
		{key: "statusLine.leftSegments", one: custom("left", "hostname"), other: custom("left", "path"), ofOther: "│ ~/project "},
		{key: "statusLine.rightSegments", one: custom("right", "model"), other: custom("right", "path"), ofOne: "claude-opus-4-5│", ofOther: "~/project│\n   0-0: bg"},
		{key: "statusLine.command", one: "statusLine: {command: echo first words}", other: "statusLine: {command: echo other words}", ofOne: "first words", ofOther: "other words", act: func(s *story) { s.WaitText("words") }},
		{key: "theme.dark", one: "theme: {dark: dark}", other: "theme: {dark: nord}"},
		{key: "theme.light", one: "theme: {light: light}", other: "theme: {light: dark}", with: func(o *setting) { o.Light = true }},
		{key: "colorBlindMode", one: "colorBlindMode: true\napproval: full", other: "colorBlindMode: false\napproval: full", turns: changes, act: hello},
		{key: "symbolPreset", one: "symbolPreset: ascii", other: "symbolPreset: unicode", ofOne: "> Ask anything", ofOther: "› Ask anything"},
		{key: "hideThinkingBlock", one: "hideThinkingBlock: true", other: "hideThinkingBlock: false", ofOther: "Deep thoughts.", turns: sample, act: hello},
		{key: "display.tabWidth", one: "display: {tabWidth: 8}", other: "display: {tabWidth: 2}", ofOne: "a       b", ofOther: "a b", turns: asks, act: asked},
		{key: "tui.hyperlinks", one: "tui: {hyperlinks: always}", other: "tui: {hyperlinks: off}", ofOne: "link=https://example.com", turns: sample, act: hello},
		{key: "terminal.showImages", one: "terminal: {showImages: false}", other: "terminal: {showImages: true}", ofOne: "0 pictures", with: withPicture, turns: pictures, act: hello, see: graphics},
		{key: "tui.maxInlineImageColumns", one: "tui: {maxInlineImageColumns: 8}", other: "tui: {maxInlineImageColumns: 30}", with: withPicture, turns: pictures, act: hello},
		{key: "tui.maxInlineImageRows", one: "tui: {maxInlineImageRows: 3}", other: "tui: {maxInlineImageRows: 10}", with: withPicture, turns: pictures, act: hello},
		{key: "startup.quiet", one: "  quiet: true", other: "  quiet: false", ofOther: "0│burin│"},
		{key: "cycleOrder", one: roles + "cycleOrder: [default, smol]", other: roles + "cycleOrder: [default, slow]", ofOne: "haiku-4-5", ofOther: "sonnet-4-5", act: func(s *story) { s.Press("ctrl+p") }},
		{key: "doubleEscapeAction", one: "doubleEscapeAction: tree", other: "doubleEscapeAction: branch", turns: sample, act: esc},
		{key: "treeFilterMode", one: "treeFilterMode: user-only", other: "treeFilterMode: default", ofOther: "A [link]", turns: sample, act: esc},
		{key: "autocompleteMaxVisible", one: "autocompleteMaxVisible: 3", other: "autocompleteMaxVisible: 9", act: func(s *story) { s.Type("/"); s.WaitText("→"); s.still() }},
		{
			key: "display.spinner", one: "display: {spinner: false}", other: "display: {spinner: true}", ofOne: "still", ofOther: "turns",
			turns: func() []llmtest.Turn {
				return []llmtest.Turn{{Parts: []llmtest.Part{{Text: "x"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}}
			},
			act: func(s *story) { s.send("hello"); s.WaitText("Working") },
			see: func(s *story) string { // within a second, which is many of its turns
				sign := func() string {
					at := strings.IndexAny(s.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
					return s.Text()[max(0, at):][:3]
				}
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				last, changes := sign(), 0
				for range 50 {
					<-tick.C
					if now := sign(); now != last {
						last = now
						changes++
					}
				}
				if changes > 3 { // else it was drawn for another reason
					return "turns"
				}
				return "still"
			},
		},
		{
			key: "completion.notify", one: "completion: {notify: off, afterSeconds: 0}", other: "completion: {notify: bell, afterSeconds: 0}", ofOne: "0 bells", ofOther: "1 bells",
			turns: sample, act: away, see: bells,
		},
		{
			key: "completion.afterSeconds", one: "completion: {notify: bell, afterSeconds: 60}", other: "completion: {notify: bell, afterSeconds: 0}", ofOne: "0 bells", ofOther: "1 bells",
			turns: sample, act: away, see: bells,
		},
		{
			key: "ask.notify", one: "ask: {notify: off}", other: "ask: {notify: bell}", ofOne: "0 bells", ofOther: "1 bells",
			turns: asks, act: func(s *story) { unseen(s); asked(s) }, see: bells,
		},
	} {
		t.Run(e.key, func(t *testing.T) {
			if e.key != "symbolPreset" && e.key != "hideThinkingBlock" { // one of each kind shows that settings arrive
				pacetest.Costly(t)
			}
			t.Parallel()
			seen := func(config string) string {
				var turns []llmtest.Turn
				if e.turns != nil {
					turns = e.turns()
				}
				s := begin(t, turns, func(o *setting) {
					o.config, o.quiet = config+"\n", true
					if e.with != nil {
						e.with(o)
					}
				})
				s.WaitFor("the prompt", func(t *vt.Terminal) bool { return t.Mode(2004) && strings.Contains(t.Screen(), "Ask anything") })
				s.still()
				if e.act != nil {
					e.act(s)
				}
				if e.see != nil {
					return e.see(s)
				}
				s.still()
				return s.same().Replace(s.Dump())
			}
			one, other := seen(e.one), seen(e.other)
			if one == other {
				t.Errorf("both values look the same:\n%s", one)
			}
			for _, c := range []struct{ text, in, out string }{{e.ofOne, one, other}, {e.ofOther, other, one}} {
				if c.text != "" && (!strings.Contains(c.in, c.text) || strings.Contains(c.out, c.text)) {
					t.Errorf("%q is not where it belongs:\n%s\nbut\n%s", c.text, c.in, c.out)
				}
			}
		})
	}
}

// unseen says that the person looks at another window.
func unseen(s *story) { s.Send([]byte("\x1b[O")) }

func away(s *story) {
	unseen(s)
	hello(s)
}

func bells(s *story) string {
	s.still()
	return fmt.Sprintf("%d bells", s.Stats().Bells)
}

// The setup is mentioned at the first start, or not at all.
func TestSetupWizardSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, mentioned := range []bool{true, false} {
		s := begin(t, []llmtest.Turn{say("The end.")}, func(o *setting) {
			o.first, o.quiet, o.home = true, true, filepath.Join(t.TempDir(), "home")
			write(t, filepath.Join(o.home, "config.yml"), fmt.Sprintf("startup: {setupWizard: %v}\n", mentioned))
		})
		hello(s)
		s.still()
		if got := strings.Contains(s.all(), "/setup"); got != mentioned {
			t.Errorf("setupWizard %v: mentioned %v\n%s", mentioned, got, s.all())
		}
	}
}

// Messages that wait are read one after the other, or all at once.
func TestQueueSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct{ key, config, press, want string }{
		{"steeringMode", "one-at-a-time", "enter", "first"},
		{"steeringMode", "all", "enter", "first, second"},
		{"followUpMode", "one-at-a-time", "ctrl+enter", "first"},
		{"followUpMode", "all", "ctrl+enter", "first, second"},
	} {
		t.Run(tt.key+" "+tt.config, func(t *testing.T) {
			t.Parallel()
			g := gated("Looking.")
			defer g.open()
			s := begin(t, []llmtest.Turn{g.Turn, say("Heard."), say("The end.")}, func(o *setting) { o.config = tt.key + ": " + tt.config + "\n" })
			s.send("begin")
			g.wait(t)
			for _, word := range []string{"first", "second"} {
				s.Type(word)
				s.WaitText("› " + word)
				s.Press(tt.press)
				s.WaitText("Ask anything")
				s.WaitText(word) // in the queue, or on its way there
			}
			for i := range "later" { // while this is typed and drawn, it has come there
				s.Type("later"[i : i+1])
				s.WaitText("› " + "later"[:i+1])
			}
			g.open()
			s.WaitText("Heard.")
			heard := s.heard(1)
			var got []string
			for _, word := range []string{"first", "second"} {
				if strings.Contains(heard, word) {
					got = append(got, word)
				}
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("the model read %q at once, want %q", got, tt.want)
			}
		})
	}
}

// A message stops what runs, or waits for it.
func TestInterruptSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for mode, finishes := range map[string]bool{"immediate": false, "wait": true} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{call("bash", `{"command":"touch begun; for i in 1 2 3 4 5 6 7 8 9 10; do [ -e go ] && break; read -t 1 < <(:) || sleep 1; done; echo FINI''SHED"}`), say("The end.")},
				func(o *setting) { o.config = "interruptMode: " + mode + "\napproval: full\n" })
			s.send("begin")
			s.becomes(func() string {
				if _, err := os.Stat(filepath.Join(s.dir, "begun")); err != nil {
					return err.Error()
				}
				return ""
			})
			s.send("never mind")
			s.WaitText("never mind")
			if finishes {
				write(t, s.dir+"/go", "")
			}
			s.WaitText("The end.")
			if got := strings.Contains(fmt.Sprint(s.request(1).Messages), "FINISHED"); got != finishes {
				t.Errorf("the command finished: %v", got)
			}
		})
	}
}

// The newest session of the folder comes back by itself.
func TestAutoResumeSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for config, back := range map[string]bool{"autoResume: true\n": true, "autoResume: false\n": false} {
		s := begin(t, []llmtest.Turn{say("The end.")}, func(o *setting) { o.config = config })
		hello(s)
		s.Press("ctrl+d")
		s.WaitEnd()
		again := beginWith(t, s.model, func(o *setting) { o.home, o.dir, o.config = s.home, s.dir, config })
		again.WaitText("Ask anything")
		again.still()
		if got := strings.Contains(again.all(), "The end."); got != back {
			t.Errorf("%s: the session is back: %v\n%s", config, got, again.all())
		}
	}
}

// A conversation is compacted while nothing happens: where that is on, from a size, after a
// time.
func TestIdleCompactionSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct {
		key, config string
		compacts    bool
	}{
		{"all three", "idleEnabled: true, idleThresholdTokens: 2000, idleTimeoutSeconds: 1", true},
		{"idleEnabled", "idleEnabled: false, idleThresholdTokens: 2000, idleTimeoutSeconds: 1", false},
		{"idleThresholdTokens", "idleEnabled: true, idleThresholdTokens: 150000, idleTimeoutSeconds: 1", false},
		{"idleTimeoutSeconds", "idleEnabled: true, idleThresholdTokens: 2000, idleTimeoutSeconds: 600", false},
	} {
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{say(strings.Repeat("A long answer about the sky. ", 2000)), say("Short."), say("THE-SUMMARY.")},
				func(o *setting) { o.config = "compaction: {keepRecentTokens: 100, " + tt.config + "}\n" })
			s.send("why is the sky blue?")
			s.WaitText("A long answer about the sky.")
			s.WaitGone("Working")
			s.send("shorter?")
			s.WaitText("Short.")
			s.WaitGone("Working")
			if tt.compacts {
				s.WaitText("condensed:")
				return
			}
			<-time.After(2500 * time.Millisecond) // more than twice as long as the others wait
			if n := len(s.model.Requests()); n > 2 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

// Of a branch that doesn't fit, the oldest part is not summarized: how much fits depends on
// the reserve.
func TestBranchReserveSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const turns = 9
	long := strings.Repeat("A long answer about sums. ", 160) // a thousand tokens
	for reserve, whole := range map[string]bool{"8000": false, "100": true} {
		t.Run(reserve, func(t *testing.T) {
			t.Parallel()
			answers := []llmtest.Turn{say("Blue.")}
			for i := range turns {
				answers = append(answers, say(fmt.Sprintf("%sThat was %d.", long, i)))
			}
			model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: append(answers, say("THE-SUMMARY of sums."))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(model.Close)
			s := beginWith(t, model, func(o *setting) {
				o.config = "branchSummary: {enabled: true, reserveTokens: " + reserve + "}\ncompaction: {enabled: false}\ncontextPromotion: {enabled: false}\n"
				o.home, o.noKey, o.bare, o.quiet = filepath.Join(t.TempDir(), "home"), true, true, true
				o.args = []string{"--model", "box/small"}
				write(t, filepath.Join(o.home, "models.yml"), "providers: {box: {baseUrl: '"+model.URL+"', apiKey: k, api: anthropic-messages, models: [{id: small, contextWindow: 16000, maxTokens: 1000, cost: free}]}}\n")
			})
			s.WaitText("Ask anything")
			ask := func(prompt, answer string) {
				s.send(prompt)
				s.WaitText(answer)
				s.WaitGone("Working")
			}
			ask("why is the sky blue?", "Blue.")
			ask("OLDEST two and two?", "That was 0.")
			for i := range turns - 1 {
				ask("and the next?", fmt.Sprintf("That was %d.", i+1))
			}
			s.Press("esc", "esc")
			s.WaitText("Session tree")
			s.Type("Blue.")
			s.WaitText("1 found")
			s.answer("enter") // the first answer
			s.WaitText("ummar")
			s.Press("down", "enter")
			s.WaitText("Summary of another branch")
			if got := strings.Contains(s.heard(-1), "OLDEST"); got != whole {
				t.Errorf("the oldest part is summarized: %v", got)
			}
		})
	}
}

// A confined command writes where sandbox.writable lets it.
func TestWritableSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, writable := range []bool{true, false} {
		var outside string
		s := begin(t, []llmtest.Turn{call("bash", `{"command":"echo x > ../outside/file"}`), say("The end.")}, func(o *setting) {
			o.home = filepath.Join(t.TempDir(), "home")
			outside = filepath.Join(filepath.Dir(o.home), "outside")
			write(t, filepath.Join(outside, "keep"), "")
			o.config = "approval: full\nsandbox:\n  mode: workspace-write\n"
			if writable {
				o.config += "  writable: ['" + outside + "']\n"
			}
		})
		hello(s)
		_, err := os.Stat(filepath.Join(outside, "file"))
		if got := err == nil; got != writable {
			t.Errorf("writable %v: written %v\n%s", writable, got, s.all())
		}
	}
}

// A hook writes outside of the workspace where hooks are not confined.
func TestConfinedHooksSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, confined := range []bool{true, false} {
		var outside string
		s := begin(t, []llmtest.Turn{call("read", `{"path":"README.md"}`), say("The end.")}, func(o *setting) {
			o.home = filepath.Join(t.TempDir(), "home")
			outside = filepath.Join(filepath.Dir(o.home), "outside")
			write(t, filepath.Join(outside, "keep"), "")
			write(t, filepath.Join(o.home, "hooks.json"), `{"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "touch ran; touch ../outside/file; exit 0"}]}]}}`)
			o.config = fmt.Sprintf("hooks: {confined: %v}\n", confined)
		})
		hello(s)
		s.read("ran")
		_, err := os.Stat(filepath.Join(outside, "file"))
		if got := err != nil; got != confined {
			t.Errorf("confined %v: kept inside %v\n%s", confined, got, s.all())
		}
	}
}
