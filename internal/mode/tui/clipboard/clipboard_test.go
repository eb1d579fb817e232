package clipboard

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v
			}
		}
		return ""
	}
}

// tools puts shell scripts of these names in place of all programs but the shell's.
// They may use $DIR, the folder that is returned.
func tools(t *testing.T, scripts map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("tools are shell scripts here")
	}
	dir := t.TempDir()
	for name, body := range scripts {
		body = "#!/bin/sh\nPATH=/usr/bin:/bin DIR='" + dir + "'\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir()) // or dir would be one that commands may write
	t.Setenv("PATH", dir)
	return dir
}

const keep = `echo "$(basename "$0") $*" > "$DIR/args"; cat > "$DIR/in"`

func TestCopy(t *testing.T) {
	local := []string{"DISPLAY=:0"}
	for _, tt := range []struct {
		name     string
		system   string
		env      []string
		scripts  map[string]string
		text     string
		args     string // of the tool that was used
		sequence bool   // the terminal was asked
		problem  string
	}{
		{"over SSH", "linux", []string{"SSH_TTY=/dev/pts/1", "DISPLAY=:10"}, map[string]string{"xclip": keep}, "text", "", true, ""},
		{"X11", "linux", local, map[string]string{"xclip": keep, "xsel": keep}, "text", "xclip -selection clipboard -in", true, ""},
		{"the next tool", "linux", local, map[string]string{"xclip": "exit 1", "xsel": keep}, "text", "xsel --clipboard --input", true, ""},
		{"Wayland", "linux", []string{"WAYLAND_DISPLAY=w", "DISPLAY=:0"}, map[string]string{"wl-copy": keep, "xclip": keep}, "-n text", "wl-copy ", true, ""},
		{"macOS", "darwin", nil, map[string]string{"pbcopy": keep}, "text", "pbcopy ", true, ""},
		{"WSL", "linux", []string{"WSL_DISTRO_NAME=x"}, map[string]string{"powershell.exe": keep}, "ünï", "powershell.exe -NoProfile -NonInteractive -Command " + setPowerShell, true, ""},
		{"no display", "linux", nil, map[string]string{"xclip": keep}, "text", "", true, ""},
		{"no tool", "linux", local, nil, "text", "", true, ""},
		{"tool fails", "linux", local, map[string]string{"xclip": "exit 1"}, "text", "", true, ""},
		{"tmux", "linux", []string{"TMUX=/s,1,0"}, map[string]string{"tmux": keep}, "text", "tmux load-buffer -w -", false, ""},
		{"old tmux", "linux", []string{"TMUX=/s,1,0"}, map[string]string{"tmux": "exit 1"}, "text", "", true, ""},
		{"large", "linux", local, map[string]string{"xclip": keep}, strings.Repeat("x", MaxSequence+1), "xclip -selection clipboard -in", false, ""},
		{"large, no tool", "linux", local, nil, strings.Repeat("x", MaxSequence+1), "", false, "too large for the terminal's clipboard (100 KB of at most 100 KB): install xclip"},
		{"large, over SSH", "linux", []string{"SSH_CLIENT=x"}, nil, strings.Repeat("x", 2*MaxSequence), "", false, "too large to copy over SSH (200 KB of at most 100 KB)"},
		{"large, tool fails", "linux", local, map[string]string{"xclip": "exit 1"}, strings.Repeat("x", MaxSequence+1), "", false, "copy to the clipboard: xclip: exit status 1"},
		{"too large", "linux", local, map[string]string{"xclip": keep}, strings.Repeat("x", MaxText+1), "", false, "16 MB of at most 16 MB"},
		{"tool hangs", "linux", local, map[string]string{"xclip": "exec sleep 600"}, strings.Repeat("x", MaxSequence+1), "", false, "xclip did not answer"},
		{"tool stays", "linux", local, map[string]string{"xclip": keep + "; sleep 60 &"}, "text", "xclip -selection clipboard -in", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tools(t, tt.scripts)
			var written []byte
			c := New(Options{Getenv: env(tt.env...), Terminal: func(s []byte) error { written = append(written, s...); return nil }})
			c.system, c.limit = tt.system, time.Minute
			if tt.name == "tool hangs" {
				c.limit = 300 * time.Millisecond
			}
			began := time.Now()
			err := c.Copy(context.Background(), tt.text)
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %v", err)
			}
			if tt.name == "tool stays" && time.Since(began) > 30*time.Second {
				t.Error("it was waited for")
			}
			if (len(written) > 0) != tt.sequence {
				t.Errorf("the terminal got %.100q", written)
			}
			if tt.sequence && tt.env != nil && tt.env[0] == local[0] {
				if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(tt.text)) + "\a"; string(written) != want {
					t.Errorf("the terminal got %q, want %q", written, want)
				}
			}
			args, _ := os.ReadFile(filepath.Join(dir, "args"))
			if strings.TrimSuffix(string(args), "\n") != tt.args {
				t.Errorf("used %q, want %q", args, tt.args)
			}
			if in, _ := os.ReadFile(filepath.Join(dir, "in")); tt.args != "" && string(in) != tt.text {
				t.Errorf("the tool got %.100q", in)
			}
		})
	}
}

