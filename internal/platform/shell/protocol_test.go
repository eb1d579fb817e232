package shell_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/shell"
)

func TestReport(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	t.Run("sound", func(t *testing.T) {
		exports := strings.Repeat("export A='b'\n", 10000)
		tok, dir, exp, code, err := shell.ReadReport(strings.NewReader("sh: noise\n" + token + "\x0042\x00/a\nb\n\x00" + exports + "\x00rest"))
		if tok != token || dir != "/a\nb" || exp != exports || code != 42 || err != nil {
			t.Errorf("%q, %q, %d bytes, %d, %v", tok, dir, len(exp), code, err)
		}
	})
	for name, text := range map[string]string{
		"empty": "", "cut": token + "\x000\x00/a", "no code": token + "\x00x\x00/a\x00\x00", "endless": strings.Repeat("x", 5<<20),
	} {
		if _, _, _, _, err := shell.ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add("ABCDEFGHIJKLMNOPQRSTUVWXYZ\x000\x00/a\n\x00export A='b'\n\x00")
	f.Add("\x00\x00\x00\x00")
	f.Add("a\x001\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		token, dir, exports, _, err := shell.ReadReport(strings.NewReader(text))
		if err != nil {
			return
		}
		if fields := strings.SplitN(text, "\x00", 5); len(fields) != 5 || !strings.HasSuffix(fields[0], token) || fields[2] != dir && fields[2] != dir+"\n" || fields[3] != exports {
			t.Fatalf("%q: %q, %q, %q", text, token, dir, exports)
		}
	})
}
