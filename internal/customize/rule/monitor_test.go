package rule

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/llm"
)

// write writes a file of a test.
func write(t testing.TB, text string, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// set discovers rules that are files of a workspace, by path and text.
func set(t testing.TB, files map[string]string) (s *Set, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		write(t, text, dir, filepath.FromSlash(name))
	}
	s, warnings := Discover(Options{Options: source.Options{Dir: dir, Root: dir}, NoBuiltin: true})
	for _, w := range warnings {
		t.Error(w)
	}
	return s, dir
}

// saying is an answer of one text in tokens of n bytes.
func saying(text string, n int) []llm.Event {
	events := []llm.Event{{Type: llm.EventStart}, {Type: llm.EventTextStart}}
	for len(text) > 0 {
		m := min(n, len(text))
		events = append(events, llm.Event{Type: llm.EventTextDelta, Delta: text[:m]})
		text = text[m:]
	}
	return append(events, llm.Event{Type: llm.EventTextEnd, Block: llm.Text{}})
}

// calling is an answer of one call in tokens of n bytes.
func calling(tool string, args any, n int) []llm.Event {
	data, _ := json.Marshal(args)
	text := string(data)
	call := llm.ToolCall{ID: "c1", Name: tool}
	events := []llm.Event{{Type: llm.EventToolCallStart, Block: call}}
	for len(text) > 0 {
		m := min(n, len(text))
		events = append(events, llm.Event{Type: llm.EventToolCallDelta, Delta: text[:m]})
		text = text[m:]
	}
	call.Arguments = string(data)
	return append(events, llm.Event{Type: llm.EventToolCallEnd, Block: call})
}

// hit reads an answer. said is what was read until the first hit, at most.
func hit(m *Monitor, events []llm.Event) (h *Hit, said string) {
	a := m.Answer()
	var b strings.Builder
	for i := range events {
		b.WriteString(events[i].Delta)
		if h = a.See(&events[i]); h != nil {
			return h, b.String()
		}
	}
	return nil, b.String()
}

func rules(h *Hit) (names []string) {
	if h == nil {
		return nil
	}
	for _, r := range h.Rules {
		names = append(names, r.Name)
	}
	return names
}

// A pattern matches text in whatever pieces it arrives, with the token that makes it certain.
func TestPatternInPieces(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		until         string // what was read by then, token by byte; "" is no match
	}{
		{`as any\b`, "const x = y as any; // z", "const x = y as any;"},
		{`as any\b`, "as anything, as anyone", ""},
		{`as any`, "x as anything", "x as any"},
		{`(?<!un)wrap\(\)`, "unwrap() wrap()", "unwrap() wrap()"},
		{`todo(?!:)`, "todo: x todo. y", "todo: x todo. "},
		{`^sorry`, "so sorry", ""},
		{`^sorry`, "sorry, no", "sorry"},
		{`(?m)^sorry`, "ah\nsorry", "ah\nsorry"},
		{`end$`, "the end is not the end", "the end is not the end"},
		{`(?i)DROP\s+TABLE`, "then drop\n table x", "then drop\n table"},
		{`a[^]*z`, "a\n\nb\nz", "a\n\nb\nz"},
		{`foo|bar|\d{4}`, "in 2026", "in 2026"},
		{`é+l`, "caféél", "caféél"},
		{`(?:let|var) \w+ =`, "var abc = 1", "var abc ="},
		{`x{2,3}y`, "xy xxy", "xy xxy"},
		{`\u0061bc`, "abc", "abc"},
		{`[Bb]ox::leak`, "Box::leak(x)", "Box::leak"},
		{`}{`, "a}{b", "a}{"},
	} {
		s, dir := set(t, map[string]string{".burin/rules/r.md": "---\ncondition: '" + c.pattern + "'\n---\nNo."})
		for n := 1; n < 8; n++ {
			m := NewMonitor(s, StreamOptions{Workspace: dir})
			h, said := hit(m, saying(c.text, n))
			if (h != nil) != (c.until != "") {
				t.Errorf("%s in %q by %d: %v", c.pattern, c.text, n, rules(h))
				continue
			}
			if h != nil && (len(said) < len(c.until) || len(said) >= len(c.until)+n) {
				t.Errorf("%s in %q by %d: known after %q, want %q", c.pattern, c.text, n, said, c.until)
			}
		}
	}
}

