package regex_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/search/regex"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// hit is a matching line, or in multiline searches a match.
type hit struct {
	Start, End int
	Spans      [][2]int
}

// search runs a pattern over text as a file search would.
func search(t fataler, pattern string, o regex.Options, text []byte) []hit {
	t.Helper()
	re, err := regex.Compile(pattern, o)
	if err != nil {
		t.Fatalf("compile %q %+v: %v", pattern, o, err)
	}
	m := re.Matcher(nil)
	m.Reset(text)
	var hits []hit
	if o.Multiline {
		for at := 0; ; {
			start, end, next, ok := m.Find(at)
			if !ok {
				return hits
			}
			hits = append(hits, hit{Start: start, End: end})
			at = next
		}
	}
	for at := 0; ; {
		start, end, ok := m.Next(at)
		if !ok {
			return hits
		}
		hits = append(hits, hit{start, end, m.Spans(nil, regex.Decode(text[start:end]), 1<<20)})
		at = end + 1
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

const notWord = `[^\pL\pM\pN\p{Pc}]`

// reference does the same with the regexp package, line by line.
func reference(pattern string, o regex.Options, text []byte) ([]hit, error) {
	flags := "m"
	if o.IgnoreCase {
		flags += "i"
	}
	if o.Multiline {
		flags += "s"
	}
	if o.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile("(?" + flags + ")" + pattern)
	if err != nil {
		return nil, err
	}
	if o.Multiline {
		var hits []hit
		for _, s := range re.FindAllIndex(text, -1) {
			hits = append(hits, hit{Start: s[0], End: s[1]})
		}
		return hits, nil
	}
	word := regexp.MustCompile("(?:^|" + notWord + ")((?" + flags + ")(?:" + pattern + "))(?:" + notWord + "|$)")
	wordLater := regexp.MustCompile("(?:" + notWord + ")((?" + flags + ")(?:" + pattern + "))(?:" + notWord + "|$)")
	var hits []hit
	for at := 0; at < len(text); {
		end := at + bytes.IndexByte(text[at:], '\n')
		line := regex.Decode(text[at:end])
		var spans [][2]int
		found := false
		switch {
		case o.Word:
			m := word.FindSubmatchIndex(line)
			found = m != nil
			for from := 0; m != nil; {
				if m[2] < m[3] {
					spans = append(spans, [2]int{from + m[2], from + m[3]})
				}
				if from += m[3]; m[2] == m[3] {
					return nil, fmt.Errorf("empty word")
				}
				m = wordLater.FindSubmatchIndex(line[from:])
			}
		default:
			for _, s := range re.FindAllIndex(line, -1) {
				found = true
				if s[0] < s[1] {
					spans = append(spans, [2]int{s[0], s[1]})
				}
			}
		}
		if found {
			hits = append(hits, hit{at, end, spans})
		}
		at = end + 1
	}
	return hits, nil
}

// patterns draws expressions over a small alphabet, so that they often match.
func patterns(depth int) *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{
		"a", "b", "k", "s", "S", "é", "É", "foo", "bar", "-", " ", "日", "ß", "ſ",
		".", `\w`, `\d`, `\s`, `\W`, "[a-c]", "[^a]", "[ké]", `\pL`, "[À-ÿ]", "[x-z日-本]",
		`\b`, `\B`, "^", "$", `\A`, `\z`, "", `\r`,
	})
	if depth == 0 {
		return atom
	}
	return rapid.Custom(func(t *rapid.T) string {
		sub := func() string { return patterns(depth-1).Draw(t, "sub") }
		group := func() string { return "(?:" + sub() + ")" }
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1, 2:
			return sub() + sub()
		case 3:
			return group() + "|" + sub()
		case 4:
			return group() + rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??"}).Draw(t, "times")
		case 5:
			return group() + rapid.SampledFrom([]string{"{2}", "{1,3}", "{0,2}", "{2,}"}).Draw(t, "repeat")
		case 6:
			return "(" + sub() + ")" + sub()
		case 7:
			return "(?i:" + sub() + ")"
		}
		return sub()
	})
}

func texts() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "k", "K", "s", "foo", "FOO", "bar", "-", " ", "é", "É", "日", "x1", "_", "\t", "ſ", "\u212a", "ẞ",
		"\xe9", "\xc3", "\x80", "\r\n", "\n", "\n", "\r",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "") + "\n"
	})
}

// What is found, and where, is what the regexp package finds in each line.
func TestAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := patterns(3).Draw(t, "pattern")
		o := regex.Options{
			IgnoreCase: rapid.Bool().Draw(t, "ignore case"),
			Word:       rapid.IntRange(0, 3).Draw(t, "word") == 0,
		}
		text := []byte(texts().Draw(t, "text"))
		want, err := reference(pattern, o, text)
		if err != nil {
			t.Skip(err)
		}
		if diff := cmp.Diff(want, search(t, pattern, o, text)); diff != "" {
			t.Fatalf("%q in %q: %s", pattern, text, diff)
		}
	})
}

func TestMultilineAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := patterns(3).Draw(t, "pattern")
		o := regex.Options{Multiline: true, IgnoreCase: rapid.Bool().Draw(t, "ignore case")}
		text := regex.DecodeText([]byte(texts().Draw(t, "text")))
		want, err := reference(pattern, o, text)
		if err != nil {
			t.Skip(err)
		}
		got := search(t, pattern, o, text)
		got = withoutAbutting(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %q: %s", pattern, text, diff)
		}
	})
}

// withoutAbutting drops empty matches right behind another match, which FindAll
// does not give.
func withoutAbutting(hits []hit) []hit {
	var out []hit
	for _, h := range hits {
		if k := len(out); h.Start == h.End && k > 0 && out[k-1].End == h.Start {
			continue
		}
		out = append(out, h)
	}
	return out
}

func TestLiteralAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(texts().Draw(t, "text"))
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "K", "s", "foo", "é", ".", "(", "\\"}), 1, 3).Draw(t, "pattern"), "")
		o := regex.Options{Literal: true, IgnoreCase: rapid.Bool().Draw(t, "ignore case")}
		want, err := reference(pattern, o, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, search(t, pattern, o, text)); diff != "" {
			t.Fatalf("%q in %q: %s", pattern, text, diff)
		}
	})
}

// Alternatives of every length are looked for together: in texts that hold them, parts
// of them, and each other, at every place.
func TestAlternativesAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shortest := rapid.IntRange(2, 9).Draw(t, "shortest")
		word := rapid.StringOfN(rapid.SampledFrom([]rune("eatinorsKé")), shortest, shortest+6, -1)
		words := rapid.SliceOfN(word, 2, 12).Draw(t, "words")
		piece := rapid.Custom(func(t *rapid.T) string {
			w := rapid.SampledFrom(words).Draw(t, "word")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return w
			case 1:
				return strings.ToUpper(w)
			case 2:
				return w[:rapid.IntRange(0, len(w)).Draw(t, "to")]
			case 3:
				return w[rapid.IntRange(0, len(w)).Draw(t, "from"):]
			}
			return rapid.SampledFrom([]string{" ", "\n", "\r\n", "the rest of a line that holds none of them", "\u212a"}).Draw(t, "other")
		})
		o := regex.Options{
			IgnoreCase: rapid.Bool().Draw(t, "ignore case"),
			Word:       rapid.Bool().Draw(t, "word"),
			Multiline:  rapid.IntRange(0, 3).Draw(t, "multiline") == 0,
		}
		o.Word = o.Word && !o.Multiline
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), ""))
		if o.Multiline {
			text = regex.DecodeText(text) // may end with a word
		} else {
			text = append(text, '\n')
		}
		pattern := rapid.SampledFrom([]string{"%s", "(%s)s?", `\b(%s)\b`, `[ns ](%s)`}).Draw(t, "around")
		pattern = fmt.Sprintf(pattern, strings.Join(words, "|"))
		want, err := reference(pattern, o, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, search(t, pattern, o, text)); diff != "" {
			t.Fatalf("%q %+v in %q: %s", pattern, o, text, diff)
		}
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("func \\(\\w+\\)", "func (x)\nfunc\r\n", false, false)
	f.Add("(?i)k+[^a-f]$", "\u212ag\n", true, false)
	f.Add("foo|bar|baz", "fobarbaz\nFOO\nba", true, false)
	f.Add("deadline|timeout|cancel", "timedeadlintimeout\ncance\ncancel", false, true)
	f.Add("[01]*1[01]{8}$", "0101010101011010101\n", false, true)
	f.Fuzz(func(t *testing.T, pattern, body string, ignoreCase, multiline bool) {
		o := regex.Options{IgnoreCase: ignoreCase, Multiline: multiline}
		if _, err := regex.Compile(pattern, o); err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Fatalf("error of more than a line: %q", err)
			}
			t.Skip()
		}
		if strings.ContainsAny(pattern, "{(") { // braces are mended, flags are not those of the reference
			search(t, pattern, o, []byte(body+"\n"))
			t.Skip()
		}
		text := []byte(body + "\n")
		if multiline {
			text = regex.DecodeText(text)
		}
		want, err := reference(pattern, o, text)
		if err != nil {
			t.Skip()
		}
		got := search(t, pattern, o, text)
		if multiline {
			got = withoutAbutting(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %q: %s", pattern, text, diff)
		}
	})
}
