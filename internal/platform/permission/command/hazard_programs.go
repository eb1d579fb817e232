package command

import (
	"slices"
	"strings"
)

// runsAnything are the programs whose arguments are commands in ways that are not
// taken apart here. No grant of first words covers what they run.
func runsAnything(name string) bool {
	switch name {
	case "ssh", "su", "parallel", "chroot", "unshare", "nsenter", "tmux", "screen", "at", "batch", "expect", "script", "gdb", "lldb", "systemd-run",
		"start-stop-daemon", "osascript", "powershell", "pwsh", "cmd", "wsl", "trap", "alias", "eval", "crontab", "flock", "strace", "ltrace", "valgrind", "perf",
		"entr", "watchexec", "concurrently", "nodemon", "bwrap", "firejail", "open", "xdg-open", "start", "sudo", "doas", "pkexec", "runuser", "xargs", "watch",
		"env", "exec", "command", "builtin", "busybox", "toybox", "timeout", "nice", "nohup", "setsid", "stdbuf", "ionice", "enable", "hash", "bind", "complete",
		"mapfile", "readarray", "fc", "setarch", "taskset", "chrt", "prlimit", "cgexec", "rlwrap", "proxychains", "torsocks", "fakeroot", "unbuffer", "winpty", "rundll", "mshta",
		// util-linux, procps, coreutils, glibc, debianutils and shadow
		"setpriv", "choom", "linux32", "linux64", "i386", "i486", "i586", "i686", "x86_64", "uname26", "aarch64", "athlon", "enosys", "pipesz", "coresched", "uclampset", "scriptlive", "newgrp", "sg", "vipw", "vigr",
		"runcon", "coreutils", "uutils", "catchsegv", "sotruss", "memusage", "xtrace", "run-parts", "select-editor", "sensible-editor", "sensible-pager", "sensible-browser",
		// systemd and D-Bus
		"run0", "systemd-inhibit", "systemd-cat", "systemd-nspawn", "systemd-socket-activate", "systemd-notify", "machinectl", "dbus-run-session", "dbus-launch", "gio", "gtk-launch",
		// busybox's applets, runit, daemontools and s6
		"cttyhack", "openvt", "setuidgid", "envuidgid", "envdir", "softlimit", "setlock", "chpst", "runsv", "runsvdir", "svlogd", "tcpsvd", "udpsvd", "inetd", "s6-setuidgid", "s6-softlimit", "s6-envdir", "execlineb", "pgrphack", "fghack",
		// what changes the surroundings of a program, watches it or keeps it running
		"capsh", "gosu", "su-exec", "tini", "dumb-init", "catatonit", "sshpass", "autossh", "mosh", "ssh-agent", "gpg-agent", "schedtool", "numactl", "cpulimit", "timelimit", "daemonize", "daemon", "nsjail", "minijail0", "rootlesskit", "slirp4netns", "pasta", "aa-exec", "newrole", "sandbox-exec",
		"fakechroot", "faketime", "libfaketime", "xvfb-run", "xinit", "startx", "proot", "tsocks", "torify", "proxychains4", "eatmydata", "nocache", "dtach", "abduco", "byobu", "zellij", "reptyr", "ltrace64", "rr", "gdbserver", "heaptrack", "kcov", "uftrace", "bpftrace", "trace-cmd", "ftrace", "apitrace",
		"chronic", "ifne", "lckdo", "mispipe", "pee", "zrun", "vidir", "vipe", "sem", "ts-node-dev", "reflex", "inotifyexec", "fswatch", "when-changed", "socat", "toolbox", "distrobox", "flatpak", "flatpak-spawn", "snap", "lxc", "multipass", "guix", "bear", "scan-build", "intercept-build", "colormake", "distcc", "sccache", "ccache", "icecc",
		"gnuplot", "octave", "m4", "dc", "gforth", "logsave":
		return true
	}
	return false
}

// launchHazards finds the program that a launcher starts: a grant must name it.
func launchHazards(name string, words []Word) []Hazard {
	from := 0
	switch name {
	case "npx", "bunx", "pnpx", "uvx", "dotenv", "cross-env", "hyperfine", "tsx", "ts-node", "arch", "nix-shell":
		from = 1
	case "poetry", "pipenv", "uv", "rye", "hatch", "pdm", "bundle", "conda", "mamba", "mise", "asdf", "rbenv", "pyenv", "nvm", "direnv", "pipx", "doppler", "op", "aws-vault", "heroku", "flyctl", "fly", "devbox", "nx", "volta":
		i := slices.IndexFunc(words[1:], func(w Word) bool { return !w.mayBeOption() })
		if i < 0 || words[i+1].Text != "run" && words[i+1].Text != "exec" && words[i+1].Text != "x" && words[i+1].Text != "ssh" {
			return nil
		}
		from = i + 2
	default:
		return nil
	}
	for i := from; i < len(words); i++ {
		if !words[i].mayBeOption() && (name != "cross-env" && name != "dotenv" || !strings.Contains(words[i].Text, "=")) {
			return []Hazard{{At: i, Why: "starts another program"}}
		}
	}
	return []Hazard{{At: len(words), Why: "starts another program"}}
}

