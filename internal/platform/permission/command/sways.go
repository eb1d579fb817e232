package command

import (
	"slices"
	"strings"
)

// Sways says why a call may run a program that the line names neither as a program nor
// as an argument: a variable for it alone names one, or it runs a script that the
// same line has written. It is empty if nothing is known of that. It matters where
// rules refuse programs.
func (p *Part) Sways() string {
	if p.wrote != "" {
		return p.wrote
	}
	for _, l := range p.Layers {
		for _, a := range l.Env {
			if a.sways() {
				return "it sets " + a.Name + ", which can make other programs run"
			}
		}
	}
	return ""
}

// runsValue reports whether programs run the value of a variable as a command.
func runsValue(name string) bool {
	switch name {
	case "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_PROXY_COMMAND",
		"EDITOR", "VISUAL", "FCEDIT", "SUDO_EDITOR", "SYSTEMD_EDITOR", "SYSTEMD_PAGER", "KUBE_EDITOR", "HGEDITOR", "SVN_EDITOR", "CVSEDITOR", "BUNDLER_EDITOR", "PSQL_EDITOR",
		"PAGER", "MANPAGER", "DELTA_PAGER", "BAT_PAGER", "PSQL_PAGER", "GH_PAGER", "GLAB_PAGER", "AWS_PAGER", "BROWSER", "GH_BROWSER", "GH_EDITOR",
		"LESSOPEN", "LESSCLOSE", "SSH_ASKPASS", "SUDO_ASKPASS", "HGMERGE", "SVN_SSH", "CVS_RSH", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "TAR_RSH", "RSH",
		"PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "FZF_DEFAULT_COMMAND", "FZF_CTRL_T_COMMAND",
		"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "FC", "CXXCPP", "RANLIB", "MAKE", "SHELL", "MAKESHELL", "CONFIG_SHELL", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC",
		"CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_PREFIX", "DISTCC_SSH", "PKG_CONFIG", "PYTHON", "NODE", "PERL", "npm_config_script_shell", "npm_config_editor", "npm_config_git":
		return true
	}
	return strings.HasPrefix(name, "CARGO_TARGET_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER"))
}

