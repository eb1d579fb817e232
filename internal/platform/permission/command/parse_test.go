package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/permission/command"
)

var place = command.Place{Root: "/src/project", Home: "/home/me"}

// outline is what a line does: runs, writes, reads, changes of the shell; "?"
// marks what is opaque, "!" what is dangerous, "~" what is hidden.
func outline(l *command.Line) []string {
	if l.Failure != "" {
		return []string{"failure: " + l.Failure}
	}
	var out []string
	for i := range l.Parts {
		p := &l.Parts[i]
		var s string
		switch p.Kind {
		case command.Run:
			var words []string
			for _, a := range p.Call().Env {
				words = append(words, a.Name+"="+a.Value.Text)
			}
			for _, w := range p.Call().Words {
				if w.Exact {
					words = append(words, w.Text)
				} else {
					words = append(words, w.Text+"…")
				}
			}
			s = "run " + strings.Join(words, " ")
		case command.Write:
			s = "write " + p.Path.Name
		case command.Read:
			s = "read " + p.Path.Name
		case command.Shell:
			s = "shell"
		}
		for _, m := range []struct {
			on   bool
			mark string
		}{{p.Opaque != "", "?"}, {p.Danger != "", "!"}, {p.Hidden, "~"}} {
			if m.on {
				s = m.mark + s
			}
		}
		out = append(out, s)
	}
	return out
}

func TestParse(t *testing.T) {
	for line, want := range map[string][]string{
		"":                            nil,
		"# nothing":                   nil,
		"ls -la src":                  {"run ls -la src"},
		`l\s "a b" c'd'e $'f\tg' \*`:  {"run ls a b cde f\tg *"},
		"ls $X \"$Y\" a$Z *.go {a,b}": {"run ls … … a… … …"},
		"$X y":                        {"?run … y"},
		`""`:                          {"?run "},
		"l*":                          {"?run l…"},
		"ls | wc; pwd && id || w &":   {"run ls", "run wc", "run pwd", "run id", "run w"},
		"(ls; { id; })":               {"run ls", "run id"},
		"if a; then b; elif c; then d; else e; fi":       {"run a", "run b", "run c", "run d", "run e"},
		"for i in $(a); do b; done; while c; do d; done": {"run a", "run b", "run c", "run d"},
		"case $(a) in $(b)) c;; *) d;; esac":             {"run a", "run b", "run c", "run d"},
		"echo $(a `b` \"$(c)\") ${x:-$(d)} <(e) >(f)":    {"run b", "run c", "run a … …", "run d", "run e", "run f", "run echo … … … …"},
		"f() { a; }":             {"?shell", "run a"},
		"x=$(a) y=2":             {"run a", "shell"},
		"A=1 B=$(c) ls":          {"run c", "run A=1 B= ls"},
		"PATH=x":                 {"shell", "?shell"},
		"export CI=1 PATH=$(a)":  {"shell", "?shell", "run a"},
		"[[ -n $(a) ]]":          {"shell", "run a"},
		"[[ $x -eq 1 ]]":         {"shell", "?shell"},
		"echo $((1 + 2)) $((x))": {"?shell", "run echo … …"},
		"((i++))":                {"?shell"},
		"coproc a":               {"?shell", "run a"},
		"time a":                 {"run a"},
		"a > x >> y 2> z < w >&2 2>&1 >/dev/null &> v": {"write x", "write y", "write z", "read w", "write /dev/null", "write v", "run a"},
		"a > $X":           {"?write ", "run a"},
		"a > ../x":         {"write /src/x", "run a"},
		"a <<E\n$(b)\nE":   {"run b", "run a"},
		"a <<'E'\n$(b)\nE": {"run a"},
		"a <<< $(b)":       {"run b", "run a"},
		"env -i A=1 timeout -k 1 5 nice -n 3 a b":       {"run A=1 a b"},
		"command -v a; command a; exec b; builtin c":    {"run command -v a", "run a", "run b", "run c"},
		"a | xargs -0 -I{} b {} c{}d":                   {"run a", "run b … c… …"},
		"find . -exec a {} \\; -name x -execdir b {} +": {"run find . -exec a {} ; -name x -execdir b {} +", "run a …", "run b …"},
		"find . -exec a":                                {"?run find . -exec a", "run a"},
		"find . -exec a \\;$X -exec b \\;":              {"?run find . -exec a ;… -exec b ;", "run a"},
		"bash -euo pipefail -c 'a; b \"$1\"' _ x":       {"run a", "run b …"},
		"bash -c 'bash -c \"a\"'":                       {"run a"},
		"sh -c '[[ a || b ]]'":                          {"shell", "run [[ a", "run b ]]"},
		"sh -c 'a b'":                                   {"run a b"},
		"bash -c \"$X\"":                                {"?run bash -c …"},
		"bash x.sh y":                                   {"run bash x.sh y"},
		"bash -c ''":                                    {"shell"},
		"eval a 'b; c'":                                 {"run a b", "run c"},
		"watch -n 1 'a | b'":                            {"run a", "run b"},
		"sudo -u x a":                                   {"!run sudo -u x a", "run a"},
		"ssh -p 1 h a b":                                {"?run ssh -p 1 h a b", "~run a b"},
		"trap 'a; b' EXIT":                              {"?run trap a; b EXIT", "~run a", "~run b", "~run EXIT", "~run a", "~run b EXIT"},
		"./env a":                                       {"run ./env a"},
		"/usr/bin/env a":                                {"run a"},
		"git commit -m \"$(cat <<'E'\nx $(y)\nE\n)\"":   {"run cat", "run git commit -m x $(y)"},
		"ls (":                               {"failure: it cannot be parsed: 1:1: `foo(` must be followed by `)`"},
		"ls\r":                               {"failure: it holds control characters"},
		"ls \xff":                            {"failure: it is not valid UTF-8"},
		"ls # \\\nrm":                        {"failure: a line with a comment ends in a backslash"},
		strings.Repeat("(", 501):             {"failure: it is nested too deeply"},
		strings.Repeat("a;", 1001):           {"failure: it has more than 1000 parts"},
		strings.Repeat("env ", 20) + "a":     {"failure: commands are wrapped too deeply"},
		"ls " + strings.Repeat("a", 128<<10): {"failure: it is longer than 128 KB"},
		strings.Repeat("eval ", 8) + "ls":    {"failure: shells are nested too deeply"},
		"cat <<E\nE\\\nE\nE":                 {"?shell", "run cat"},
		"cat <<\"E F\"\nx\nE F":              {"?shell", "run cat"},
	} {
		if diff := cmp.Diff(want, outline(command.Parse(line, place))); diff != "" {
			t.Errorf("%.200q: %s", line, diff)
		}
	}
}