// Each match of a pattern contains one of its literals.
func TestLiterals(t *testing.T) {
	for pattern, want := range map[string][]string{
		`Box::leak\s*\(`:          {"box::leak"},
		`: any\b|as any\b`:        {": any", "as any"},
		`(?:foo|bar)+baz?`:        {"foo", "bar"},
		`a?b*c{0,2}`:              nil,
		`\d+`:                     nil,
		`x|\w`:                    nil,
		`(?=abc)d`:                {"d"},
		`\bany\b`:                 {"any"},
		`ab+cd`:                   {"ab"},
		`(?i)Straße`:              {"stra"},
		`\.unwrap\(\)`:            {".unwrap()"},
		`(?<name>longer)|(short)`: {"longer", "short"},
		`[abc]`:                   nil,
	} {
		if diff := cmp.Diff(want, literals(pattern)); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

// Of calls a rule reads what the model writes into files, and knows which.
func TestStreamScope(t *testing.T) {
	s, dir := set(t, map[string]string{
		".burin/rules/ts.md":    "---\ncondition: 'as any\\b'\nscope: tool:edit(*.ts), tool:write(src/**/*.ts)\n---\nNo any.",
		".burin/rules/bash.md":  "---\ncondition: [rm -rf, 'sudo ']\nscope: tool:bash\n---\nNo.",
		".burin/rules/think.md": "---\nttsr_trigger: gave up\nscope: [thinking]\n---\nGo on.",
		".burin/rules/rust.md":  "---\ncondition: '*.rs'\n---\nRust.",
		".burin/rules/globs.md": "---\ncondition: XXX\nglobs: docs/**\n---\nNo XXX.",
	})
	type m = map[string]any
	for name, c := range map[string]struct {
		events []llm.Event
		want   []string
	}{
		"text is not watched":    {saying("as any", 2), nil},
		"write":                  {calling("write", m{"path": "src/a/b.ts", "content": "x\n\"y\" as any;"}, 3), []string{"ts"}},
		"write elsewhere":        {calling("write", m{"path": "b.ts", "content": "x as any;"}, 3), nil},
		"another language":       {calling("edit", m{"path": "a.js", "edits": []m{{"old": "x", "new": "y as any;"}}}, 3), nil},
		"new text":               {calling("edit", m{"edits": []m{{"new": "y as any;"}}, "path": "a.ts"}, 3), []string{"ts"}},
		"old text":               {calling("edit", m{"edits": []m{{"old": "y as any;"}}, "path": "a.ts"}, 3), nil},
		"patch":                  {calling("edit", m{"patch": "*** Begin Patch\n*** Update File: a.ts\n x as any;\n-y as any;\n+z as any;\n"}, 2), []string{"ts"}},
		"patch of removed lines": {calling("edit", m{"patch": "*** Update File: a.ts\n x as any;\n-y as any;\n+z;\n"}, 2), nil},
		"patch, another file":    {calling("edit", m{"patch": "*** Update File: a.ts\n+x\n*** Update File: a.go\n+z as any;\n"}, 2), nil},
		"diff":                   {calling("edit", m{"patch": "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-x\n+++ as any;\n"}, 1), []string{"ts"}},
		"command":                {calling("bash", m{"command": "cd x && rm -rf y"}, 4), []string{"bash"}},
		"thinking":               {[]llm.Event{{Type: llm.EventThinkingDelta, Delta: "I gave up"}}, []string{"think"}},
		"any edit":               {calling("write", m{"path": "a/b.rs", "content": "fn"}, 4), []string{"rust"}},
		"only these files":       {calling("write", m{"path": "docs/a.md", "content": "XXX"}, 4), []string{"globs"}},
		"text is no file":        {saying("XXX", 4), nil},
		"whole arguments": {[]llm.Event{{Type: llm.EventToolCallStart, Block: llm.ToolCall{ID: "c1", Name: "bash"}}, {
			Type: llm.EventToolCallEnd, Block: llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"sudo ls"}`},
		}}, []string{"bash"}},
	} {
		h, _ := hit(NewMonitor(s, StreamOptions{Workspace: dir}), c.events)
		if diff := cmp.Diff(c.want, rules(h)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if h != nil && h.Call != "" && h.Call != "c1" {
			t.Errorf("%s: call %q", name, h.Call)
		}
	}
}

// A rule comes once, or again after a number of answers; modes say where it interrupts.
func TestStreamRepeatsAndModes(t *testing.T) {
	s, _ := set(t, map[string]string{
		".burin/rules/a.md": "---\ncondition: aaa\n---\nA.",
		".burin/rules/b.md": "---\ncondition: bbb\ninterruptMode: never\n---\nB.",
	})
	m := NewMonitor(s, StreamOptions{})
	var got []string
	for range 2 {
		h, _ := hit(m, saying("aaa", 1))
		got = append(got, rules(h)...)
	}
	if h, _ := hit(m, saying("bbb", 1)); h == nil || h.Interrupt {
		t.Errorf("a rule with interruptMode never: %+v", h)
	}
	m = NewMonitor(s, StreamOptions{Gap: 3})
	m.Came([]string{"b"})
	for range 7 {
		h, _ := hit(m, saying("aaa", 1))
		got = append(got, strings.Join(append(rules(h), "-"), ""))
	}
	if diff := cmp.Diff([]string{"a", "a-", "-", "-", "a-", "-", "-", "a-"}, got); diff != "" {
		t.Error(diff)
	}
	m = NewMonitor(s, StreamOptions{})
	m.Came([]string{"a"})
	if h, _ := hit(m, saying("aaa", 1)); h != nil {
		t.Error("a rule that came before the session was resumed comes again")
	}
	for mode, want := range map[string]bool{"": true, InterruptProse: true, InterruptTools: false, InterruptNever: false} {
		h, _ := hit(NewMonitor(s, StreamOptions{Interrupt: mode}), saying("aaa", 1))
		if h == nil || h.Interrupt != want {
			t.Errorf("mode %q: %+v", mode, h)
		}
	}
}

// Rules that one piece of an answer breaks come together.
func TestRulesTogether(t *testing.T) {
	s, _ := set(t, map[string]string{
		".burin/rules/a.md": "---\ncondition: aaa\n---\nA.", ".burin/rules/b.md": "---\ncondition: bbb\n---\nB.",
		".burin/rules/c.md": "---\ncondition: ccc\n---\nC.",
	})
	if h, said := hit(NewMonitor(s, StreamOptions{}), saying("x bbb aaa y ccc", 9)); !slices.Equal(rules(h), []string{"b", "a"}) || said != "x bbb aaa" {
		t.Errorf("with %q came %q", said, rules(h))
	}
}

// A pattern that takes forever is turned off, and the person reads which.
func TestSlowPattern(t *testing.T) {
	s, _ := set(t, map[string]string{
		".burin/rules/slow.md": "---\ncondition: '(x+x+)+y'\n---\nA.",
		".burin/rules/fast.md": "---\ncondition: zz\n---\nA.",
	})
	var warned []string
	m := NewMonitor(s, StreamOptions{Warn: func(s string) { warned = append(warned, s) }})
	evil := map[string]string{}
	for i := range 50 {
		evil[fmt.Sprintf(".burin/rules/e%d.md", i)] = fmt.Sprintf("---\ncondition: '(x+x+)+%d'\n---\nA.", i)
	}
	t.Run("many", func(t *testing.T) {
		s, _ := set(t, evil)
		var warned []string
		m := NewMonitor(s, StreamOptions{Warn: func(s string) { warned = append(warned, s) }})
		if h, _ := hit(m, saying(strings.Repeat("x", 200), 50)); h != nil || len(warned) != maxSlow || !strings.Contains(warned[maxSlow-1], "stream rules are off") {
			t.Errorf("%v, %q", rules(h), warned)
		}
	})
	at := time.Now()
	h, _ := hit(m, saying(strings.Repeat("x", 200)+"zz", 50))
	if !slices.Equal(rules(h), []string{"fast"}) || len(warned) != 1 || !strings.Contains(warned[0], "the rule slow is off") {
		t.Errorf("%v, %q", rules(h), warned)
	}
	if d := time.Since(at); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
}

// Long answers do not make a rule blind, nor hold much memory.
func TestStreamLong(t *testing.T) {
	s, _ := set(t, map[string]string{".burin/rules/a.md": "---\ncondition: 'need\\w+ here'\n---\nA."})
	for _, n := range []int{7, 1000, 100_000} {
		m := NewMonitor(s, StreamOptions{})
		if h, _ := hit(m, saying(strings.Repeat("haystack\n", 50_000)+"needle here", n)); h == nil || h.Text != "needle here" {
			t.Errorf("in tokens of %d: %+v", n, h)
		}
	}
}

func many(t testing.TB, n int) *Set {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf(".burin/rules/r%d.md", i)] = fmt.Sprintf("---\ncondition:\n  - 'forbidden%dFunction\\('\n  - 'old_api_%d\\.\\w+'\n---\nNo.", i, i)
	}
	s, _ := set(t, files)
	return s
}

// prose4 is what models write, in tokens of about four bytes.
func prose4() []llm.Event {
	text := strings.Repeat("The function returns an error when the file is missing, so the caller wraps it.\n\tif err := old_call(x); err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", 100)
	return saying(text, 4)
}

// BenchmarkStream is the cost of a token of text.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			m := NewMonitor(many(b, n), StreamOptions{})
			events := prose4()
			b.ReportAllocs()
			a := m.Answer()
			for i := 0; b.Loop(); i++ {
				e := &events[i%len(events)]
				if e.Type == llm.EventTextDelta && a.See(e) != nil {
					b.Fatal("a rule came")
				}
			}
		})
	}
}

// BenchmarkStreamCall is the cost of a token of a call.
func BenchmarkStreamCall(b *testing.B) {
	m := NewMonitor(many(b, 200), StreamOptions{})
	events := calling("write", map[string]string{"path": "a.go", "content": strings.Repeat("if err := old_call(x); err != nil {\n\treturn \"x\"\n}\n", 100)}, 4)
	b.ReportAllocs()
	a := m.Answer()
	for i := 0; b.Loop(); i++ {
		e := &events[i%len(events)]
		if e.Type == llm.EventToolCallEnd {
			a = m.Answer()
			continue
		}
		if a.See(e) != nil {
			b.Fatal("a rule came")
		}
	}
}

// FuzzPattern: whatever a pattern is, what its literals keep from being tried would not match.
func FuzzPattern(f *testing.F) {
	f.Add(`a(b|c)+d?`, "xabcd")
	f.Add(`(?i)[a-z]{2}\bq`, "ab q")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 100 {
			return
		}
		re, err := compile(pattern)
		if err != nil {
			return
		}
		m, err := re.FindStringMatch(text)
		if err != nil || m == nil {
			return
		}
		lits := literals(pattern)
		if lits != nil && !slices.ContainsFunc(lits, func(l string) bool { return strings.Contains(lower(m.String()), l) }) {
			t.Errorf("%q matches %q without any of %q", pattern, m.String(), lits)
		}
		tail(pattern)
	})
}

// Each of burin's own rules finds the mistake that it is about, and not what is right.
func TestBuiltinRules(t *testing.T) {
	for name, c := range map[string]struct{ wrong, right string }{
		"rs-box-leak":                {"let s = Box::leak(x);", "let s = Box::new(leak);"},
		"rs-future-prelude":          {"use std::future::Future;", "use std::future::ready;"},
		"rs-lazylock":                {"use once_cell::sync::Lazy;", "use std::sync::LazyLock;"},
		"rs-match-ergonomics":        {"if let Some(ref x) = y {", "if let Some(x) = &y {"},
		"rs-parking-lot":             {"let g = m.lock().unwrap();", "let g = m.lock();"},
		"rs-result-type":             {"pub fn f(a: &str) -> Result<(), String> {", "pub fn f() -> Result<String, Error> {"},
		"ts-bare-catch":              {"try { f() } catch (e) {\n}\n", "try { f() } catch (e) { log(e) }"},
		"ts-import-type":             {"let a: import('./x').Y;", "const m = await import(x);"},
		"ts-no-any":                  {"function f(x: any) {", "const many: anyone = 1; // anything"},
		"ts-no-deprecated-leftovers": {"/** @deprecated use g */", "// the old one is gone"},
		"ts-no-dynamic-import":       {"const x = await import('./x');", "import x from './x';"},
		"ts-no-non-null":             {"a.b!.c();", "if (a !== b) c(); !d.e"},
		"ts-no-return-type":          {"type R = ReturnType<typeof f>;", "type R = ReturnType<F>;"},
		"ts-no-tiny-functions":       {"const id = (u: User) => u.id;\n", "const id = (u: User) => u.id + u.name;\n"},
		"ts-no-ts-ignore":            {"// @ts-ignore", "// @ts-expect-error: x is wrong"},
		"ts-promise-with-resolvers":  {"let resolve: () => void;\nconst p = new Promise((r) => { resolve = r; });", "const p = new Promise((resolve) => f(resolve));"},
		"ts-set-map":                 {"const seen: Record<string, boolean> = {};", "const seen = new Set<string>();"},
	} {
		s, warnings := Discover(Options{})
		if len(warnings) > 0 || len(s.List()) != 17 {
			t.Fatalf("%d rules, %q", len(s.List()), warnings)
		}
		ext := map[string]string{"rs": "rs", "ts": "ts"}[name[:2]]
		for n := 1; n < 6; n++ {
			m := NewMonitor(s, StreamOptions{Workspace: "/w"})
			h, _ := hit(m, calling("write", map[string]string{"path": "src/a." + ext, "content": "x\n" + c.wrong + "\ny\n"}, n))
			if !slices.Equal(rules(h), []string{name}) || h.Interrupt {
				t.Errorf("%s by %d: %v", c.wrong, n, rules(h))
			}
			m = NewMonitor(s, StreamOptions{Workspace: "/w"})
			if h, _ := hit(m, calling("write", map[string]string{"path": "src/a." + ext, "content": "x\n" + c.right + "\ny\n"}, n)); h != nil {
				t.Errorf("%s by %d: %v", c.right, n, rules(h))
			}
		}
		for _, r := range s.List() {
			if r.Use != Stream || r.Description == "" {
				t.Errorf("%s is %+v", r.Name, r)
			}
			for _, p := range r.Conditions() {
				if literals(p) == nil {
					t.Errorf("%s: the pattern %s has no literal, and would be tried with every token", r.Name, p)
				}
			}
		}
	}
}
