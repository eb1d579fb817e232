package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Agents, eight of them in CI, edit the same twenty files at the same time, each in a folder of its own. What they
// edit in different lines is merged. Where they edit the same line the first wins, and the session
// reads of the others what git merge-file prints. What the person has not committed, the index and
// the stashes stay as they are, to the byte.
func TestIsolatedAgentsMerge(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("agents use sed")
	}
	const files, lines = 20, 45
	agents := pacetest.Long(4, 8, 8)
	for _, mode := range []string{"worktree", "copy"} {
		t.Run(mode, func(t *testing.T) {
			read := ""
			m := serveCrew(t, func(r request) llmtest.Turn {
				n, _ := strconv.Atoi(strings.TrimPrefix(r.who, "a"))
				switch {
				case r.who == "" && r.turn == 0:
					return calling("", startAgents(agents, `,"isolated":true`))
				case r.who == "":
					read = r.last()
				case r.turn == 0:
					return calling("", fmt.Sprintf(`bash {"command":"sed -i.old 's/^line %d$/agent %d/' f*.txt; sed -i.old 's/^line %d$/last %d/' f07.txt; rm *.old"}`, 5*n, n, lines, n))
				}
				return answers("Done.")
			}, nil)
			first, work := crewHome(t, m.URL, "task: {isolation: {mode: "+mode+"}}\n")
			git := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("git", args...)
				cmd.Dir, cmd.Env = work, append(first.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
				out, err := cmd.Output()
				if err != nil && args[0] != "merge-file" { // which says how many conflicts there are
					t.Fatalf("git %v: %v", args, err)
				}
				return string(out)
			}
			var text strings.Builder
			for i := range lines {
				fmt.Fprintln(&text, "line", i+1)
			}
			base := text.String()
			put := func(name, text string) { writeFile(t, filepath.Join(work, name), []byte(text), 0o644) }
			get := func(name string) string {
				data, err := os.ReadFile(filepath.Join(work, name))
				if err != nil {
					t.Error(err)
				}
				return string(data)
			}
			for i := range files {
				put(fmt.Sprintf("f%02d.txt", i), base)
			}
			put("mine", "committed\n")
			for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "P"}, {"config", "user.email", "p@example.com"}, {"add", "."}, {"commit", "-qm", "first"}} {
				git(args...)
			}
			put("f00.txt", "stashed\n")
			git("stash", "-q")
			put("f01.txt", strings.Replace(base, "line 1\n", "staged\n", 1))
			put("mine", "staged\n")
			git("add", ".")
			put("mine", "not committed\n")
			put("new", "untracked\n")
			facts := func() map[string]string {
				return map[string]string{
					"index": get(".git/index"), "config": get(".git/config"), "HEAD": get(".git/HEAD"), "refs": git("for-each-ref"), "reflog": git("reflog"),
					"stash": git("stash", "show", "-p", "--include-untracked"), "worktrees": git("worktree", "list"), "staged": git("diff", "--cached"),
					"mine": get("mine"), "new": get("new"),
				}
			}
			before := facts()
			if out, err := in(first, first.Path, work, "-p", "go").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if after := facts(); !maps.Equal(after, before) {
				t.Errorf("the person's is now\n%q\nwas\n%q", after, before)
			}
			all, winner := base, 0
			for a := 1; a <= agents; a++ {
				all = strings.Replace(all, fmt.Sprintf("line %d\n", 5*a), fmt.Sprintf("agent %d\n", a), 1)
				if strings.Contains(get("f07.txt"), fmt.Sprintf("last %d\n", a)) {
					winner = a
				}
			}
			edited := func(a int) string {
				return strings.NewReplacer(fmt.Sprintf("line %d\n", 5*a), fmt.Sprintf("agent %d\n", a), fmt.Sprintf("line %d\n", lines), fmt.Sprintf("last %d\n", a)).Replace(base)
			}
			for i := range files {
				name, want := fmt.Sprintf("f%02d.txt", i), all
				switch i {
				case 1:
					want = strings.Replace(all, "line 1\n", "staged\n", 1)
				case 7:
					want = edited(winner)
				}
				if got := get(name); got != want {
					t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
				}
			}
			dir := t.TempDir()
			for a := 1; a <= agents; a++ {
				for name, text := range map[string]string{"ours": edited(winner), "base": base, "theirs": edited(a)} {
					writeFile(t, filepath.Join(dir, name), []byte(text), 0o644)
				}
				want := git("merge-file", "-p", "-L", "yours", "-L", "base", "-L", "agent", filepath.Join(dir, "ours"), filepath.Join(dir, "base"), filepath.Join(dir, "theirs"))
				if a != winner && !strings.Contains(read, strings.TrimRight(want, "\n")) {
					t.Errorf("of agent %d git merge-file prints\n%s\nthe session reads\n%s", a, want, read)
				}
			}
			if n := strings.Count(read, "Not brought back: f07.txt: both sides changed the same lines"); n != agents-1 {
				t.Errorf("%d conflicts, want %d", n, agents-1)
			}
		})
	}
}
