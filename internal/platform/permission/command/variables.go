package command

import "strings"

// Harmless reports whether an assignment in front of a command changes only
// what the command prints or how much it does, not what it runs or reads. Names
// that are not known are not harmless: NODE_OPTIONS, GIT_SSH_COMMAND, LD_PRELOAD,
// PAGER and many others run programs.
func (a Assign) Harmless() bool {
	switch a.Name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
		"CI", "DEBUG", "VERBOSE", "LOG_LEVEL", "PORT", "NODE_ENV", "APP_ENV", "RAILS_ENV", "RACK_ENV", "MIX_ENV",
		"CGO_ENABLED", "GOOS", "GOARCH", "GOARM", "GOAMD64", "GO111MODULE", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
		"RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8",
		"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH", "UPDATE_SNAPSHOTS", "UPDATE_GOLDEN",
		"HOMEBREW_NO_AUTO_UPDATE", "DO_NOT_TRACK", "NEXT_TELEMETRY_DISABLED":
		return true
	case "PAGER", "GIT_PAGER", "MANPAGER":
		return a.Value.Exact && (a.Value.Text == "cat" || a.Value.Text == "")
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
	case "PATH", "IFS", "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "HOME", "PWD", "OLDPWD",
		"CDPATH", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "FCEDIT", "TMPDIR", "TEMP", "TMP", "GLOBIGNORE", "EXECIGNORE",
		"POSIXLY_CORRECT", "HISTFILE", "OPTIND", "TAR_OPTIONS", "GREP_OPTIONS", "MAKEFLAGS", "MFLAGS", "MAKEFILES", "GNUMAKEFLAGS",
		"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "FC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS", "USER", "LOGNAME", "DISPLAY", "TERMINFO", "EXTGLOB":
		return false
	}
	for _, p := range []string{
		"LD_", "DYLD_", "BASH_", "GIT_", "GO", "NODE", "NPM_", "PYTHON", "PERL", "RUBY", "RUST", "CARGO", "JAVA", "JDK_", "MAVEN_", "GRADLE",
		"SSH_", "GPG", "DOCKER", "KUBE", "AWS_", "AZURE_", "GOOGLE_", "XDG_", "LESS", "RIPGREP_", "FZF_", "PKG_", "CMAKE_", "COMPOSER_", "BUN_", "DENO_", "PIP_", "UV_", "VIM", "PG", "MYSQL_",
	} {
		if strings.HasPrefix(upper, p) {
			return false
		}
	}
	return !strings.HasSuffix(upper, "_PROXY") && !strings.HasSuffix(upper, "_COMMAND") && !strings.HasSuffix(upper, "_OPTS") && !strings.HasSuffix(upper, "_OPTIONS")
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
