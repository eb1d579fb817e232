package config_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
)

// leaf is a key of Config and the type of its values.
func leaves(t reflect.Type, prefix string, out map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch ft := f.Type; {
		case name == "":
		case ft.Kind() == reflect.Struct:
			leaves(ft, prefix+name+".", out)
		case ft.Kind() == reflect.Pointer:
			out[prefix+name] = ft.Elem()
		default:
			out[prefix+name] = ft
		}
	}
}

func TestTableIsTheStruct(t *testing.T) {
	keys := map[string]reflect.Type{}
	leaves(reflect.TypeFor[config.Config](), "", keys)
	if len(keys) < 70 {
		t.Fatalf("only %d keys were found", len(keys))
	}
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		if seen[s.Key] {
			t.Errorf("%s stands twice in the table", s.Key)
		}
		seen[s.Key] = true
		ft, ok := keys[s.Key]
		if !ok {
			t.Errorf("%s is no key of config.yml", s.Key)
			continue
		}
		want := map[reflect.Kind][]config.Type{
			reflect.Bool: {config.Bool}, reflect.Int: {config.Number}, reflect.Float64: {config.Number},
			reflect.String: {config.String, config.Enum}, reflect.Slice: {config.List}, reflect.Map: {config.Record},
		}[ft.Kind()]
		if !slices.Contains(want, s.Type) || s.Fraction != (ft.Kind() == reflect.Float64) {
			t.Errorf("%s is a %v and described as %s", s.Key, ft, s.Type)
		}
		checkDescription(t, s, ft)
	}
	for key := range keys {
		if !seen[key] {
			t.Errorf("%s is not described in the table of settings", key)
		}
	}
}

func checkDescription(t *testing.T, s config.Setting, ft reflect.Type) {
	t.Helper()
	switch {
	case s.Default == nil && s.Else == "" || s.Default != nil && s.Else != "":
		t.Errorf("%s needs a default, or words for what happens without", s.Key)
	case s.Default != nil && ft.Kind() != reflect.Slice && reflect.TypeOf(s.Default).Kind() != ft.Kind():
		t.Errorf("%s: the default is a %T, values are %v", s.Key, s.Default, ft)
	case s.Check(s.Default) != nil:
		t.Errorf("%s: the default is refused: %v", s.Key, s.Check(s.Default))
	case (s.Type == config.Enum) != (len(s.Choices) > 0) && s.Type != config.List:
		t.Errorf("%s: choices belong to an enum", s.Key)
	case s.Label == "" || len(s.Label) > 40 || !regexp.MustCompile(`^[A-Z].*\.$`).MatchString(s.Help) || strings.Contains(s.Help, "\n"):
		t.Errorf("%s: a label, and a sentence of help: %q %q", s.Key, s.Label, s.Help)
	case !slices.Contains(config.Groups(), s.Group):
		t.Errorf("%s: there is no group %q", s.Key, s.Group)
	}
	if s.When != "" {
		key, want, choice := strings.Cut(s.When, "=")
		on, ok := config.Find(key)
		if !ok || choice && !slices.Contains(on.Choices, want) || !choice && on.Type != config.Bool {
			t.Errorf("%s is for %q, which cannot hold", s.Key, s.When)
		}
	}
}