// targetHazards finds targets beside those of a grant: make lint deploy.
func targetHazards(name string, words []Word) []Hazard {
	values := ""
	switch name {
	case "make", "gmake":
		values = "-o -W"
	case "ninja":
		values = "-C -f -j -k -l -d -t -w"
	default:
		return nil
	}
	var out []Hazard
	for i, w := range words[1:] {
		value := i > 0 && isOperator(words[i], values)
		if value || w.mayBeOption() || w.Exact && strings.Trim(w.Text, "0123456789.") == "" {
			continue // -j 4
		}
		out = append(out, Hazard{At: i + 1, Beside: true, Why: "makes another target"})
	}
	return out
}

// interpreterOptions are the options of an interpreter that do not make it run
// code from anywhere but the script it is given.
func interpreterOptions(name string) (string, bool) {
	if isShell(name) {
		return "-e -u -x -v -o:", true
	}
	switch name {
	case "python", "pypy":
		return "-u -B -O -q -s -b -v", true
	case "node", "nodejs":
		return "--max-old-space-size --enable-source-maps --no-warnings --trace-warnings --trace-uncaught --no-deprecation --test", true
	case "perl":
		return "-w -W -T -t", true
	case "ruby":
		return "-w", true
	case "php":
		return "-n -q", true
	case "lua", "tclsh", "Rscript", "julia", "elixir", "groovy", "ghci", "runghc", "scala", "irb", "pry", "ipython", "guile", "racket", "sbcl", "R":
		return "", true
	}
	return "", false
}

// codeHazards finds what makes an interpreter run more than a script file.
func (p *Part) codeHazards(options string, words []Word) []Hazard {
	if len(words) == 1 {
		return []Hazard{{At: 1, Why: "runs code that it reads"}}
	}
	s := scan(options, words[1:], true)
	if s.bad != "" {
		return []Hazard{{At: indexOf(words, s.bad), Why: runsCode}}
	}
	if len(s.rest) == 0 || s.rest[0].Text == "-" || strings.HasPrefix(s.rest[0].Text, "/dev/") || strings.HasPrefix(s.rest[0].Text, "+") || !s.rest[0].Exact {
		return []Hazard{{At: len(words), Why: "runs code that it reads"}}
	}
	return nil
}

// findHazards finds what makes find change something. What it runs for each file
// is judged as a part of its own.
func findHazards(words []Word) []Hazard {
	var out []Hazard
	for i := 1; i < len(words); i++ {
		switch a := words[i].Text; {
		case isFindExec(a):
			_, i = findRun(words, i)
		case a == "-delete":
			out = append(out, Hazard{At: i, Why: "removes files"})
		case strings.HasPrefix(a, "-fprint") || a == "-fls":
			out = append(out, Hazard{At: i, Why: writesFiles})
		}
	}
	return out
}

// awkHazards looks for what makes an awk program run others or write files.
func awkHazards(words []Word) []Hazard {
	s := scan("-F: -v: --field-separator: --assign: -n --csv -P --posix -t --lint", words[1:], true)
	i := len(words) - len(s.rest)
	switch {
	case s.bad != "":
		return []Hazard{{At: 1, Why: runsCode}}
	case len(s.rest) == 0:
		return nil
	case !s.rest[0].Exact || strings.ContainsAny(s.rest[0].Text, "|>@") || strings.Contains(s.rest[0].Text, "system") || strings.Contains(s.rest[0].Text, "getline") || strings.Contains(s.rest[0].Text, "close"):
		return []Hazard{{At: i, Why: "may run programs or write files"}}
	}
	return nil
}

// sedHazards finds the script of a sed that is not surely harmless.
func sedHazards(words []Word) []Hazard {
	const why = "may run programs or write files"
	s := scan("-n --quiet --silent -E -r --regexp-extended -s --separate -u -z --null-data --posix --debug -e: --expression: -i --in-place --follow-symlinks -b -l:", words[1:], false)
	if s.bad != "" {
		return []Hazard{{At: indexOf(words, s.bad), Why: why}}
	}
	var scripts []Word
	for _, o := range s.options {
		if o.set && (o.name == "-e" || o.name == "--expression") {
			scripts = append(scripts, o.value)
		}
	}
	if len(scripts) == 0 && len(s.operands) > 0 {
		scripts = s.operands[:1]
	}
	for _, w := range scripts {
		if !w.Exact || !sedPrints(w.Text) {
			return []Hazard{{At: indexOf(words, w.Source), Why: why}}
		}
	}
	return nil
}

