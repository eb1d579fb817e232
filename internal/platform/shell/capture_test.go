package shell_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/platform/shell"
)

// cutUp cuts s into pieces of random lengths.
func cutUp(t *rapid.T, s string) []string {
	var pieces []string
	for len(s) > 0 {
		n := min(rapid.IntRange(1, 40).Draw(t, "length"), len(s))
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

func TestSplit(t *testing.T) {
	const mark = "\x1eabab\x1e"
	part := rapid.SampledFrom([]string{"\x1e", "\x1ea", "\x1eab", "\x1eaba", "\x1eabab", "abab\x1e", "b", "text\n"})
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOf(part).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOf(part).Draw(t, "after"), "")
		whole := before
		if rapid.Bool().Draw(t, "marked") {
			whole += mark + after
		}
		wantBefore, wantAfter, want := strings.Cut(whole, mark)
		b, a, found := shell.Split(mark, cutUp(t, whole))
		if b != wantBefore || a != wantAfter || found != want {
			t.Fatalf("%q: %q, %q, %v", whole, b, a, found)
		}
	})
}

// However output is cut into pieces, a watcher sees the same text.
func TestLiveIsClean(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"plain", "ä", "€", "😀", "\xff", "\xe2\x82", "\n", "\r\n", "\x1b[31m", "\x1b[38;5;1m", "\x1b]0;title\a", "\x1b]8;;x\x1b\\", "\x1b(B", "\x00", "\t",
	})
	clean := strings.NewReplacer("\r\n", "\n", "\x1b[31m", "", "\x1b[38;5;1m", "", "\x1b]0;title\a", "", "\x1b]8;;x\x1b\\", "", "\x1b(B", "", "\x00", "")
	rapid.Check(t, func(rt *rapid.T) {
		raw := strings.Join(rapid.SliceOf(part).Draw(rt, "output"), "")
		pieces := cutUp(rt, raw)
		pauses := rapid.SliceOfN(rapid.Bool(), len(pieces), len(pieces)).Draw(rt, "pauses")
		var got strings.Builder
		synctest.Test(t, func(*testing.T) {
			l := shell.NewLive(func(s string) { got.WriteString(s) })
			for i, p := range pieces {
				l.Write(p)
				if pauses[i] {
					<-time.After(time.Second)
				}
			}
			l.Close()
		})
		want := strings.ToValidUTF8(clean.Replace(raw), "\uFFFD")
		if one(got.String()) != one(want) {
			rt.Fatalf("%q: %q, want %q", raw, got.String(), want)
		}
	})
}

// one makes one U+FFFD of several: how many stand for a run of invalid bytes
// differs.
func one(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var last time.Time
		closing := false
		l := shell.NewLive(func(s string) {
			if since := time.Since(last); since < 50*time.Millisecond && !closing {
				t.Errorf("%q comes after %s", s, since)
			}
			last = time.Now()
			got = append(got, s)
		})
		for _, write := range []string{"a", "b", "c\x1b[3", "1m10%", "\r", "20%", "\r30%\r40%\r", "\n"} {
			l.Write(write)
			<-time.After(20 * time.Millisecond)
			if write != "b" {
				<-time.After(80 * time.Millisecond)
			}
		}
		l.Write(strings.Repeat("0123456789abcde\n", 10000))
		<-time.After(time.Second)
		synctest.Wait()
		n := len(got) - 1
		if len(got[n]) > 40<<10 || !strings.HasPrefix(got[n], "[…]\n0123456789abcde\n") {
			t.Errorf("of much output %d bytes: %.60q", len(got[n]), got[n])
		}
		got = got[:n]
		l.Write("x\n")
		<-time.After(20 * time.Millisecond)
		l.Write("end\xe2\x82")
		synctest.Wait()
		closing = true
		begun := time.Now()
		l.Close()
		if took := time.Since(begun); took > 0 {
			t.Errorf("Close takes %s", took)
		}
		l.Write("late")
		<-time.After(time.Second)
		want := []string{"a", "b", "c", "10%", "\n20%", "\n40%", "\n", "x\n", "end\uFFFD"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzComplete(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b", "\x1b[3", "\x1b[3m", "\x1b]0;x", "\x1b]0;x\a", "a\r", "\xe2\x82", "\xff", "\x1b(", "\x1b\x1b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		n := shell.Complete(p)
		if n < 0 || n > len(p) {
			t.Fatalf("%q: %d", p, n)
		}
		// What more follows never makes a shorter beginning complete.
		more := append(append([]byte{}, p...), byte(rand.IntN(256)))
		if m := shell.Complete(more); m < n {
			t.Fatalf("%q: %d, with one byte more %d", p, n, m)
		}
	})
}