func TestCopyToClip(t *testing.T) {
	dir := tools(t, map[string]string{"clip.exe": keep})
	c := New(Options{Getenv: env()})
	c.system = "windows"
	if err := c.Copy(context.Background(), "ü😀"); err != nil {
		t.Fatal(err)
	}
	if in, _ := os.ReadFile(filepath.Join(dir, "in")); string(in) != "\xff\xfe\xfc\x00\x3d\xd8\x00\xde" {
		t.Errorf("got %q", in)
	}
	t.Setenv("PATH", t.TempDir())
	if err := c.Copy(context.Background(), "x"); err == nil || !strings.Contains(err.Error(), "no program here can copy") {
		t.Errorf("error %v", err)
	}
	broken := errors.New("closed")
	c.o.Terminal = func([]byte) error { return broken }
	if err := c.Copy(context.Background(), "x"); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestCopyInTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", "80", "-y", "24", "cat")
	t.Cleanup(func() { tmux("kill-server") })
	t.Setenv("TMUX", socket+",1,0")
	c := New(Options{Getenv: env("TMUX=" + socket + ",1,0"), Terminal: func(s []byte) error {
		t.Errorf("the terminal got %q", s)
		return nil
	}})
	const text = "several\nlines; 'and' \"quotes\" ünï\n"
	if err := c.Copy(context.Background(), text); err != nil {
		t.Fatal(err)
	}
	if got := tmux("show-buffer"); got != text {
		t.Errorf("tmux has %q", got)
	}
}

func TestSequence(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("text"))
	for name, tt := range map[string]struct {
		env  func(string) string
		want string
	}{
		"plain": {env(), "\x1b]52;c;" + encoded + "\a"},
		"tmux":  {env("TMUX=x", "STY=x"), "\x1bPtmux;\x1b\x1b]52;c;" + encoded + "\a\x1b\\"},
	} {
		if got := string(Sequence(tt.env, "text")); got != tt.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	got := string(Sequence(env("STY=x"), strings.Repeat("x", 3000)))
	var whole string
	for _, piece := range strings.Split(strings.TrimSuffix(got, "\x1b\\"), "\x1b\\") {
		if len(piece) > 512 || !strings.HasPrefix(piece, "\x1bP") {
			t.Errorf("piece %.20q of %d bytes", piece, len(piece))
		}
		whole += strings.TrimPrefix(piece, "\x1bP")
	}
	if whole != string(Sequence(env(), strings.Repeat("x", 3000))) {
		t.Error("the pieces are not the whole")
	}
}

