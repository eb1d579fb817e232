package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const base = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"

func TestHarmless(t *testing.T) {
	for _, tt := range []struct {
		name, fresh string
		want        bool
	}{
		{"the same", base, true},
		{"what a branch tracks", base + "[branch \"a b\"]\n\tremote = origin\n\tmerge = refs/heads/a\n", true},
		{"a name", base + "[user]\n\tname = \"A \\\"B\\\" C\" ; comment\n", true},
		{"another remote", base + "[remote \"up\"]\n\turl = git@example.com:a/b.git\n\tfetch = x\n", true},
		{"spelled otherwise", strings.ReplaceAll(base, "core", "CORE"), true},
		{"with carriage returns", strings.ReplaceAll(base, "\n", "\r\n"), true},
		{"less data", "[core]\n\trepositoryformatversion = 0\n", true},

		{"a monitor", base + "[core]\n\tfsmonitor = ./evil\n", false},
		{"a monitor in the header's line", base + "[core] fsmonitor = ./evil\n", false},
		{"hooks elsewhere", base + "[core]\n\thooksPath = evil\n", false},
		{"a filter", base + "[filter \"x\"]\n\tclean = evil\n", false},
		{"an alias", base + "[alias]\n\tst = !evil\n", false},
		{"an include", base + "[include]\n\tpath = evil\n", false},
		{"a conditional include", base + "[includeIf \"gitdir:/\"]\n\tpath = evil\n", false},
		{"an editor", base + "[core]\n\teditor = evil\n", false},
		{"ssh", base + "[core]\n\tsshCommand = evil\n", false},
		{"a command as remote", base + "[remote \"x\"]\n\turl = ext::sh -c evil\n", false},
		{"a command as a branch's remote", base + "[branch \"x\"]\n\tremote = \"ext::sh -c evil\"\n", false},
		{"an option as host", base + "[remote \"x\"]\n\turl = ssh://-oProxyCommand=evil/x\n", false},
		{"a helper", base + "[remote \"x\"]\n\tvcs = evil\n", false},
		{"upload-pack", base + "[remote \"origin\"]\n\tuploadpack = evil\n", false},
		{"merge options", base + "[branch \"x\"]\n\tmergeOptions = -s evil\n", false},
		{"a key continued", base + "[core]\n\tfsmon\\\nitor = evil\n", false},
		{"a value continued into a section", base + "[user]\n\tname = a\\\n[core]\n\tfsmonitor = evil\n", false},
		{"behind a comment", base + "[user]\n\tname = a # \\\n\temail = b\n[core]\n\tfsmonitor = evil\n", false},
		{"the old form of a section", base + "[filter.x]\n\tclean = evil\n", false},
		{"a zero byte", base + "[user]\n\tname = a\x00\n", false},
		{"without an end", base + "[user", false},
		{"a lone carriage return", base + "[user]\n\tname = a\r[core]\r\tfsmonitor = evil\n", false},
		{"less of what counts", "", false},
		{"too large", base + strings.Repeat("#", MaxSize), false},
	} {
		if got := Harmless([]byte(base), []byte(tt.fresh)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// What is read is what git reads.
func FuzzParse(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("needs git")
	}
	for _, s := range []string{base, "[a]b=c", "[a]\nb\n[c \"d\\\"e\"] f = \"g;\" h # i\n", "[a]\nb = c\\\n d\n", "[a]\nb = \"c \" d\n", "[a]\r\nb = c\r\n", "[a]\nb = c\td \n", "[a]\nb=\\t\\n\\b\n", "[A \"B\"]\nC=D", "[a]b =\\\n\\\n d", "[a]b = \"\" d"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		mine, ok := parse(text)
		if !ok {
			return // not harmless
		}
		name := filepath.Join(dir, "config")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(git, "config", "--file", name, "--null", "--list").Output()
		if err != nil {
			return // git refuses the whole file
		}
		var got []string
		for _, e := range mine {
			s := e.section
			if e.sub != "" {
				s += "." + e.sub
			}
			s += "." + e.key
			if e.set {
				s += "\n" + e.value
			}
			got = append(got, s)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(out) == 0 {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nread %q\ngit  %q", text, got, want)
		}
	})
}