// Layers are the calls around a part, so that what refuses one of them is found.
func TestLayers(t *testing.T) {
	l := command.Parse("A=1 env B=2 bash -c 'xargs C=3 id'", place)
	if len(l.Parts) != 1 {
		t.Fatalf("%q", outline(l))
	}
	var got []string
	for _, c := range l.Parts[0].Layers {
		s := ""
		for _, a := range c.Env {
			s += a.Name + " "
		}
		got = append(got, s+c.Words[0].Text)
	}
	if diff := cmp.Diff([]string{"A env", "A B bash", "A B xargs", "A B C=3"}, got); diff != "" {
		t.Error(diff)
	}
}

// The folder is followed through a line: relative names mean something only with it.
func TestFolders(t *testing.T) {
	for line, want := range map[string]string{
		"cd a && > x":                            "a/x",
		"cd a; > x":                              "", // cd may have failed
		"cd a || exit; > x":                      "a/x",
		"cd a || exit 1 2; > x":                  "", // which does not leave
		"cd a || return; > x":                    "", // nor does this, outside of a function
		"cd a || { ls; exit 1; }; > x":           "a/x",
		"cd a && cd b && > x":                    "a/b/x",
		"cd a && cd .. && > x":                   "x",
		"(cd a); > x":                            "x",
		"cd a & > x":                             "x",
		"cd a | cat; > x":                        "",
		"cd /src/project/b && > x":               "b/x",
		"cd /tmp && > x":                         "/tmp/x",
		"cd ~/y && > x":                          "/home/me/y/x",
		"cd && > x":                              "/home/me/x",
		"cd - && > x":                            "",
		"cd $X && > x":                           "",
		"pushd a && > x":                         "a/x",
		"pushd +1 && > x":                        "",
		"pushd -n a && > x":                      "",
		"command cd a && > x":                    "a/x",
		"eval 'cd a' && > x":                     "a/x",
		"bash -c 'cd a' && > x":                  "x",
		"env cd a && > x":                        "x",
		"if cd a; then > x; fi":                  "a/x",
		"if cd a; then ls; else > x; fi":         "",
		"if true; then cd a; fi; > x":            "",
		"for i in 1 2; do > x; done":             "x",
		"for i in 1 2; do > x; cd a; done":       "",
		"while :; do > x; command cd a; done":    "",
		"while :; do > x; command -p cd a; done": "",
		"while :; do > x; 'cd' a; done":          "",
		"case a in a) cd b;; esac; > x":          "",
		"f() { > x; }":                           "",
		"{ cd a; } && > x":                       "a/x",
		"! cd a; > x":                            "",
		"cd a/../.. && > x":                      "/src/x",
		"x=$(cd a) && > x":                       "x",
		"cd a > x":                               "x",
	} {
		l := command.Parse(line, place)
		name, found := "", false
		for i := range l.Parts {
			if p := &l.Parts[i]; p.Kind == command.Write {
				name, found = p.Path.Name, true
			}
		}
		if !found || name != want {
			t.Errorf("%q writes %q, want %q (%v)", line, name, want, l.Failure)
		}
	}
}