func TestImage(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n"), "the rest of it"...)
	jpeg := []byte("\xff\xd8\xff\xe0 jpeg")
	dir := t.TempDir()
	for name, data := range map[string][]byte{"png": png, "jpeg": jpeg} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	give := func(name string) string { return "cat '" + filepath.Join(dir, name) + "'" }
	for _, tt := range []struct {
		name    string
		system  string
		env     []string
		scripts map[string]string
		want    Image
		problem string
	}{
		{"Wayland", "linux", []string{"WAYLAND_DISPLAY=w"}, map[string]string{"wl-paste": `[ "$*" = "--no-newline --type image/png" ] && ` + give("png")}, Image{"image/png", png}, ""},
		{"X11, no PNG", "linux", []string{"DISPLAY=:0"}, map[string]string{"xclip": `[ "$*" = "-selection clipboard -t image/jpeg -o" ] && ` + give("jpeg")}, Image{"image/jpeg", jpeg}, ""},
		{"pngpaste", "darwin", nil, map[string]string{"pngpaste": give("png")}, Image{"image/png", png}, ""},
		{"osascript", "darwin", nil, map[string]string{"pngpaste": "exit 1", "osascript": "printf '«data PNGf" + strings.ToUpper(hex.EncodeToString(png)) + "»\n'"}, Image{"image/png", png}, ""},
		{"osascript, no picture", "darwin", nil, map[string]string{"osascript": "echo 'execution error'; exit 1"}, Image{}, ErrNoImage.Error()},
		{"Windows", "windows", nil, map[string]string{"powershell.exe": "echo '" + base64.StdEncoding.EncodeToString(png) + "'"}, Image{"image/png", png}, ""},
		{"Windows, no picture", "windows", nil, map[string]string{"powershell.exe": ":"}, Image{}, ErrNoImage.Error()},
		{"text", "linux", []string{"DISPLAY=:0"}, map[string]string{"xclip": "echo some text"}, Image{}, ErrNoImage.Error()},
		{"no tool", "linux", []string{"WAYLAND_DISPLAY=w"}, nil, Image{}, "no program here can read pictures from the clipboard: install wl-clipboard"},
		{"SSH", "linux", []string{"SSH_TTY=x", "DISPLAY=:0"}, map[string]string{"xclip": give("png")}, Image{}, "over SSH"},
		{"too large", "linux", []string{"DISPLAY=:0"}, map[string]string{"xclip": give("png") + "; head -c 33554432 /dev/zero"}, Image{}, "larger than 32 MB"},
		{"without end", "linux", []string{"DISPLAY=:0"}, map[string]string{"xclip": "exec cat /dev/zero"}, Image{}, "larger than 32 MB"},
		{"hangs", "linux", []string{"DISPLAY=:0"}, map[string]string{"xclip": "exec sleep 60"}, Image{}, "xclip did not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tools(t, tt.scripts)
			c := New(Options{Getenv: env(tt.env...)})
			c.system, c.limit = tt.system, 2*time.Minute
			if tt.name == "hangs" {
				c.limit = 200 * time.Millisecond
			}
			got, err := c.Image(context.Background())
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%.500s", diff)
			}
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	dir := t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	for _, n := range []string{"a.png", "b c.png", "it's.png", "ü%20.png", `x\y.png`} {
		if err := os.WriteFile(name(n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", dir)
	many := strings.Repeat(name("a.png")+" ", maxPaths)
	for _, tt := range []struct {
		paste string
		want  []string
	}{
		{name("a.png"), []string{"a.png"}},
		{" " + name("a.png") + "\n", []string{"a.png"}},
		{name("b c.png"), []string{"b c.png"}},
		{name(`b\ c.png`) + " " + name(`it\'s.png`) + " ", []string{"b c.png", "it's.png"}},
		{"'" + name("b c.png") + `' "` + name("it's.png") + `"`, []string{"b c.png", "it's.png"}},
		{"'" + name("it") + `'\''s.png'`, []string{"it's.png"}},
		{"file://" + name("b%20c.png") + "\r\nfile://localhost" + name("%C3%BC%2520.png"), []string{"b c.png", "ü%20.png"}},
		{"~/a.png", []string{"a.png"}},
		{name(`x\y.png`), []string{`x\y.png`}},
		{dir, []string{"."}},
		{"a.png", nil},
		{"see " + name("a.png"), nil},
		{name("a.png") + " please", nil},
		{name("gone.png"), nil},
		{name("a.png") + " " + name("gone.png"), nil},
		{"file://elsewhere" + name("a.png"), nil},
		{"https://example.com/a.png", nil},
		{"file://" + name("a.png%00"), nil},
		{"'" + name("a.png"), nil},
		{"", nil},
		{"/", []string{"/"}},
		{strings.TrimSpace(many) + " " + name("a.png"), nil},
		{strings.Repeat("x", maxPaste+1), nil},
	} {
		var want []string
		for _, w := range tt.want {
			if !filepath.IsAbs(w) {
				w = name(w)
			}
			want = append(want, w)
		}
		if diff := cmp.Diff(want, Paths(tt.paste)); diff != "" {
			t.Errorf("%.80q: -want +got:\n%s", tt.paste, diff)
		}
	}
	if got := Paths(many); len(got) != maxPaths {
		t.Errorf("%d of %d files", len(got), maxPaths)
	}
}

// What a terminal quotes is read as the file it means.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a b", "it's", `"`, `\`, "ü$x", "%41", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if words, ok := split(name, false); ok && len(strings.Join(words, "")) > 3*len(name) {
			t.Errorf("%q: %q", name, words)
		}
		Paths(name)
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F || r == unicode.ReplacementChar }) {
			return
		}
		var escaped bytes.Buffer
		for _, r := range name {
			if strings.ContainsRune(" \\'\"", r) || unicode.IsSpace(r) {
				escaped.WriteByte('\\')
			}
			escaped.WriteRune(r)
		}
		for _, s := range []string{escaped.String(), "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"} {
			if words, ok := split("/x "+s+" y", false); !ok || !cmp.Equal(words, []string{"/x", name, "y"}) {
				t.Errorf("%q was written as %s and read as %q, %v", name, fmt.Sprint(s), words, ok)
			}
		}
	})
}

// A tool that a command has put into the workspace, or another folder of its own, is not
// started.
func TestPlantedToolsAreNotStarted(t *testing.T) {
	dir := tools(t, map[string]string{"xclip": keep, "tmux": keep})
	var asked bool
	c := New(Options{
		Getenv: env("DISPLAY=:0", "TMUX=/s,1,0"), Writable: []string{dir},
		Terminal: func([]byte) error { asked = true; return nil },
	})
	c.system = "linux"
	if err := c.Copy(t.Context(), "text"); err != nil || !asked {
		t.Errorf("copy: %v, the terminal was asked: %v", err, asked)
	}
	if _, err := c.Image(t.Context()); err == nil || errors.Is(err, ErrNoImage) {
		t.Errorf("image: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "args")); err == nil {
		t.Error("a tool was started")
	}
}
