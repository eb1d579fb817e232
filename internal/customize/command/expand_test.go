package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"", nil},
		{"  a  b\tc\nd ", []string{"a", "b", "c", "d"}},
		{`'a b' "c d"`, []string{"a b", "c d"}},
		{`a'b c'd`, []string{"ab cd"}},
		{`"it's"`, []string{"it's"}},
		{`'' ""`, []string{"", ""}},
		{`a "to the end`, []string{"a", "to the end"}},
		{`a\ b \"c`, []string{`a\`, `b`, `\c`}}, // no escapes: the quote has no end
		{"日本 語", []string{"日本", "語"}},
	} {
		if diff := cmp.Diff(tt.want, Words(tt.args)); diff != "" {
			t.Errorf("Words(%q) (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestFill(t *testing.T) {
	for _, tt := range []struct{ body, args, want string }{
		{"Do $1 and $2.", "a b", "Do a and b."},
		{"Do $1 and $2.", "'a b'", "Do a b and ."},
		{"All: $@", `a  'b c'`, "All: a b c"},
		{"All: $ARGUMENTS", `a  'b c'`, "All: a  'b c'"},
		{"$ARGUMENTS_X $ARGUMENTS", "a", "$ARGUMENTS_X a"},
		{"{{args}} {{ ARGUMENTS }} {{arguments}} {{other}} {{args", "a", "a a a {{other}} {{args"},
		{"${1:-main} ${2:-x y}", "dev", "dev x y"},
		{"${1:-main} ${2:-}", `"" b`, "main b"},
		{"${10} ${1}", "1 2 3 4 5 6 7 8 9 ten", "ten 1"},
		{"${@:2} | ${@:2:1} | ${@} | ${@:9:-none}", "a b c", "b c | b | a b c | none"},
		{"${@:-nothing} ${ARGUMENTS:-nothing}", "", "nothing nothing"},
		{"${@:9223372036854775807:9223372036854775807} ${@:0}", "a", " a"},
		{"It costs $10, $1.50, $5k, $3,000; $0 $$ $ ${ ${x} ${100}", "", "It costs $10, $1.50, $5k, $3,000; $0 $$ $ ${ ${x} ${100}"},
		{"$1_test.go $1. $1", "a", "a_test.go a. a"},
		{"Nothing here.", "", "Nothing here."},
		{"Nothing here.", "but words", "Nothing here.\n\nbut words"},
		{"$1", "$2 {{args}}", "$2"}, // what a person wrote is not expanded
		{"$1 $2", "$2 $1", "$2 $1"},
		{"a { b } {", "", "a { b } {"},
		{"Changes:\n!`git diff $1`\nand !`date`.", "a b", "Changes:\n<git diff a>\nand <date>."},
		{"!`echo $1 $ARGUMENTS`", "$2 `x`", "<echo $2 $2 `x`>"},
		{"wow!`no` !`` !` ` !`a\nb` !`open", "", "wow!`no` !`` !` ` !`a\nb` !`open"},
		{"!`$1`", "", "<>"},
	} {
		if got, ok, err := fill(tt.body, tt.args, shown); got != tt.want || !ok || err != nil {
			t.Errorf("fill(%q, %q) = %q, %v; want %q", tt.body, tt.args, got, ok, tt.want)
		}
	}
	if _, ok, _ := fill(strings.Repeat("$ARGUMENTS", 1000), strings.Repeat("x", 10_000), shown); ok {
		t.Error("10 MB were made of a command")
	}
}

// shown stands for a shell that shows what it was to run.
func shown(line string) (string, error) { return "<" + line + ">", nil }

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		kind       kind
		want       document
		fails      string // "" is that it does not
	}{
		{name: "no head", text: "# Title\n\nText", want: document{description: "Title", body: "# Title\n\nText"}},
		{name: "head", text: "---\r\nname: n\r\ndescription: \"d: e\"\r\n---\r\nText\r\n", want: document{name: "n", description: "d: e", body: "Text\n"}},
		{name: "no end", text: "---\nname: n\nText", want: document{description: "name: n", body: "---\nname: n\nText"}},
		{name: "rule", text: "---- \nText", want: document{description: "Text", body: "---- \nText"}},
		{name: "empty head", text: "---\n---\nText", want: document{description: "Text", body: "Text"}},
		{name: "folded", text: "---\ndescription: >-\n  one\n  two\nallowed-tools:\n  - Read\n  - 'Bash(ls:*)'\n---\nx", want: document{description: "one two", allow: []string{"Read", "Bash(ls:*)"}, body: "x"}},
		{name: "flow", text: "---\ntools: [a, \"b\"]\nargument-hint: '<file>'\n# comment\nno colon here\n---\nx", want: document{tools: []string{"a", "b"}, hint: "<file>", description: "x", body: "x"}},
		{name: "aliases are text", text: "---\ndescription: *a\n---\nx", want: document{description: "*a", body: "x"}},
		{name: "long line", text: strings.Repeat("word ", 30), want: document{description: strings.TrimSpace(strings.Repeat("word ", 12)) + "...", body: strings.Repeat("word ", 30)}},
		{name: "toml", kind: toml, text: "# c\nn = 3\nprompt = '''\nRaw \\n {{args}}'''\ndescription = 'x'\n[table]\nprompt = \"no\"\n", want: document{description: "x", body: "Raw \\n {{args}}"}},
		{name: "toml escapes", kind: toml, text: "prompt = \"a\\tb\\u00e9\"", want: document{description: "a\tbé", body: "a\tbé"}},
		{name: "toml goes on", kind: toml, text: "prompt = \"\"\"a\\\n   b\n\"\"\" # end\ndescription = \"d\"", want: document{description: "d", body: "ab\n"}},
		{name: "toml without an end", kind: toml, text: "description = \"x\"\nprompt = \"\"\"to the end", fails: `2: unexpected EOF; expected '"""'`},
		{name: "toml without a prompt", kind: toml, text: "description = 'x'", fails: "1: it has no prompt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, line, err := parse(tt.text, tt.kind)
			if err != nil {
				if failed := fmt.Sprintf("%d: %v", line, err); failed != tt.fails {
					t.Error(failed)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(document{})); diff != "" {
				t.Errorf("parse (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a file says: it is read to its end, what is shown of it is short, and the
// text for the model keeps every byte that is no head.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.\"\\", "---\nname: a\n---\nb", "---\n- x\n a\n", "prompt = \"\"\"x\"\"\"", "prompt = \"\\u12", "a = '''", "---\r\n---", "\"\"\"=\"\"\"\"\"\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as read gives it
		for _, k := range []kind{markdown, toml} {
			d, line, err := parse(text, k)
			if err != nil && (line < 1 || line > 1+strings.Count(text, "\n")) {
				t.Errorf("%d: %v of %q", line, err, text)
			}
			for _, s := range append([]string{d.name, d.description, d.hint, d.model}, d.tools...) {
				if utf8.RuneCountInString(s) > maxLine+1 || strings.Contains(s, "\n") && len(d.tools) == 0 {
					t.Errorf("%q of %q", s, text)
				}
			}
			if k == markdown && !strings.HasSuffix(strings.ReplaceAll(text, "\r\n", "\n"), d.body) {
				t.Errorf("the body %q is no end of %q", d.body, text)
			}
			if !utf8.ValidString(d.body) {
				t.Errorf("invalid text %q of %q", d.body, text)
			}
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add("$1 $@ ${@:2:1} {{args}} ${1:-x}", "a 'b c'")
	f.Add("${@:-1:0} ${+1} ${00}", "\"")
	f.Fuzz(func(t *testing.T, body, args string) {
		text, ok, err := fill(body, args, shown)
		if err != nil {
			t.Error(err)
		}
		if ok && len(text) > MaxExpanded || !ok && text != "" {
			t.Errorf("%d bytes, %v", len(text), ok)
		}
		if !strings.ContainsAny(body, "${`") && args == "" && text != body && len(body) <= MaxExpanded {
			t.Errorf("%q became %q", body, text)
		}
		if strings.Join(Words(args), "") != "" && strings.TrimSpace(args) == "" {
			t.Errorf("words of %q", args)
		}
	})
}