// The defaults are those that the program really uses, and those of the handbook.
func TestDefaultsAreTrue(t *testing.T) {
	c, d := &config.Config{}, compact.Defaults()
	got := map[string]any{}
	want := map[string]any{
		"compaction.enabled": d.Enabled, "compaction.strategy": string(d.Strategy),
		"compaction.reserveTokens": d.ReserveTokens, "compaction.keepRecentTokens": d.KeepRecentTokens,
		"compaction.supersedeReads": d.SupersedeReads, "compaction.idleEnabled": d.IdleEnabled,
		"compaction.idleThresholdTokens": d.IdleThresholdTokens, "compaction.idleTimeoutSeconds": int(d.IdleTimeout / time.Second),
		"branchSummary.enabled": d.BranchEnabled, "branchSummary.reserveTokens": d.BranchReserveTokens,
		"theme.dark": theme.DefaultDark, "theme.light": theme.DefaultLight, "symbolPreset": string(theme.Unicode),
	}
	for key := range want {
		got[key] = c.Value(key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, names := range map[string][]string{
		"statusLine.preset": status.Presets(), "statusLine.separator": status.Separators(), "statusLine.leftSegments": slices.Sorted(slices.Values(append(status.Segments(), "pi"))),
	} {
		s, _ := config.Find(key)
		if diff := cmp.Diff(names, slices.Sorted(slices.Values(s.Choices))); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	levels, _ := config.Find("defaultThinkingLevel")
	var names []string
	for _, l := range llm.Levels() {
		names = append(names, string(l))
	}
	if diff := cmp.Diff(names, levels.Choices); diff != "" {
		t.Error(diff)
	}

	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings() {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + regexp.QuoteMeta(s.Key) + "`.*$").FindString(string(page))
		var word string
		switch d := s.Default.(type) {
		case string:
			word = d
		case int:
			if word = fmt.Sprint(d); d == 0 {
				word = ""
			}
		case bool: // switches that are off by default need not say it
			if d {
				word = "on"
			}
		}
		if row == "" || !strings.Contains(row, word) {
			t.Errorf("the handbook does not say that the default of %s is %v: %s", s.Key, s.Default, row)
		}
	}
}

func TestValues(t *testing.T) {
	c, err := load(t, `# mine
approval: plan # careful
theme: nord
enabledModels: [a, b]
disabledProviders: [{path: ~/work, providers: [x]}]
display:
  tabWidth: 8
  spinner: false
completion: {notify: off}
ask: {notify: on}
cycleOrder: []
hideThinkingBlock: false
retry:
  maxRetries:
modelRoles:
  smol: x
`)
	if err != nil {
		t.Fatal(err)
	}
	c.Hold("approval", "full", config.Source{Kind: config.ByFlag, Name: "--approval"})
	for _, tt := range []struct {
		key    string
		want   any
		source string
	}{
		{"approval", "full", "--approval"},
		{"theme.dark", "nord", "config.yml:3"},
		{"theme.light", "nord", "config.yml:3"},
		{"enabledModels", []string{"a", "b"}, "config.yml:4"},
		{"disabledProviders", catalog.ScopedList{{Paths: []string{"~/work"}, Values: []string{"x"}}}, "config.yml:5"},
		{"display.tabWidth", 8, "config.yml:7"},
		{"display.spinner", false, "config.yml:8"},
		{"completion.notify", "off", "config.yml:9"},
		{"ask.notify", "desktop", "config.yml:10"},
		{"cycleOrder", []string{}, "config.yml:11"},
		{"hideThinkingBlock", false, "config.yml:12"},
		{"retry.maxRetries", 3, "default"},
		{"modelRoles", map[string]string{"smol": "x"}, "config.yml:15"},
		{"edit.mode", nil, "default"},
		{"limits.turn", 0.0, "default"},
		{"startup.setupWizard", true, "default"},
	} {
		if diff := cmp.Diff(tt.want, c.Value(tt.key)); diff != "" {
			t.Errorf("%s: %s", tt.key, diff)
		}
		if got := c.Source(tt.key).String(); got != tt.source {
			t.Errorf("%s is from %s, want %s", tt.key, got, tt.source)
		}
	}
	if c.Bool("display.spinner") || c.Int("display.tabWidth") != 8 || c.Text("treeFilterMode") != "default" || len(c.List("enabledModels")) != 2 {
		t.Error("the typed values differ")
	}
	c.Compaction.IdleEnabled = true
	idle, _ := config.Find("compaction.idleTimeoutSeconds")
	if !idle.Holds(c) {
		t.Error("a setting does not hold whose switch is on")
	}
	off := false
	if c.Compaction.Enabled = &off; idle.Holds(c) {
		t.Error("a setting holds whose switch is of no use")
	}
	custom, _ := config.Find("statusLine.leftSegments")
	if width, _ := config.Find("tui.maxInlineImageRows"); !width.Holds(c) || custom.Holds(c) {
		t.Error("conditions of settings are not met as they should be")
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		want      any
		problem   string
	}{
		{"limits.turn", " 0.5 ", 0.5, ""},
		{"limits.turn", "2", 2, ""},
		{"limits.turn", "nan", nil, "not a number"},
		{"display.tabWidth", "4.5", nil, "not a whole number"},
		{"display.tabWidth", "99", nil, "more than 16"},
		{"cycleOrder", "a, ,b,", []string{"a", "b"}, ""},
		{"permissions.allow", `bash(git log, x:*), "a, \"b", c`, []string{"bash(git log, x:*)", `a, "b`, "c"}, ""},
		{"permissions.allow", "bash(go", nil, "not closed"},
		{"permissions.allow", `"a`, nil, "not closed"},
		{"statusLine.leftSegments", "model, mood", nil, `"mood" must be`},
		{"autoResume", "On", true, ""},
		{"autoResume", "maybe", nil, "on or off"},
		{"shellPath", " ", nil, "empty"},
		{"shellPath", "a\tb", nil, "control"},
		{"approval", "plan", "plan", ""},
		{"oauth", "x", nil, "config.yml"},
	} {
		s, ok := config.Find(tt.key)
		if !ok {
			t.Fatal(tt.key)
		}
		got, err := s.Read(tt.text)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s %q: %v, want %s", tt.key, tt.text, err, tt.problem)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s %q: %s %v", tt.key, tt.text, diff, err)
		}
	}
}

// What is shown for editing is read as the same value again.
func TestFormatIsReadable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.SampledFrom(config.Settings()).Draw(r, "setting")
		v := valueOf(r, s)
		if s.Key == "permissions.deny" {
			v = rapid.SliceOfN(rapid.StringMatching(`[a-z(){}\[\]"\\, é]{0,6}[a-z"(]`), 0, 3).Draw(r, "rules")
		}
		if text, ok := v.(string); ok && strings.TrimSpace(text) != text || v == nil {
			return
		}
		got, err := s.Read(s.Format(v))
		if n, ok := got.(int); ok && s.Fraction {
			got = float64(n)
		}
		if diff := cmp.Diff(v, got); diff != "" || err != nil {
			r.Fatalf("%s %v: %q %v %s", s.Key, v, s.Format(v), err, diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"a, b", "bash(x, y)", `"a, b"`, `"\"`, "1e9", "[", "\x00"} {
		f.Add(text)
	}
	settings := config.Settings()
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range settings {
			v, err := s.Read(text)
			if _, float := v.(float64); err != nil || float { // 1e3 is 1000 the next time
				continue
			}
			again, err := s.Read(s.Format(v))
			if diff := cmp.Diff(v, again); diff != "" || err != nil {
				t.Fatalf("%s %q: %v, %v, %v", s.Key, text, v, again, err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/config.yml", []byte("approval: plan\ndisplay: {tabWidth: 4}\nmodelRoles: {smol: x}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Load(dir); err != nil {
			b.Fatal(err)
		}
	}
}
