package external

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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

// script makes an editor; its name has a space.
func script(t *testing.T, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("editors are shell scripts here")
	}
	path := filepath.Join(t.TempDir(), "my editor")
	t.Setenv("TMPDIR", t.TempDir()) // or path would be one that commands may write
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name, body, text, want, problem string
	}{
		{"changes", `sed -i s/old/new/ "$1"`, "old text\nof two lines", "new text\nof two lines", ""},
		{"unchanged", `:`, "text\n\n", "text\n\n", ""},
		{"only a line end", `echo >> "$1"`, "text", "text", ""},
		{"emptied", `: > "$1"`, "text", "", ""},
		{"leaves files", `touch "$1.swp" "$(dirname "$1")/4913"; printf more > "$1"`, "text", "more", ""},
		{"replaces the file", `printf other > "$1.new" && mv "$1.new" "$1"`, "text", "other", ""},
		{"ends with an error", `echo lost > "$1"; exit 1`, "text", "text", "my editor ended with an error (exit status 1): your text is unchanged"},
		{"removes the file", `rm "$1"`, "text", "text", "your text is unchanged"},
		{"is not text", `printf '\377' > "$1"`, "text", "text", "not UTF-8"},
		{"is too large", `head -c 16777217 /dev/zero > "$1"`, "text", "text", "larger than 16 MB"},
		{"large as it was", `:`, strings.Repeat("x", MaxText+5), strings.Repeat("x", MaxText+5), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			got, err := Edit(context.Background(), Options{Getenv: env("VISUAL=" + script(t, tt.body))}, tt.text)
			if got != tt.want {
				t.Errorf("got %.100q", got)
			}
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %v", err)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestEditorGetsTheTerminal(t *testing.T) {
	var steps []string
	var out, problems strings.Builder
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(folder, "state") // is made
	editor := script(t, `
		echo "args $1 $2 $(basename "$3")"
		test "$(dirname "$3")" = "$(pwd)" && test "$(dirname "$(dirname "$3")")" = "`+folder+`" && echo in its folder
		stat -c %a "$3" "$(dirname "$3")" 2>/dev/null || stat -f %Lp "$3" "$(dirname "$3")"
		read line; echo "$line" > "$3"; echo complaint >&2`)
	o := Options{
		Getenv: env("VISUAL=", `EDITOR="`+editor+`" -n 'two words'`), Folder: folder,
		Suspend: func() error { steps = append(steps, "suspend"); return nil },
		Resume:  func() error { steps = append(steps, "resume "+out.String()); return nil },
		Stdin:   strings.NewReader("typed\n"), Stdout: &out, Stderr: &problems,
	}
	got, err := Edit(context.Background(), o, "text")
	if err != nil || got != "typed\n" || problems.String() != "complaint\n" {
		t.Errorf("got %q, %q, %v", got, problems.String(), err)
	}
	want := []string{"suspend", "resume args -n two words " + FileName + "\nin its folder\n600\n700\n"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	broken := errors.New("no terminal")
	o.Suspend = func() error { return broken }
	if got, err := Edit(context.Background(), o, "text"); got != "text" || !errors.Is(err, broken) {
		t.Errorf("without a terminal: %q, %v", got, err)
	}
	o.Suspend, o.Resume, o.Stdin = nil, func() error { return broken }, strings.NewReader("typed\n")
	if _, err := Edit(context.Background(), o, "text"); !errors.Is(err, broken) {
		t.Errorf("terminal not taken back: %v", err)
	}
}

func TestContextEndsEditor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	resumed := false
	o := Options{Getenv: env("EDITOR=" + script(t, `exec sleep 60`)), Suspend: func() error { cancel(); return nil }, Resume: func() error { resumed = true; return nil }}
	if got, err := Edit(ctx, o, "text"); got != "text" || err == nil || !resumed {
		t.Errorf("%q, %v, resumed %v", got, err, resumed)
	}
}

func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are those of Unix")
	}
	bin := t.TempDir()
	for _, name := range []string{"nano", "vi", "code", "emacsclient"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir()) // or bin would be a folder that commands may write
	t.Setenv("PATH", bin)
	for _, tt := range []struct {
		env     []string
		want    string // program below bin and arguments
		problem string
	}{
		{nil, "nano", ""},
		{[]string{"VISUAL=vi", "EDITOR=nano"}, "vi", ""},
		{[]string{"VISUAL= ", "EDITOR=vi -u NONE"}, "vi|-u|NONE", ""},
		{[]string{"VISUAL=code"}, "code|--wait", ""},
		{[]string{"VISUAL=code -n -w"}, "code|-n|-w", ""},
		{[]string{"VISUAL=code --wait"}, "code|--wait", ""},
		{[]string{`VISUAL=emacsclient -t -a ""`}, "emacsclient|-t|-a|", ""},
		{[]string{`VISUAL=vi -c 'set tw=72' a\ b`}, "vi|-c|set tw=72|a b", ""},
		{[]string{`VISUAL=vi "x`}, "", "VISUAL: missing closing quote"},
		{[]string{`VISUAL=""`}, "", "no program named"},
		{[]string{"EDITOR=vim -R"}, "", `"vim" of EDITOR was not found`},
	} {
		got, err := Options{Getenv: env(tt.env...)}.command()
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%v: error %v", tt.env, err)
			}
			continue
		}
		if line := strings.TrimPrefix(strings.Join(got, "|"), bin+"/"); err != nil || line != tt.want {
			t.Errorf("%v: got %q, %v", tt.env, line, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (Options{Getenv: env()}).command(); err == nil || !strings.Contains(err.Error(), "set VISUAL") {
		t.Errorf("without any editor: %v", err)
	}
}

// A shell takes a command apart in the same way.
func FuzzWords(f *testing.F) {
	for _, s := range []string{`a "b c" 'd e' f\ g`, `"`, `\`, `''`, "a\tb\nc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := words(s)
		if err != nil {
			return
		}
		if strings.Join(list, "") == "" || len(strings.Join(list, "")) > len(s)*3 {
			t.Fatalf("%q: %q", s, list)
		}
		if strings.ContainsFunc(s, func(r rune) bool { // a shell would expand it, or end a command
			return r > '~' || r != ' ' && r < '"' || strings.ContainsRune("$`&|;<>()*?[]#~{}=!\\", r)
		}) {
			return
		}
		if runtime.GOOS == "windows" {
			return
		}
		out, err := exec.Command("sh", "-c", `printf '%s\n' `+s).Output()
		if want := strings.Join(list, "\n") + "\n"; err != nil || string(out) != want {
			t.Errorf("%q: got %q, sh says %q, %v", s, want, out, err)
		}
	})
}

// The editor runs nothing of the workspace: it is not taken from there.
func TestPlantedEditorIsNotStarted(t *testing.T) {
	editor := script(t, `echo ran > "$1"`)
	o := Options{Getenv: env(`EDITOR="` + editor + `"`), Writable: []string{filepath.Dir(editor)}}
	if got, err := Edit(t.Context(), o, "text"); got != "text" || err == nil || !strings.Contains(err.Error(), "commands may write") {
		t.Errorf("%q, %v", got, err)
	}
}