// No text of the largest size costs more than a moment.
func TestLargestFiles(t *testing.T) {
	start := time.Now()
	for _, s := range []string{"${", "{{", "$1", "!`", " !`", "${@", "$", "{", "'", "\"", "---\n", "a:\n b\n", "- a\n", "a = \"\"\"\n", "a=\"\\\n", "\\u12"} {
		text := strings.Repeat(s, MaxFile/len(s))
		for k, text := range map[kind]string{markdown: "---\na:\n" + text + "\n---\n" + text, toml: text} {
			_, _, _ = parse(text, k)
		}
		if _, _, err := fill(text, strings.Repeat("x ", 1000), shown); err != nil {
			t.Error(err)
		}
		Words(text)
	}
	if d := time.Since(start); d > 20*time.Second { // a second where nothing else runs
		t.Errorf("it took %v", d)
	}
}

// Who decides about a command that was called decides about what was read for the prompt.
func TestCalledStaysAsItWasRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".claude", "commands", "c.md")
	write := func(text string) {
		t.Helper()
		for _, d := range []string{filepath.Dir(file), filepath.Join(dir, ".git")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("---\nallowed-tools: Bash(touch:*)\n---\nOne.")
	set, _ := Discover(Options{Dir: dir, Root: dir, Getenv: func(string) string { return "" }})
	write("---\nallowed-tools: Bash\n---\nTwo !`b`.")
	_, used, err := set.Expand(t.Context(), "/c", func(_ context.Context, c *Command, line string) (string, error) {
		write("Three !`c`.")
		lines, err := c.Lines()
		if strings.Join(lines, "") != line || err != nil {
			t.Errorf("decided about %q instead of %q: %v", lines, line, err)
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := used.Body(); body != "Two !`b`." || strings.Join(used.Allow, "") != "Bash" || err != nil {
		t.Errorf("used: %q, %q, %v", body, used.Allow, err)
	}
}
