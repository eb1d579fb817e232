package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Harmless reports whether an assignment in front of a command changes only
// what the command prints or how much it does, not what it runs or reads. Names
// that are not known are not harmless: NODE_OPTIONS, GIT_SSH_COMMAND, LD_PRELOAD,
// PAGER and many others run programs.
//
// The value must be a plain one: make expands what is in its environment once
// more, and scripts paste it into commands, so that GOOS='$(shell cmd)' runs cmd.
func (a Assign) Harmless() bool {
	if v := strings.ReplaceAll(a.Value.Text, "*", ""); !a.Value.Exact || v != "" && !unquoted(v) {
		return false
	}
	switch a.Name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
		"CI", "DEBUG", "VERBOSE", "LOG_LEVEL", "PORT", "NODE_ENV", "APP_ENV", "RAILS_ENV", "RACK_ENV", "MIX_ENV",
		"CGO_ENABLED", "GOOS", "GOARCH", "GOARM", "GOAMD64", "GO111MODULE", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
		"RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8",
		"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH", "UPDATE_SNAPSHOTS", "UPDATE_GOLDEN",
		"HOMEBREW_NO_AUTO_UPDATE", "DO_NOT_TRACK", "NEXT_TELEMETRY_DISABLED":
		return true
	case "PAGER", "GIT_PAGER", "MANPAGER":
		return a.Value.Text == "cat" || a.Value.Text == ""
	}
	return strings.HasPrefix(a.Name, "LC_")
}

// Harmless reports whether no assignment in front of the call can change what it
// runs or reads.
func (c Call) Harmless() bool {
	for _, a := range c.Env {
		if !a.Harmless() {
			return false
		}
	}
	return true
}

// harmlessVariable reports whether a variable of the shell may be set. It reaches
// programs only if it has been exported before, so this knows the names that are,
// or that the shell itself obeys.
func (p Place) harmlessVariable(name string) bool {
	if !isName(name) || p.Exported != nil && p.Exported(name) {
		return false
	}
	upper := strings.ToUpper(name)
	switch upper {
	case "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "EPOCHSECONDS", "EPOCHREALTIME", "MAILCHECK", "UID", "EUID", "PPID":
		return false // numbers of the shell's own: it calculates what they are set to, and runs what it finds there
	case "PATH", "IFS", "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "HOME", "PWD", "OLDPWD",
		"CDPATH", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "FCEDIT", "TMPDIR", "TEMP", "TMP", "GLOBIGNORE", "EXECIGNORE",
		"POSIXLY_CORRECT", "OPTIND", "TAR_OPTIONS", "GREP_OPTIONS", "MAKEFLAGS", "MFLAGS", "MAKEFILES", "GNUMAKEFLAGS",
		"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "FC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS", "USER", "LOGNAME", "DISPLAY", "TERMINFO", "EXTGLOB":
		return false
	}
	for _, p := range []string{
		"LD_", "DYLD_", "BASH_", "COMP_", "HIST", "TEXTDOMAIN", "GIT_", "GO", "NODE", "NPM_", "PYTHON", "PERL", "RUBY", "RUST", "CARGO", "JAVA", "JDK_", "MAVEN_", "GRADLE",
		"SSH_", "GPG", "DOCKER", "KUBE", "AWS_", "AZURE_", "GOOGLE_", "XDG_", "LESS", "RIPGREP_", "FZF_", "PKG_", "CMAKE_", "COMPOSER_", "BUN_", "DENO_", "PIP_", "UV_", "VIM", "PG", "MYSQL_",
	} {
		if strings.HasPrefix(upper, p) {
			return false
		}
	}
	return !strings.HasSuffix(upper, "_PROXY") && !strings.HasSuffix(upper, "_COMMAND") && !strings.HasSuffix(upper, "_OPTS") && !strings.HasSuffix(upper, "_OPTIONS")
}

// free notes the variables that a script uses and does not set. Those of the
// environment do not count: setting them is never a small matter.
func (w *walker) free(f *syntax.File) {
	set := map[string]bool{"HOME": true, "PWD": true}
	var used []string
	names := func(n syntax.Node) {
		if n == nil {
			return
		}
		syntax.Walk(n, func(n syntax.Node) bool {
			if l, ok := n.(*syntax.Lit); ok && isName(l.Value) {
				used = append(used, l.Value)
			}
			return true
		})
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && !n.Append {
				set[n.Name.Value] = true
			}
		case *syntax.WordIter:
			set[n.Name.Value] = true
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "read" {
				for _, a := range n.Args[1:] {
					set[a.Lit()] = true
				}
			}
		case *syntax.ParamExp:
			if n.Param != nil {
				used = append(used, n.Param.Value)
			}
		case *syntax.ArithmExp:
			names(n.X)
		case *syntax.ArithmCmd:
			names(n.X)
		case *syntax.LetClause, *syntax.CStyleLoop:
			names(n)
		}
		return true
	})
	for _, name := range used {
		if isName(name) && !set[name] && (w.at.Exported == nil || !w.at.Exported(name)) {
			w.line.Free = append(w.line.Free, name)
		}
	}
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