// sways reports whether what a variable makes programs run isn't known: its value
// isn't, or is a file or options that can run anything. Values that are commands are
// judged as such, see walker.values.
func (a Assign) sways() bool {
	text := a.Value.Text
	if runsValue(a.Name) {
		return !a.Value.Exact
	}
	holds := func(parts ...string) bool {
		return !a.Value.Exact || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
	given := func(options ...string) bool {
		return !a.Value.Exact || slices.ContainsFunc(strings.Fields(text), func(field string) bool {
			return slices.ContainsFunc(options, func(option string) bool { return strings.HasPrefix(field, option) })
		})
	}
	switch a.Name {
	case "BASH_ENV", "ENV", "ZDOTDIR", "SHELLOPTS", "BASHOPTS", "INPUTRC", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PERL5DB", "RUBYLIB", "PERL5LIB", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES",
		"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "MAKEFILES", "VIMINIT", "EXINIT", "MYVIMRC", "EMACSLOADPATH", "TMUX_CONF", "SCREENRC", "SYSSCREENRC", "CURL_HOME", "WGETRC", "OPENSSL_CONF",
		"PYTHONBREAKPOINT", "BASH_LOADABLES_PATH", "GCONV_PATH", "HGRCPATH", "LESSKEYIN", "LESSKEY_CONTENT", "LESSKEYIN_SYSTEM", "RIPGREP_CONFIG_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG":
		return !a.Value.Exact || text != "" && text != "/dev/null"
	case "LESS":
		return holds("+", "!")
	case "TAR_OPTIONS", "ZIPOPT":
		return holds("-I", "--use", "command", "action", "-TT", "--to-", "rsh", "script", "-F")
	case "NODE_OPTIONS", "BUN_OPTIONS":
		return given("-r", "--require", "--import", "--loader", "--experimental-loader", "-e", "--eval", "-p", "--print", "--env-file", "--preload")
	case "PERL5OPT":
		return given("-M", "-m", "-I", "-d")
	case "RUBYOPT":
		return given("-r", "-I", "-e")
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS":
		return holds("-javaagent", "-agent", "OnOutOfMemoryError", "OnError", "@")
	case "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS":
		return holds("eval", "SHELL", "$", "makefile") || given("f", "-f", "--file", "-C", "-I", "-E")
	case "GOFLAGS":
		return holds("exec", "-vettool", "-overlay", "-modfile", "-C")
	case "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO_ENCODED_RUSTFLAGS":
		return holds("linker", "-Zcodegen", "runner")
	case "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS":
		return holds("-wrapper", "-B", "-fplugin", "-specs", "@", "-fuse-ld", "$(", "`")
	}
	return strings.HasPrefix(a.Name, "BASH_FUNC_") || strings.HasPrefix(a.Name, "GIT_CONFIG_KEY_") || strings.HasPrefix(a.Name, "GIT_CONFIG_VALUE_")
}

// values walks the values of variables that are commands, so that what is refused or
// dangerous in them is seen.
func (w *walker) values(env []Assign) {
	if w.hiding {
		return
	}
	for _, a := range env {
		if !runsValue(a.Name) || !a.Value.Exact || a.Value.Text == "" {
			continue
		}
		outer, around := w.outer, w.env
		w.hiding, w.env = true, nil
		w.guess(strings.TrimLeft(a.Value.Text, "|-"))
		w.hiding, w.outer, w.env = false, outer, around
	}
}

// madeHere says that a script was written by the same line, or may have been: where
// neither what was written nor what runs is known, they may be the same.
func (w *walker) madeHere(script Word, d dir) string {
	var may []string
	if at := w.at.Resolve(d, script.Text); script.Exact {
		may = names(at)
	}
	for i := range w.line.Parts {
		p := &w.line.Parts[i]
		if p.Kind == Run && !copies(p) {
			continue
		}
		for _, f := range p.Writes() {
			if isDevice(f.Text) {
				continue
			}
			written := names(f)
			if len(may) == 0 && len(written) == 0 || slices.ContainsFunc(may, func(n string) bool { return slices.Contains(written, n) }) {
				return "it runs a script that the same command writes"
			}
		}
	}
	return ""
}

// runsMade is madeHere for a program that is called by its path, and for make.
func (w *walker) runsMade(name string, words []Word, d dir) string {
	if strings.Contains(words[0].Text, "/") {
		if why := w.madeHere(words[0], d); why != "" {
			return why
		}
	}
	if name != "make" && name != "gmake" {
		return ""
	}
	files := (call{name, words[1:], &Part{}}).values("-f", "--file", "--makefile")
	for _, f := range []string{"Makefile", "makefile", "GNUmakefile"} {
		files = append(files, Word{Text: f, Exact: true})
	}
	for _, f := range files {
		if why := w.madeHere(f, d); why != "" {
			return why
		}
	}
	return ""
}

// names are the names that a file may have; none if that isn't known.
func names(p Path) []string {
	var all []string
	for _, q := range append(p.May[:len(p.May):len(p.May)], p) {
		for _, n := range []string{q.Name, q.Real} {
			if n != "" {
				all = append(all, n)
			}
		}
	}
	return all
}

// copies reports whether a program puts contents into what it writes.
func copies(p *Part) bool {
	words := p.Call().Words
	if len(words) == 0 {
		return false
	}
	switch base(words[0].Text) {
	case "cp", "mv", "ln", "install", "tee", "sponge", "dd", "sed", "perl", "curl", "wget", "rsync", "sort", "patch":
		return true
	}
	return false
}

// evaluatesName says that a builtin of the shell evaluates what it is given as the name of
// a variable, in which a subscript runs what it holds.
func evaluatesName(name string, args []Word) string {
	const why = "the shell evaluates the name of a variable, and what is in it"
	var names []Word
	valueOf := func(options ...string) {
		for i, a := range args {
			for _, o := range options {
				if a.Exact && a.Text == o && i+1 < len(args) {
					names = append(names, args[i+1])
				} else if rest, ok := strings.CutPrefix(a.Text, o); ok && rest != "" && !strings.HasPrefix(a.Text, "--") {
					names = append(names, Word{Text: rest, Exact: a.Exact})
				}
			}
		}
	}
	switch name {
	case "test", "[":
		valueOf("-v", "-R")
	case "printf":
		if len(args) > 0 && strings.HasPrefix(args[0].Text, "-v") {
			valueOf("-v")
		}
	case "wait":
		valueOf("-p")
	case "unset", "declare", "typeset", "local", "export", "readonly", "let", "mapfile", "readarray":
		names = args
	case "getopts":
		names = args[min(1, len(args)):min(2, len(args))]
	case "read":
		for i, a := range args {
			if i > 0 && args[i-1].Exact && (args[i-1].Text == "-p" || args[i-1].Text == "-d") {
				continue // a prompt, a delimiter
			}
			names = append(names, a)
		}
	case "compgen", "complete", "bind", "enable", "fc":
		letters := map[string]string{"compgen": "CFW", "complete": "CFW", "bind": "xf", "enable": "f", "fc": "es"}[name]
		for _, a := range args {
			if a.mayBeOption() && (!a.Exact || strings.ContainsAny(a.Text, letters)) {
				return "it has the shell run or load something later"
			}
		}
	}
	for _, n := range names {
		if strings.Contains(n.Text, "[") && strings.ContainsAny(n.Text, "$`") || !n.Exact && !n.mayBeOption() || !n.Exact && n.Text == "" {
			return why
		}
	}
	return ""
}
