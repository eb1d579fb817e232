package secret

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// streamText has secrets of every kind, some over several lines.
func streamText(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	var b strings.Builder
	for _, k := range kindSamples {
		for _, s := range append(k.yes[:len(k.yes):len(k.yes)], k.none...) {
			text, _ := split(expand(rng, s))
			b.WriteString("line of " + text + "\n")
		}
	}
	return b.String()
}

func write(t testing.TB, v *Vault, text string, sizes func() int) string {
	t.Helper()
	var out bytes.Buffer
	w := v.Writer(&out)
	for rest := []byte(text); len(rest) > 0; {
		n := min(max(1, sizes()), len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriterEqualsHide(t *testing.T) {
	multi := "line one " + sampleOf(20, "{a20}") + "\nline two\n\nline four"
	for _, entries := range [][]Entry{nil, {{Type: Plain, Content: multi}}, {{Type: Regex, Content: `X\s+Y`}}} {
		v := newVault(t, Options{Entries: entries})
		text := streamText(21) + multi + "\nX\n\nY " + multi + "."
		if len(entries) > 0 && entries[0].Type == Regex {
			text = text[len(text)/2:] // short enough to be held back as a whole
		}
		v.Hide(text) // a stream cannot know what it will learn
		want := v.Hide(text)
		rng := rand.New(rand.NewPCG(22, 2))
		for _, size := range []int{1, 7, 100, 5000, 1 << 20} {
			if got := write(t, v, text, func() int { return 1 + rng.IntN(size) }); got != want {
				i := 0
				for i < len(got) && i < len(want) && got[i] == want[i] {
					i++
				}
				t.Errorf("writes up to %d: differs at %d: %q, want %q", size, i, got[i:min(len(got), i+120)], want[i:min(len(want), i+120)])
			}
		}
	}
}

// Nothing is known beforehand here: what makes a line secret stands in another.
func TestWriterHoldsBack(t *testing.T) {
	for name, sample := range map[string]string{
		"private key": "a\n«-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----»\nb\n",
		"AWS secret":  "id AKIA{u16}\nnext\n«{b40}»\nb\n",
		"both":        "-----BEGIN PRIVATE KEY-----\nAKIA{u16}\n«{b40}»\n",
	} {
		text, secret := split(sampleOf(24, sample))
		want := detectVault(t).Hide(text)
		for size := range 40 {
			if got := write(t, detectVault(t), text, func() int { return size }); got != want || strings.Contains(got, secret) {
				t.Errorf("%s, writes of %d: %q, want %q", name, size, got, want)
				break
			}
		}
	}
}

func TestWriterLongLine(t *testing.T) {
	secret := sampleOf(23, "{a40}")
	v := newVault(t, Options{Env: []string{"A_TOKEN=" + secret}})
	text := strings.Repeat("words and "+secret+" more ", 20000)
	if got := write(t, v, text, func() int { return 4096 }); strings.Contains(got, secret) || v.Restore(got) != text {
		t.Error("a line of a megabyte is not hidden as a whole")
	}
}

func TestWriterPassesLines(t *testing.T) {
	var out bytes.Buffer
	w := detectVault(t).Writer(&out)
	if _, err := io.WriteString(w, "one\ntwo\nthr"); err != nil {
		t.Fatal(err)
	}
	if out.String() != "one\ntwo\n" {
		t.Errorf("passed on %q", out.String())
	}
	if err := w.Close(); err != nil || out.String() != "one\ntwo\nthr" {
		t.Errorf("%v, %q", err, out.String())
	}
	if _, err := io.WriteString(w, "x"); err == nil {
		t.Error("writes after Close")
	}
}
