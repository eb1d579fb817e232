package git_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// A command that still runs rewrites the configuration while git is asked, so nothing
// that is checked before git starts is true when git runs.
func TestConfigurationChangesWhileGitRuns(t *testing.T) {
	pacetest.Costly(t)
	r := newRepo(t)
	canary := filepath.Join(t.TempDir(), "canary")
	r.put("a", "a")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	config := filepath.Join(r.dir, ".git", "config")
	harmless, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	hostile := string(harmless) + "[filter \"x\"]\n\tclean = echo ran >> " + canary + "; cat\n\trequired = true\n"
	r.put("a", "b") // of the same size, so that git compares contents
	ctx, stop := context.WithCancel(context.Background())
	var writer sync.WaitGroup
	writer.Go(func() {
		for ctx.Err() == nil {
			_ = replace(config, hostile)
			_ = replace(filepath.Join(r.dir, ".gitattributes"), "* filter=x\n")
			_ = replace(config, string(harmless))
			_ = os.Remove(filepath.Join(r.dir, ".gitattributes"))
		}
	})
	known := 0
	for range 100 {
		if f := git.Collect(context.Background(), r.dir); f.Known {
			known++
		}
		git.Look(context.Background(), r.dir)
	}
	stop()
	writer.Wait()
	if b, err := os.ReadFile(canary); err == nil {
		t.Errorf("the repository ran its filter: %q", b)
	}
	t.Logf("%d of 100 looks were complete", known)
}

