package secret

import (
	"encoding/json"
	"fmt"
	"go/build"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// goRoot is where the Go distribution of the build is.
func goRoot(t testing.TB) string {
	t.Helper()
	root := build.Default.GOROOT
	if root == "" {
		t.Fatal("the Go distribution is not found: set GOROOT")
	}
	return root
}

func codeText(b *testing.B) string {
	var text strings.Builder
	for text.Len() < 1<<20 {
		for _, f := range codeFiles(b) {
			text.WriteString(f.text)
		}
	}
	return text.String()[:1<<20]
}

func benchVault(b *testing.B) *Vault {
	o := Options{}
	for i := range 30 {
		o.Env = append(o.Env, fmt.Sprintf("SERVICE%d_TOKEN=%s", i, sampleOf(uint64(i), "{a32}")))
	}
	return newVault(b, o)
}

// A server has a vault for each of hundreds of sessions, most of which know nothing of their own.
func TestVaultsShareDetectors(t *testing.T) {
	newVault(t, Options{})
	var all []*Vault
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		all = append(all, newVault(t, Options{}))
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 4<<10 {
		t.Errorf("a vault takes %d bytes", each)
	}
	// What one of them knows the others don't.
	secret := sampleOf(7, "{a32}")
	if one := newVault(t, Options{Env: []string{"SERVICE_TOKEN=" + secret}}); one.Hide("x "+secret) == "x "+secret {
		t.Error("a vault does not know its own secret")
	}
	for _, v := range append(all, newVault(t, Options{})) {
		if got := v.Hide("x " + secret); got != "x "+secret {
			t.Fatalf("another vault hides %q", got)
		}
	}
}

func BenchmarkHideCode(b *testing.B) {
	v, text := benchVault(b), codeText(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		v.Hide(text)
	}
}

// A key is known, so that each piece of the code may be one of it.
func BenchmarkHideCodeWithKeys(b *testing.B) {
	v, text := benchVault(b), codeText(b)
	for _, key := range keyFiles(b) {
		v.Learn(key)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		v.Hide(text)
	}
}

func BenchmarkHideSecrets(b *testing.B) {
	v := benchVault(b)
	text := strings.Repeat(codeText(b)[:20000]+"\nvalue "+sampleOf(5, "{a32}")+"\n", 50)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		v.Hide(text)
	}
}

// One long string with escapes, and many short ones.
func BenchmarkHideJSON(b *testing.B) {
	v, code := benchVault(b), codeText(b)[:200_000]
	for name, x := range map[string]any{
		"code": map[string]any{"path": "a.go", "content": code},
		"lines": func() (l []string) {
			for i := range 4000 {
				l = append(l, code[i*40:i*40+40])
			}
			return l
		}(),
	} {
		b.Run(name, func(b *testing.B) {
			text, err := json.Marshal(x)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				v.HideJSON(text)
			}
		})
	}
}

// A history of 1,000 messages and 2 MB of which only the last is new.
func BenchmarkHideMessages(b *testing.B) {
	v, code := benchVault(b), codeText(b)
	history := make([]llm.Message, 1000)
	for i := range history {
		history[i] = llm.UserText(fmt.Sprint(i, code[i*1000:i*1000+2000]))
	}
	v.HideMessages(history)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		history[999] = llm.UserText(fmt.Sprint(i, code[:2000]))
		v.HideMessages(history)
	}
}

func BenchmarkWriter(b *testing.B) {
	v, code := benchVault(b), []byte(codeText(b))
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	for b.Loop() {
		w := v.Writer(discard{})
		for i := 0; i < len(code); i += 4096 {
			if _, err := w.Write(code[i : i+4096]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func fuzzVault(t testing.TB) *Vault {
	return newVault(t, Options{
		Env: []string{"A_TOKEN=Zx81-kkw0Q", "B_SECRET=two\nlines\"\\9"},
		Entries: []Entry{
			{Type: Plain, Content: "hunter2", Name: "h"},
			{Type: Regex, Content: `EMP-\d+`},
		},
	})
}

func FuzzHide(f *testing.F) {
	for i, k := range kindSamples {
		text, _ := split(sampleOf(uint64(i), k.yes[0]))
		f.Add("x Zx81-kkw0Q "+text+" two\nlines\"\\9\n hunter2 EMP-12", uint16(i*7))
	}
	f.Add("-----BEGIN PRIVATE KEY-----\\n\\n-----END ", uint16(3))
	for _, text := range keyFiles(f) {
		f.Add(views["grep path"](text), uint16(200))
		f.Add(views["code"](text)[:200], uint16(100))
	}
	f.Add(`{"kty":"oct","k":"`+sampleOf(1, "{a43}")+`"} Private-Lines: 1`+"\n+"+sampleOf(2, "{b64}"), uint16(60))
	f.Add("hunthunter2er2Zx81-kkw0QZx81-kkw0Q password=\"SECRET.A.bcdfghjkmn\"", uint16(9))
	f.Fuzz(func(t *testing.T, s string, cut uint16) {
		if len(s) > 20000 || nextPlaceholder(s, 0) >= 0 {
			return
		}
		v := fuzzVault(t)
		out := v.Hide(s)
		if again := v.Hide(out); again != out {
			t.Fatalf("%q: hidden once %q, twice %q", s, out, again)
		}
		if back := v.Restore(out); back != s {
			t.Fatalf("%q: hidden %q, restored %q", s, out, back)
		}
		for _, secret := range []string{"Zx81-kkw0Q", "two\nlines\"\\9", "hunter2"} {
			if strings.Contains(out, secret) {
				t.Fatalf("%q stays in %q", secret, out)
			}
		}
		want := v.Hide(s)
		at := int(cut) % (len(s) + 1)
		first := true
		got := write(t, v, s, func() int {
			if first {
				first = false
				return at
			}
			return len(s)
		})
		if got != want {
			t.Fatalf("%q cut at %d: stream %q, want %q", s, at, got, want)
		}
	})
}

func FuzzArgs(f *testing.F) {
	f.Add(`{"a":"Zx81-kkw0Q","b":["two\nlines\"\\9",-1.5e3,null]}`)
	f.Add(`{"password": "kd93-Hdj2-kk"} "\u005ax81-kkw0Q`)
	f.Add(`["\ud800 hunter2", 1`)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 20000 {
			return
		}
		v := fuzzVault(t)
		hidden := v.hideJSON(s)
		restored := v.RestoreArgs(hidden)
		if json.Valid([]byte(s)) {
			if !json.Valid([]byte(hidden)) || !json.Valid([]byte(restored)) {
				t.Fatalf("%q: hidden %q, restored %q", s, hidden, restored)
			}
			if again := string(v.HideJSON([]byte(hidden))); again != hidden {
				t.Fatalf("%q: hidden once %q, twice %q", s, hidden, again)
			}
			if utf8.ValidString(s) && strings.Contains(hidden, "Zx81-kkw0Q") {
				t.Fatalf("%q: hidden %q", s, hidden)
			}
		}
	})
}