func TestParseWords(t *testing.T) {
	c, err := command.ParseWords(`A=1 B="x y" git  'log -p' a\ b`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Env {
		got = append(got, a.Name+":"+a.Value.Text)
	}
	for _, w := range c.Words {
		got = append(got, w.Text)
	}
	if diff := cmp.Diff([]string{"A:1", "B:x y", "git", "log -p", "a b"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "a; b", "a | b", "a > x", "a &", "! a", "$X", "a $X", "a *", "A=$X a", "A=1", "a (", "a ~", "a <(b)", "if a; then b; fi", "a\nb", "a \x00", "{ a; }", "a[1]=2 b", "A+=1 b"} {
		if c, err := command.ParseWords(bad); err == nil {
			t.Errorf("%q is %+v", bad, c)
		}
	}
}

// Whatever the text: no panic, bounded, and the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"ls -la | head", "cat <<E\n$(x)\nE", "find . -exec a {} +", "bash -c 'eval \"a\"'", "x=${a[$(b)]}", "sudo env A=1 timeout 5 xargs -I{} sh -c '{}'", "sed -n '1,/x/{p;s/a/b/w c\n}' y", "git -c a=b push +x"} {
		f.Add(s)
	}
	shells := []string{"", "sh"}
	f.Fuzz(func(t *testing.T, line string) {
		for _, shell := range shells {
			at := place
			at.Shell = shell
			l := command.Parse(line, at)
			if l.Failure != "" && len(l.Parts) > 0 || len(l.Parts) > 1000 {
				t.Fatalf("%q: %q and %d parts", line, l.Failure, len(l.Parts))
			}
			for i := range l.Parts {
				p := &l.Parts[i]
				if p.Kind == command.Run && len(p.Call().Words) == 0 {
					t.Fatalf("%q: a call without words", line)
				}
				if _, ok := p.Reads(); ok && (p.Opaque != "" || p.Danger != "") {
					t.Fatalf("%q: %q only reads, and is %s%s", line, p.Text, p.Opaque, p.Danger)
				}
				if prefix, ok := p.Prefix(); ok {
					for _, h := range p.Hazards() {
						if !h.In(prefix) {
							t.Fatalf("%q: the prefix %q leaves a hazard: %s", line, prefix, h.Why)
						}
					}
				}
			}
			if again := command.Parse(line, at); len(again.Parts) != len(l.Parts) || again.Failure != l.Failure {
				t.Fatalf("%q is read in two ways", line)
			}
		}
	})
}
