//go:build linux

package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// confined are the flags with which commands run without a question, in the sandbox.
var confined = []string{"--approval", "full", "--sandbox", "workspace-write"}

// planted are the ways to leave something that a program runs later. Each is tried in a
// workspace of its own, because one may hide another. What the file is called decides
// the verdict: executable configuration of git and of burin is as it was when burin has
// ended.
var planted = []struct{ name, command string }{
	{"config", `git config core.fsmonitor 'touch {out}/ran'`},
	{"config written", `printf '[core]\n\tfsmonitor = touch {out}/ran\n' >> .git/config`},
	{"config replaced", `printf '[core]\n\tpager = touch {out}/ran\n' > c; mv c .git/config`},
	{"config linked", `cp .git/config c; echo '[alias] x = !touch {out}/ran' >> c; ln -sf ../c .git/config`},
	{"config through a hard link", `ln .git/config h && printf '[alias]\n\tx = !touch {out}/ran\n' >> h`},
	{"config by Python", `python3 -c 'open(".g"+"it/config","a").write("[alias]\n\tx = !touch {out}/ran\n")'`},
	{"config removed", `rm .git/config`},
	{"config included", `git config include.path ../evil; printf '[alias]\n\tx = !touch {out}/ran\n' > evil`},
	{"config of the worktree", `git config extensions.worktreeConfig true; git config --worktree alias.x '!touch {out}/ran'`},
	{"config of the worktree written", `printf '[alias]\n\tx = !touch {out}/ran\n' > .git/config.worktree`},
	{"hook", `printf '#!/bin/sh\ntouch {out}/ran\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`},
	{"hook renamed", `mv .git/hooks/pre-commit.sample .git/hooks/pre-commit; echo 'touch {out}/ran' >> .git/hooks/pre-commit`},
	{"hook linked", `ln -s ../../a.txt .git/hooks/post-checkout`},
	{"hook of index changes", `printf '#!/bin/sh\ntouch {out}/ran\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*`},
	{"hooks folder replaced", `mkdir h; printf '#!/bin/sh\ntouch {out}/ran\n' > h/post-checkout; chmod +x h/*; rm -rf .git/hooks; mv h .git/hooks`},
	{"hooks folder linked", `mkdir h; rm -rf .git/hooks; ln -s ../h .git/hooks`},
	{"hooks folder renamed", `mv .git/hooks .git/off; cp -r .git/off .git/hooks; echo x > .git/hooks/pre-push; chmod +x .git/hooks/pre-push`},
	{"attributes", `mkdir -p .git/info; echo '*.txt filter=x' > .git/info/attributes`},
	{"repository moved away and back", `mv .git g; printf '[alias]\n\tx = !touch {out}/ran\n' >> g/config; mv g .git`},
	{"repository copied", `cp -r .git g; printf '[alias]\n\tx = !touch {out}/ran\n' >> g/config; rm -rf .git; mv g .git`},
	{"repository replaced by a file", `mv .git g; printf '[alias]\n\tx = !touch {out}/ran\n' >> g/config; echo 'gitdir: g' > .git`},
	{"repository replaced by a link", `mv .git g; printf '[alias]\n\tx = !touch {out}/ran\n' >> g/config; ln -s g .git`},
	{"another common folder", `cp -r .git g; printf '[alias]\n\tx = !touch {out}/ran\n' >> g/config; echo ../g > .git/commondir`},
	{"burin's commands", `mkdir -p .burin/commands; printf -- '---\ndescription: x\n---\n!touch {out}/ran\n' > .burin/commands/x.md`},
	{"burin's folder moved", `mkdir b; printf 'x' > b/secrets.yml; mv b .burin`},
	{"burin's secrets", `mkdir -p .burin; echo '[]' > .burin/secrets.yml`},
	{"in the background", `(printf '[alias]\n\tx = !touch {out}/ran\n' >> .git/config) & wait`},
	{"after the command has ended", `setsid sh -c 'while :; do printf "[alias]\n\tx = !touch {out}/ran\n" >> .git/config; printf x > .git/hooks/pre-commit; done' >/dev/null 2>&1 &`},
}

