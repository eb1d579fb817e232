package regex_test

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/platform/search/regex"
	"github.com/google/go-cmp/cmp"
)

func TestCompile(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		o             regex.Options
		want          int // matching lines
	}{
		{"${name}", "a ${name}\nname\n", regex.Options{}, 1},
		{"a{,2}|b{x}|c{", "a{,2}\nb{x}\nc{\nab\n", regex.Options{}, 3},
		{"{2}x|({3})|a{2}", "{2}x\n{3}\naa\na\n", regex.Options{}, 3},
		{`[{]{2}[^]}]\{1}\Q{1\E`, "{{a{1}{1\n", regex.Options{}, 1},
		{`(?i){1}A|(?P<x>{2})`, "{1}a\n{2}\n1\n", regex.Options{}, 2},
		{"foo$", "foo\r\nfoo \n", regex.Options{}, 1},
		{"a.c", "A.C\nabc\na.c\n", regex.Options{Literal: true, IgnoreCase: true}, 2},
		{"Foo", "foo\nFoo\n", regex.Options{SmartCase: true}, 1},
		{"foo", "foo\nFoo\n", regex.Options{SmartCase: true}, 2},
		{`\Soo\pL\x{4F}?`, "Foob\n", regex.Options{SmartCase: true}, 1},
		{`\Bo`, "FOO\n", regex.Options{SmartCase: true}, 1},
		{"É", "é\nÉ\n", regex.Options{SmartCase: true}, 1},
		{"(foo", "(foo)\n(foobar\n", regex.Options{Literal: true, Word: true}, 1},
		{"foo|foobar", "foobar\n", regex.Options{Word: true}, 1},
		{"foo", "éfoo\nfoo_\nfoo-\n\u0301foo\n", regex.Options{Word: true}, 1},
		{"straße", "STRAẞE\nStrasse\n", regex.Options{IgnoreCase: true}, 1},
		{"kiss", "\u212aI\u017fs\nKISS\n", regex.Options{IgnoreCase: true}, 2},
		{"", "a\n\n", regex.Options{}, 2},
		{`[^\S\n]|\n?x`, "a\nb c\nx\n", regex.Options{}, -1},
		{`[\n]?z`, "z\n", regex.Options{}, -1},
	} {
		if tt.want < 0 {
			if _, err := regex.Compile(tt.pattern, tt.o); err == nil || !strings.Contains(err.Error(), "multiline") {
				t.Errorf("%q: error %v, want one about line ends", tt.pattern, err)
			}
			continue
		}
		if got := search(t, tt.pattern, tt.o, []byte(tt.text)); len(got) != tt.want {
			t.Errorf("%q %+v in %q: %+v, want %d", tt.pattern, tt.o, tt.text, got, tt.want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"a(b":                           `write "\("`,
		"a)":                            "unexpected )",
		"[a":                            `"\["`,
		"a(?!b)":                        "look-around is not supported",
		"(?<=a)b":                       "look-around is not supported",
		`(a)\1`:                         "back-references are not supported",
		"a**":                           "invalid nested repetition",
		`\pX`:                           "invalid character class range",
		"a\xff":                         "not valid UTF-8",
		"(?:a{500}){500}":               "repeat",
		strings.Repeat("[^x]{900}", 30): "smaller repeat counts",
	} {
		_, err := regex.Compile(pattern, regex.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "pattern: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one with %q", pattern, err, want)
		}
	}
}

// Large texts, in which blocks end anywhere and automata run full.
func TestLargeTexts(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < 300<<10 {
		n := r.IntN(100)
		if r.IntN(200) == 0 {
			n = r.IntN(90 << 10)
		}
		for range n {
			b.WriteByte("ab01 x-é"[r.IntN(7)])
		}
		if r.IntN(5) == 0 {
			b.WriteString([]string{"needle", "Kelvin \u212a", "é\r", "\xe9", "aaaa"}[r.IntN(5)])
		}
		b.WriteByte('\n')
	}
	text := []byte(b.String())
	for _, pattern := range []string{
		"needle", "n(e)+dle", "ab0|b1a|xx-", "needle|ab01xb|aaaabb", "(?i)needle|Kelvin|ab01a", "[ab]{40}", "^b.*1$", `\bx\b`, "(?i)kelvin k", "é", "[01]*1[01 ]{9}x", "[ab01]*a[ab01]{14}x-", `-\s$`, "(a|b|01)+x",
	} {
		for _, o := range []regex.Options{{}, {Multiline: true}} {
			text := text
			if o.Multiline {
				text = regex.DecodeText(text)
			}
			want, err := reference(pattern, o, text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, search(t, pattern, o, text)); diff != "" {
				t.Errorf("%q %+v, seed %d: %.2000s", pattern, o, seed, diff)
			}
		}
	}
}

// Alternatives of every length are found at every place of a text, and at its end.
func TestAlternativesEverywhere(t *testing.T) {
	for n := 2; n <= 9; n++ {
		words := []string{"eatinorst"[:n], "sronitaes"[:n], "tieranost"[:n], "nasetorie"[:n]}
		for _, o := range []regex.Options{{}, {IgnoreCase: true}, {Multiline: true}} {
			re, err := regex.Compile(strings.Join(words, "|"), o)
			if err != nil {
				t.Fatal(err)
			}
			m := re.Matcher(nil)
			for _, word := range words {
				if o.IgnoreCase {
					word = strings.ToUpper(word)
				}
				for at := range 60 {
					for rest := range 20 {
						text := strings.Repeat(".", at) + word + strings.Repeat(".", rest)
						var start, end int
						var ok bool
						if o.Multiline {
							m.Reset([]byte(text))
							start, end, _, ok = m.Find(0)
							ok = ok && start == at && end == at+n
						} else {
							m.Reset([]byte("-\n" + text + "\n-\n"))
							start, end, ok = m.Next(0)
							ok = ok && start == 2 && end == 2+len(text)
						}
						if !ok {
							t.Fatalf("%q of %q %+v in %q: found at %d to %d", word, words, o, text, start, end)
						}
					}
				}
			}
		}
	}
}

// A match that begins in one block of the automaton's and ends in a later one,
// with nothing in between at which it could have begun, begins where it does.
func TestMatchOverBlocks(t *testing.T) {
	text := []byte("x\nb" + strings.Repeat("xa", 40<<10) + "1\n" + strings.Repeat("a\n", 40<<10))
	if diff := cmp.Diff([]hit{{Start: 2, End: 4 + 80<<10}}, search(t, "^b.*1$", regex.Options{Multiline: true}, text)); diff != "" {
		t.Error(diff)
	}
}

func TestStop(t *testing.T) {
	text := []byte(strings.Repeat("ab", 8<<20) + "\n")
	for _, o := range []regex.Options{{}, {Multiline: true}} {
		for _, pattern := range []string{"[ab]*c", "b$", "ab"} {
			re, err := regex.Compile(pattern, o)
			if err != nil {
				t.Fatal(err)
			}
			stop := new(atomic.Bool)
			stop.Store(true)
			m := re.Matcher(stop)
			m.Reset(text)
			found := false
			if o.Multiline {
				_, _, _, found = m.Find(0)
			} else {
				_, _, found = m.Next(0)
			}
			if found && pattern != "ab" {
				t.Errorf("%q %+v: a search that was stopped went on to the end", pattern, o)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "\r": "", "a\r": "a", "a\rb": "a\rb", "é": "é", "\xe9\r": "é", "\x80é\x93": "€é“", "\x81\xff": "\u0081ÿ",
	} {
		if got := string(regex.Decode([]byte(in))); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}