// indexOf is the index of the argument that is written so, or of the first one.
func indexOf(words []Word, source string) int {
	return max(1, slices.IndexFunc(words, func(w Word) bool { return w.Source == source || w.Text == source }))
}

// gitSubs are git's own commands. Any other name may be an alias, which may run
// anything.
const gitSubs = " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone commit config count-objects describe diff diff-files diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep help init log ls-files ls-remote ls-tree maintenance merge merge-base mergetool mv name-rev notes prune pull push range-diff rebase reflog remote repack reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status submodule switch tag update-index version whatchanged worktree write-tree "

// gitHazards finds what makes git run other programs or reach other places.
func gitHazards(words []Word) []Hazard {
	c := parseGit(words[1:])
	var out []Hazard
	if len(c.globals) > 0 {
		out = append(out, Hazard{At: 1, Why: "tells git to work elsewhere or with other settings"})
	}
	if c.sub == "" {
		return append(out, Hazard{At: len(words), Why: "the command of git is not known"})
	}
	at := c.at + 1
	if !strings.Contains(gitSubs, " "+c.sub+" ") {
		out = append(out, Hazard{At: at, Why: "may be an alias that runs anything"})
	}
	switch c.sub {
	case "config", "bisect", "submodule", "difftool", "mergetool", "maintenance":
		out = append(out, Hazard{At: at, Past: 1, Why: "may run other programs"})
	}
	if i := c.elsewhere(); i >= 0 {
		out = append(out, Hazard{At: at + 1 + i, Why: "exchanges commits with a place that is written out, none of the project's own"})
	}
	for i, a := range c.args {
		if why := gitArgument(c.sub, a); why != "" {
			out = append(out, Hazard{At: at + 1 + i, Why: why})
		}
	}
	return out
}

// gitArgument says what an argument makes git do beside its command.
func gitArgument(sub string, a Word) string {
	if scheme, _, ok := strings.Cut(a.Text, "::"); ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == "" {
		return runsOther
	}
	switch {
	case sub == "bisect" && a.Text == "run", sub == "submodule" && a.Text == "foreach":
		return runsOther
	case sub == "config":
		return gitSetting(a.Text)
	}
	for name := range strings.FieldsSeq(gitOptions(sub)) {
		if a.Exact && optional(a, name) {
			return runsOther
		}
	}
	return ""
}

// gitOptions are the options of a command of git that make it run other programs
// or write where nobody expects it.
func gitOptions(sub string) string {
	switch sub {
	case "clone":
		return "--upload-pack --config --template --separate-git-dir --bundle-uri -u -c"
	case "fetch", "pull", "ls-remote", "push":
		return "--upload-pack --receive-pack --exec"
	case "rebase":
		return "--exec -x"
	case "grep":
		return "--open-files-in-pager -O"
	case "archive":
		return "--exec --remote --output -o"
	case "init":
		return "--template --separate-git-dir"
	case "cat-file":
		return "--textconv --filters"
	case "format-patch":
		return "--output-directory --output -o"
	case "apply":
		return "--unsafe-paths --directory"
	case "log", "show", "diff", "diff-tree", "diff-index", "diff-files", "stash", "reflog", "whatchanged", "blame", "shortlog", "range-diff":
		return "--output --ext-diff --textconv"
	case "difftool":
		return "--extcmd --tool -x -t"
	case "submodule":
		return "--reference"
	}
	return ""
}

// gitSetting says what setting a key makes git run.
func gitSetting(key string) string {
	key = strings.ToLower(key)
	section, _, _ := strings.Cut(key, ".")
	switch section {
	case "alias", "pager", "filter", "include", "includeif", "credential", "gpg", "difftool", "mergetool", "sendemail", "browser", "man", "url", "protocol", "uploadpack", "http", "https", "trailer", "sequence", "guitool", "hook", "web", "instaweb", "transfer", "safe":
		if strings.Contains(key, ".") {
			return readsConfig
		}
	}
	for _, s := range []string{
		"core.pager", "core.editor", "core.fsmonitor", "core.sshcommand", "core.hookspath", "core.askpass", "core.gitproxy", "core.worktree", "core.attributesfile", "core.alternaterefscommand",
		"diff.external", "textconv", ".command", ".cmd", ".driver", ".program", ".path", "difffilter", "templatedir", ".vcs", ".update", ".helper", ".proxy", "-e", "--edit",
	} {
		if strings.HasSuffix(key, s) {
			return readsConfig
		}
	}
	return ""
}