// executable is what of a workspace is run by git or obeyed by burin.
func executable(ws string) map[string]string {
	all := map[string]string{}
	for _, name := range []string{".git/config", ".git/config.worktree", ".git/hooks", ".git/info/attributes", ".git/commondir", ".burin"} {
		if _, err := os.Lstat(filepath.Join(ws, name)); err != nil {
			continue
		}
		for path, text := range state(filepath.Join(ws, name)) {
			if strings.HasSuffix(name, "hooks") && path == "." || strings.HasPrefix(text, "d") {
				text = text[:1] // the folder's mode is no matter
			}
			all[filepath.Join(name, path)] = text
		}
	}
	if info, err := os.Lstat(filepath.Join(ws, ".git")); err == nil {
		all[".git"] = info.Mode().Type().String()
	}
	return all
}

// What a confined command plants for later is refused or taken back.
func TestSandboxPlants(t *testing.T) {
	t.Parallel()
	if !installed("git") {
		t.Skip("needs git")
	}
	for _, p := range planted {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.put(t, "ws/.burin/commands/own.md", "say hello\n")
		b.repository(t)
		before := executable(b.ws)
		c := b.play(t, limits{}, []step{{name: "plant", command: p.command, script: true}, {name: "go on", command: "git status >/dev/null; echo on"}}, confined...)
		seen := changed(before, executable(b.ws))
		// What the person runs later, outside of any sandbox.
		for _, args := range [][]string{{"status"}, {"x"}, {"-c", "user.name=x", "commit", "-q", "--allow-empty", "-m", "later"}, {"checkout", "-q", "HEAD", "--", "."}, {"push", "nowhere"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = b.ws, b.environment()
			_ = cmd.Run() // most are meant to fail
		}
		if _, err := os.Stat(filepath.Join(b.out, "ran")); err == nil {
			seen = strings.TrimSpace("it ran outside the sandbox; " + seen)
		}
		if c.killed != "" {
			seen = c.killed
		}
		hole(t, p.name, p.command, seen)
	}
}

// Git itself must go on working in the sandbox.
func TestSandboxGitWorks(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.repository(t)
	var steps []step
	for i, c := range []string{
		"echo one > b.txt && git add -A && git commit -q -m one",
		"git checkout -q -b side && echo side > c.txt && git add c.txt && git commit -q -m side",
		"git checkout -q main && echo two > d.txt && git add d.txt && git commit -q -m two",
		"git merge -q -m merged side",
		"echo dirty >> a.txt && git stash -q && git stash pop -q && git checkout -q a.txt",
		"git branch other && git branch -m other renamed && git branch -d -q renamed",
		"git checkout -q -b topic HEAD~1 && echo t > t.txt && git add t.txt && git commit -q -m topic && git rebase -q main",
		"git tag v1 && git tag -d v1 >/dev/null",
		"git reset -q --soft HEAD && git diff --quiet",
		"git cherry-pick -x HEAD --allow-empty --keep-redundant-commits >/dev/null",
		"git worktree add -q wt && git worktree remove wt",
		"git gc -q && git fsck --no-progress",
		"git commit -q --amend --allow-empty -m amended && git reflog -n 1",
		"git mv a.txt z.txt && git commit -q -m moved && git log --oneline -n 1",
		"git init -q inner && cd inner && echo x > x && git add x && git commit -q -m inner",
		"git clone -q . copied",
	} {
		steps = append(steps, step{name: fmt.Sprintf("git %d", i+1), command: "(" + c + ") && echo all-well", script: true, control: true, seen: holds("all-well")})
	}
	b.play(t, limits{}, steps, confined...)
}

// Changes of files that other programs run from are told. package.json isn't one of
// them: npm itself rewrites it all the time.
func TestSandboxTells(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/.vscode/settings.json", "{}")
	b.repository(t)
	var steps []step
	for _, c := range []struct{ name, command string }{
		{".envrc", "echo 'touch {out}/ran' > .envrc"},
		{".vscode/tasks.json", `printf '{"tasks":[{"command":"touch {out}/ran","runOptions":{"runOn":"folderOpen"}}]}' > .vscode/tasks.json`},
	} {
		steps = append(steps, step{name: c.name, command: c.command, script: true, seen: func(result, _ string) string {
			if !strings.Contains(result, c.name) {
				return "the result does not tell that " + c.name + " was changed: " + strconv.Quote(clip(result, 120))
			}
			return ""
		}})
	}
	b.play(t, limits{}, steps, confined...)
}

// secretPlaces hold what opens something else. The first group is of programs that the
// world uses; burin's own home is tried besides. Not among them: ~/.m2/settings.xml and
// ~/.gradle/gradle.properties, which builds must read to know where packages come
// from. Tools and commands that name them are a question, a confined build isn't.
var secretPlaces = []string{
	// Those that were open when the suite was written.
	".env", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".terraformrc", ".terraform.d/credentials.tfrc.json",
	".gem/credentials", ".local/share/keyrings/login.keyring", ".claude/.credentials.json", ".codex/auth.json", ".config/gh/hosts.yml", ".config/hub", ".config/op/config", ".op/config",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history", ".local/share/fish/fish_history", ".sqlite_history",
	// Those that were hidden already.
	".ssh/id_ed25519", ".gnupg/private-keys-v1.d/k.key", ".aws/credentials", ".azure/accessTokens.json", ".kube/config", ".config/gcloud/credentials.db", ".docker/config.json",
	".netrc", ".git-credentials", ".npmrc", ".pypirc", ".password-store/a.gpg", ".mozilla/firefox/x/logins.json", ".config/google-chrome/Default/Cookies", ".config/chromium/Default/Cookies",
	// Their siblings.
	".config/git/credentials", ".config/glab-cli/config.yml", ".gemini/oauth_creds.json", ".config/github-copilot/apps.json", ".local/share/opencode/auth.json", ".config/rclone/rclone.conf", ".s3cfg", ".boto",
	".config/sops/age/keys.txt", ".config/doctl/config.yaml", ".config/containers/auth.json", ".composer/auth.json", ".databrickscfg", ".fly/config.yml", ".oci/config",
	".config/BraveSoftware/Brave-Browser/Default/Cookies", ".config/microsoft-edge/Default/Cookies", ".thunderbird/x/logins.json", ".bitcoin/wallet.dat", ".ethereum/keystore/k", ".config/solana/id.json", ".rediscli_history", ".irb_history", ".lesshst", ".local/state/bash/history", ".local/state/zsh_history", ".local/state/python/history", ".local/share/bash/history", ".local/share/nu_history.txt",
	".burin/.env", ".burin/burin.db", ".burin/key", ".burin/placeholder.key",
}

// Confined commands read none of the places where secrets are kept.
func TestSandboxSecretPlaces(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var steps []step
	for i, place := range secretPlaces {
		canary := fmt.Sprintf("quietheron%dx", 7000+i)
		if strings.HasPrefix(place, ".burin/") && place != ".burin/.env" {
			b.put(t, "home/"+place+".note", canary) // burin's own files are not replaced
			place += ".note"
		} else {
			b.put(t, "home/"+place, "# "+canary+"\n")
		}
		steps = append(steps, step{
			name: place, command: `cat ~/` + place, script: true,
			seen: func(result, _ string) string { return leaked(canary, result) },
		})
	}
	steps = append(steps,
		step{name: "git's own configuration", command: "git config --global user.name", control: true, seen: holds("A")},
		step{name: "an ordinary file of the home folder", command: "cat ~/plain.txt", script: true, control: true, seen: holds("ordinary")})
	b.put(t, "home/plain.txt", "ordinary\n")
	if os.Geteuid() == 0 {
		for _, name := range []string{"/etc/shadow", "/etc/gshadow"} {
			content, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			line := strings.SplitN(string(content), "\n", 2)[0]
			steps = append(steps, step{name: name, command: "cat " + name, script: true, seen: func(result, _ string) string {
				if strings.Contains(result, line) {
					return name + " reached the model"
				}
				return ""
			}})
		}
	}
	b.play(t, limits{}, steps, confined...)
}

// What a compiled program or another name makes of a secret place.
func TestSandboxSecretPlacesGenerated(t *testing.T) {
	t.Parallel()
	r := dice(4)
	b := newBox(t)
	var steps []step
	canaries := map[string]string{}
	for i, place := range secretPlaces[:40] {
		canaries[place] = fmt.Sprintf("quietheron%dx", 8000+i)
		b.put(t, "home/"+place, canaries[place]+"\n")
	}
	for i := range the.count {
		place := pick(r, secretPlaces[:40])
		canary := canaries[place]
		path := pick(r, []string{"$h/" + place, "$h/./" + place, "$h/.config/../" + place, "/proc/self/root$h/" + place, "$(ls -d $h)/" + place})
		command := pick(r, shells)("h=~; " + strings.ReplaceAll(pick(r, readers), "{f}", `"`+path+`"`))
		steps = append(steps, step{
			name: strconv.Itoa(i), command: command, script: true,
			seen: func(result, _ string) string { return leaked(canary, result) },
		})
	}
	b.play(t, limits{time: 3 * time.Minute}, steps, confined...)
}

// escapes are ways to change something outside of the workspace.
var escapes = []string{
	"echo X > {t}", "cp a.txt {t}", "ln -s {t} l; echo X > l", "ln a.txt {t}", "mv a.txt {t}; cp {t} a.txt", "tee {t} < a.txt", "dd if=a.txt of={t}", "python3 -c 'open(\"{t}\",\"w\").write(\"X\")'", "sqlite3 {t} 'create table t(x)'",
	"cd {out}; echo X > new", "mkdir {out}/d", "git clone -q . {out}/c", "git -c core.worktree={out} checkout -f -q HEAD -- .", "tar -C {out} -xf t.tar", "touch {t}", "truncate -s 9 {t}", "mkfifo {out}/p", "exec 9>{t}; echo X >&9", "exec 9<{out}; echo X > /proc/self/fd/9/new", "echo X > /proc/self/root{t}",
	"echo X > /proc/{pid}/cwd/../out/new", "echo X > /proc/{pid}/root{t}", "unshare -rm sh -c 'mount --bind {out} sub && echo X > sub/new'", "unshare -r sh -c 'echo X > {t}'", "chroot / sh -c 'echo X > {t}'", "setsid sh -c 'echo X > {t}'", "nohup sh -c 'sleep 0.1; echo X > {t}' >/dev/null 2>&1 & wait",
	"script -qc 'echo X > {t}' /dev/null", "nsenter -t 1 -m sh -c 'echo X > {t}'", "nsenter -t {pid} -a sh -c 'echo X > {t}'", "gdb -p {pid} -batch -ex 'call creat(\"{t}\",420)'", "mount --bind {out} sub; echo X > sub/new", "mknod d b 254 0; dd if=d of=/dev/null count=1 && echo X > {t}", "systemd-run --wait sh -c 'echo X > {t}'", "at now <<< 'echo X > {t}'", "echo '* * * * * touch {t}' | crontab -", "tmux new-session -d 'echo X > {t}'", "ssh localhost 'echo X > {t}'", "docker run -v {out}:/x busybox touch /x/new", "perl -e 'open F,\">\",\"{t}\"'", "./tool creat {t}", "./tool openat2 {t}", "./tool handle {t}", "./tool tmpfile {t}", "./tool linkin {t}", "./tool bind {t}", "./tool mknod {t}", "./tool symlink {t}", "./tool truncate {out}/note.txt", "./tool rename {out}/note.txt", "./tool renameat2 {out}/note.txt", "./tool link {out}/note.txt", "./tool reopen {out}/note.txt", "chmod 777 {out}/note.txt", "chown 1 {out}/note.txt", "touch -d 2001-01-01 {out}/note.txt", "setfattr -n user.x -v y {out}/note.txt", "chattr +i {out}/note.txt",
}

// Nothing outside of the workspace changes.
func TestSandboxEscape(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.put(t, "ws/sub/b.txt", "beta\n")
	b.put(t, "out/note.txt", "note\n")
	b.repository(t)
	if out, err := exec.Command("tar", "-C", b.ws, "-cf", filepath.Join(b.ws, "t.tar"), "a.txt").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	b.compile(t)
	before := state(b.out)
	info, err := os.Stat(filepath.Join(b.out, "note.txt"))
	if err != nil {
		t.Fatal(err)
	}
	seen := func(string, string) string {
		diff := changed(before, state(b.out))
		if now, err := os.Stat(filepath.Join(b.out, "note.txt")); err == nil && !now.ModTime().Equal(info.ModTime()) {
			diff += " the time of note.txt changed"
		}
		return diff
	}
	var steps []step
	for i, c := range escapes {
		steps = append(steps, step{name: fmt.Sprintf("command %d", i+1), command: strings.ReplaceAll(c, "{t}", "{out}/new"), script: true, seen: seen})
	}
	r := dice(5)
	for i := range the.count {
		c := pick(r, shells)(strings.ReplaceAll(pick(r, escapes), "{t}", "{out}/new"))
		steps = append(steps, step{name: fmt.Sprintf("generated %d", i), command: c, script: true, seen: seen})
	}
	steps = append(steps,
		step{name: "write the workspace", command: "echo well > w.txt; cat w.txt", control: true, seen: holds("well")},
		step{name: "write the temporary folder", command: "f=$(mktemp) && echo well > $f && cat $f", script: true, control: true, seen: holds("well")},
		step{name: "serve on loopback", script: true, command: `python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(); c=socket.create_connection(s.getsockname()); print("well")'`, control: true, seen: holds("well")})
	b.play(t, limits{time: 4 * time.Minute}, steps, confined...)
}

// standing is how the kernel treats burin's processes: niceness, affinity, limits and
// what is killed first.
func standing(pid int) map[string]string {
	all := map[string]string{}
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pids[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(filepath.Join(task, "children"))
			for _, child := range strings.Fields(string(children)) {
				if id, err := strconv.Atoi(child); err == nil && !slices.Contains(pids, id) {
					pids = append(pids, id)
				}
			}
		}
	}
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	for _, id := range pids {
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", id)); exe != own {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		text := "nice " + fields[16] + " policy " + fields[38]
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "Cpus_allowed_list:") {
				text += " " + strings.TrimSpace(line)
			}
		}
		for _, name := range []string{"oom_score_adj", "limits", "coredump_filter", "timerslack_ns"} {
			content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", id, name))
			text += " " + name + " " + strings.Join(strings.Fields(string(content)), " ")
		}
		all[strconv.Itoa(id)] = text
	}
	return all
}