func replace(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// trap is a program that leaves a canary when it is run.
type trap struct {
	repo
	canary, script string
	command        string // for git to run by a shell
}

func newTrap(t *testing.T) trap {
	t.Helper()
	r := newRepo(t)
	r.put("a", "a")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	dir := t.TempDir()
	p := trap{repo: r, canary: filepath.Join(dir, "canary"), script: filepath.Join(dir, "trap")}
	p.command = "echo \"$@\" >> " + p.canary + "; cat"
	if err := os.WriteFile(p.script, []byte("#!/bin/sh\n"+p.command+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.put("a", "b") // of the same size, so that git compares contents
	return p
}

// Every way in which a repository makes git run a program, or reach out.
func TestHostileRepository(t *testing.T) {
	filter := func(p trap, name string) {
		p.put(".gitattributes", "* filter=x diff=x\n")
		p.git("config", "filter.x."+name, p.command)
	}
	for name, set := range map[string]func(p trap){
		"clean":   func(p trap) { filter(p, "clean") },
		"smudge":  func(p trap) { filter(p, "smudge") },
		"process": func(p trap) { filter(p, "process") },
		"attributes of the repository": func(p trap) {
			p.git("config", "filter.x.clean", p.command)
			p.put(".git/info/attributes", "* filter=x\n")
		},
		"attributes elsewhere": func(p trap) {
			p.git("config", "filter.x.clean", p.command)
			p.git("config", "core.attributesFile", filepath.Join(p.dir, "others"))
			p.put("others", "* filter=x\n")
		},
		"monitor": func(p trap) { p.git("config", "core.fsmonitor", p.script) },
		"hooks": func(p trap) {
			p.git("config", "core.hooksPath", filepath.Join(p.dir, "hooks"))
			for _, hook := range []string{"post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-commit"} {
				p.put("hooks/"+hook, "#!/bin/sh\n"+p.command+"\n")
				if err := os.Chmod(filepath.Join(p.dir, "hooks", hook), 0o755); err != nil {
					p.Fatal(err)
				}
			}
		},
		"diff": func(p trap) {
			p.put(".gitattributes", "* diff=x\n")
			for _, key := range []string{"diff.external", "diff.x.command", "diff.x.textconv"} {
				p.git("config", key, p.script)
			}
		},
		"programs": func(p trap) {
			for _, key := range []string{"gpg.program", "gpg.ssh.program", "core.sshCommand", "core.pager", "pager.log", "pager.status", "core.editor", "core.askPass", "credential.helper", "core.gitProxy", "interactive.diffFilter"} {
				p.git("config", key, p.script)
			}
			p.git("config", "log.showSignature", "true")
		},
		"aliases": func(p trap) {
			for _, name := range []string{"status", "log", "rev-parse", "config"} {
				p.git("config", "alias."+name, "!"+p.command)
			}
		},
		"include": func(p trap) {
			p.put("included", "[filter \"x\"]\n\tclean = "+strings.ReplaceAll(p.command, `"`, `\"`)+"\n[core]\n\tfsmonitor = "+p.script+"\n")
			p.put(".gitattributes", "* filter=x\n")
			p.git("config", "include.path", "../included")
		},
		"submodule": func(p trap) {
			sub := newRepo(p.T)
			sub.put("s", "s")
			sub.git("add", ".")
			sub.git("commit", "-qm", "sub")
			p.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
			p.put("sub/s", "t")
			p.put("sub/.gitattributes", "* filter=x\n")
			p.git("-C", "sub", "config", "filter.x.clean", p.command)
			p.git("-C", "sub", "config", "core.fsmonitor", p.script)
			p.git("config", "submodule.recurse", "true")
			p.git("config", "status.submoduleSummary", "true")
			p.git("config", "diff.ignoreSubmodules", "none")
		},
		"missing objects": func(p trap) {
			p.git("config", "remote.origin.url", "ext::"+p.script)
			p.git("config", "remote.origin.promisor", "true")
			p.git("config", "remote.origin.uploadpack", p.command)
			p.git("config", "extensions.partialClone", "origin")
			p.git("config", "protocol.allow", "always")
			objects := filepath.Join(p.dir, ".git", "objects")
			if err := os.RemoveAll(objects); err != nil {
				p.Fatal(err)
			}
			if err := os.MkdirAll(objects, 0o755); err != nil {
				p.Fatal(err)
			}
		},
		"traces": func(p trap) {
			for _, target := range []string{"trace2.normalTarget", "trace2.perfTarget", "trace2.eventTarget"} {
				p.git("config", target, p.canary)
			}
		},
		"another working tree": func(p trap) {
			other := newTrap(p.T)
			filter(other, "clean")
			p.git("config", "filter.x.clean", p.command)
			p.git("config", "core.worktree", other.dir)
		},
		"another repository": func(p trap) {
			filter(p, "clean")
			if err := os.Rename(filepath.Join(p.dir, ".git"), filepath.Join(p.dir, "hostile")); err != nil {
				p.Fatal(err)
			}
			p.put(".git", "gitdir: hostile\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTrap(t)
			set(p)
			_ = os.Remove(p.canary) // what setting up has run
			git.Collect(context.Background(), p.dir)
			git.Look(context.Background(), p.dir)
			if b, err := os.ReadFile(p.canary); err == nil {
				t.Errorf("it ran, or wrote: %q", b)
			}
		})
	}
}

// The switches that git gets are not what holds. Without any of them git starts nothing,
// also where it could write the canary.
func TestIsolationNeedsNoSwitches(t *testing.T) {
	p := newTrap(t)
	loader := "/lib64/ld-linux-x86-64.so.2" // starts any program that can be read
	if _, err := os.Stat(loader); err != nil {
		loader = "/bin/sh"
	}
	ask := func(args ...string) (string, string) {
		cmd := exec.Command("git", append([]string{"-C", p.dir}, args...)...)
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		if err := sandbox.Alone(cmd, os.TempDir()); errors.Is(err, sandbox.ErrCannotIsolate) {
			t.Skip(err)
		}
		return out.String(), problems.String()
	}
	p.put(".gitattributes", "a filter=x diff=x\n")
	for _, clean := range []string{"sed s/b/a/", "sed", loader + " /bin/sed s/b/a/"} { // with it, the file would be unchanged
		p.git("config", "filter.x.clean", clean)
		if out, problems := ask("--no-optional-locks", "status", "--porcelain", "a"); out != " M a\n" || !strings.Contains(problems, "cannot fork") {
			t.Errorf("clean = %s: %q, %q", clean, out, problems)
		}
	}
	p.git("config", "--unset", "filter.x.clean")
	for _, program := range []string{p.script, loader, "git"} {
		p.git("config", "diff.x.textconv", program)
		p.git("config", "diff.external", program)
		for _, args := range [][]string{{"diff", "--ext-diff"}, {"diff", "--no-ext-diff"}, {"-p", "log", "--show-signature"}} {
			if _, problems := ask(args...); strings.HasPrefix(args[0], "diff") && !strings.Contains(problems, "cannot fork") {
				t.Errorf("%s by %s: %s", args, program, problems)
			}
		}
	}
	p.git("config", "alias.x", "!"+p.command)
	ask("x")
	if b, err := os.ReadFile(p.canary); err == nil {
		t.Errorf("it ran: %q", b)
	}
}