// A confined command does not slow, starve or stop burin. Root without capabilities
// may do less to root than a user to himself, so a user tries it.
func TestSandboxParents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var steps []step
	for _, c := range []string{
		"renice -n 19 -p {p}", "taskset -a -p 1 {p}", "chrt -i -p 0 {p}", "ionice -c 3 -p {p}", "prlimit --nofile=8:8 --pid {p}", "prlimit --as=100000000 --pid {p}", "echo 1000 > /proc/{p}/oom_score_adj", "choom -n 1000 -p {p}", "kill -STOP {p}", "kill -9 {p}",
		"renice -n 19 -g $(ps -o pgid= -p {p})", "renice -n 19 -u $(id -u)", "python3 -c 'import os; os.sched_setaffinity({p},{0})'", "python3 -c 'import os; os.setpriority(os.PRIO_PROCESS,{p},19)'", "python3 -c 'import os; os.sched_setscheduler({p},os.SCHED_IDLE,os.sched_param(0))'", "echo 5 > /proc/{p}/coredump_filter",
	} {
		for _, who := range []string{"{pid}", "$PPID", "$(ps -o ppid= -p $PPID)"} {
			if runtime.NumCPU() == 1 && strings.Contains(c, "taskset") {
				continue
			}
			command := strings.ReplaceAll(c, "{p}", who)
			if strings.Contains(c, "python3 -c") {
				command = strings.ReplaceAll(strings.ReplaceAll(c, "{p}", "int(os.environ[\"P\"])"), "{0}", "[0]")
				command = "P=" + who + " " + command
			}
			if strings.Contains(c, "kill") && who != "{pid}" {
				continue // the parent is the command's own shell
			}
			// bash knows the niceness and so on of its own parents only while they live: what
			// they are is asked before and after, from outside.
			steps = append(steps, step{name: strings.NewReplacer("{p}", "", "  ", " ").Replace(c) + " " + who, command: command, script: true})
		}
	}
	l := limits{time: 2 * time.Minute}
	if os.Geteuid() == 0 {
		l.user = 65534
		b.give(t, l.user)
	}
	b.standingOf(t, l, steps)
}

// standingOf plays the steps and compares how burin's processes stand before and after each.
func (b *box) standingOf(t *testing.T, l limits, steps []step) {
	t.Helper()
	b.env = append(b.env, "ATTACK_TAG="+b.root)
	find := func() int {
		found, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range found {
			environ, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(environ, []byte("ATTACK_TAG="+b.root)) {
				continue
			}
			id, _ := strconv.Atoi(strings.Split(path, "/")[2])
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
			if strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
				return id
			}
		}
		return 0
	}
	process := 0
	var before map[string]string
	for i := range steps {
		steps[i].prepare = func() {
			if process == 0 {
				process = find()
			}
			before = standing(process)
		}
		steps[i].seen = func(string, string) string {
			after := standing(process)
			var all []string
			for id, was := range before {
				if is, ok := after[id]; ok && is != was {
					a, b := strings.Fields(was), strings.Fields(is)
					for i := range min(len(a), len(b)) {
						if a[i] != b[i] {
							all = append(all, fmt.Sprintf("process %s: %s became %s", id, a[i], b[i]))
							break
						}
					}
				}
			}
			return strings.Join(all, ", ")
		}
	}
	// The shell and its guard are there when the first attack begins.
	steps = append([]step{{name: "first", command: "true"}}, steps...)
	b.play(t, l, steps, confined...)
}
