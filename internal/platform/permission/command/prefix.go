package command

import "strings"

// Prefix gives the first words of a call that say what it does: go test, npm run
// build, make lint. There are none for programs that run whatever they are given,
// or whose arguments are all that matters (rm, cp, curl).
func (p *Part) Prefix() ([]string, bool) {
	words := p.Plain()
	if len(words) == 0 || p.Opaque != "" || p.Danger != "" {
		return nil, false
	}
	name := words[0].Text
	n := depth(name, words)
	if n == 0 || n > len(words) {
		return nil, false
	}
	out := make([]string, n)
	for i, w := range words[:n] {
		if !w.Exact || w.Text == "" || i > 0 && w.mayBeOption() && !(i == 1 && w.Text == "-m") || !unquoted(w.Text) {
			return nil, false
		}
		out[i] = w.Text
	}
	for _, h := range p.Hazards() {
		if !h.In(out) {
			return nil, false
		}
	}
	return out, true
}

// unquoted reports whether a shell takes a text as it stands, in any place.
func unquoted(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("_./:@%+=,-", c) < 0 {
			return false
		}
	}
	return s != ""
}

// depth is the number of words that say what a call does; 0 if they never do.
func depth(name string, words []Word) int {
	at := func(i int) string {
		if i < len(words) && words[i].Exact {
			return words[i].Text
		}
		return ""
	}
	if runsAnything(name) {
		return 0
	}
	if _, ok := interpreterOptions(versionless(name)); ok {
		if at(1) == "-m" && versionless(name) == "python" && at(2) != "" && at(2) != "pip" && at(2) != "http.server" && at(2) != "timeit" && at(2) != "pdb" {
			return 3
		}
		return 0
	}
	switch name {
	case "rm", "rmdir", "mv", "cp", "ln", "dd", "tee", "install", "chmod", "chown", "chgrp", "kill", "pkill", "killall", "curl", "wget", "nc", "scp", "sftp", "rsync", "sed", "perl", "source", ".", "find", "truncate",
		"unlink", "vim", "vi", "nvim", "emacs", "nano", "ed", "ex", "awk", "gawk", "export", "set", "printf", "read", "unset", "shopt", "umask", "ulimit", "pushd", "popd", "cd", "sqlite3", "psql", "mysql", "http", "xh":
		return 0
	case "npm", "yarn", "pnpm", "bun", "deno":
		switch at(1) {
		case "run", "run-script", "task", "workspace":
			return 3
		case "exec", "dlx", "x", "create", "init", "publish", "config", "eval":
			return 0
		}
		return 2
	case "poetry", "pipenv", "uv", "rye", "hatch", "pdm", "bundle", "conda", "mise", "asdf":
		switch at(1) {
		case "run", "exec":
			if _, interpreter := interpreterOptions(versionless(at(2))); interpreter || isShell(at(2)) || runsAnything(at(2)) {
				return 0
			}
			return 3
		}
		return 2
	case "docker", "podman", "kubectl", "gh", "aws", "gcloud", "az":
		switch at(1) {
		case "run", "exec", "cp", "apply", "api", "login", "auth":
			return 0
		case "compose", "pr", "issue", "repo", "release", "workflow", "container", "image", "network", "volume", "system", "s3", "ec2", "ecs", "iam", "lambda", "run-list":
			return 3
		}
		return 2
	case "git":
		switch at(1) {
		case "stash", "remote", "submodule", "worktree", "bisect", "notes", "sparse-checkout":
			return min(3, len(words))
		case "config":
			return 0
		}
		return 2
	case "go":
		switch at(1) {
		case "mod", "tool", "work":
			return 3
		case "run", "generate":
			return 3
		}
		return 2
	case "npx", "bunx", "pnpx", "uvx":
		return 2
	case "cargo", "rustup", "pip", "pip3", "gem", "brew", "apt", "apt-get", "dnf", "yum", "apk", "pacman", "helm", "terraform", "tofu", "make", "just", "task", "rake", "gradle", "./gradlew", "mvn", "./mvnw", "dotnet", "swift",
		"flutter", "dart", "mix", "rails", "artisan", "composer", "nx", "turbo", "lerna", "bazel", "buck2", "pants", "systemctl", "service", "supabase", "wrangler", "vercel", "nix", "opam", "dune", "stack", "cabal", "lein", "sbt", "zig", "cmake", "meson", "ctest", "tox", "nox", "alembic", "django-admin", "flask":
		return 2
	}
	return 1
}

// Excluded names what a grant of first words does not include, as examples.
func Excluded(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	var out []string
	name := versionless(base(words[0]))
	given := make([]Word, len(words))
	for i, w := range words {
		given[i] = Word{Text: w, Exact: true, Source: w}
	}
	add := func(list string, past int) {
		for o := range strings.FieldsSeq(list) {
			h := Hazard{At: len(words), Past: past}
			if len(out) < 4 && len(o) > 2 && !h.In(words) && !strings.HasSuffix(o, "*") {
				out = append(out, o)
			}
		}
	}
	if name == "git" {
		if len(words) == 1 {
			return []string{"-c", "config", "submodule", "aliases"}
		}
		add(gitOptions(words[1]), 0)
		return out
	}
	if name == "find" {
		return []string{"-delete", "-fprint"}
	}
	for _, e := range hazardTable()[name] {
		if e.sub != "" && subOf(given) != e.sub {
			continue
		}
		for o := range strings.FieldsSeq(e.words) {
			past := 0
			if o[0] != '-' {
				past = 1
			}
			add(o, past)
		}
	}
	if _, ok := interpreterOptions(name); ok && len(words) == 1 {
		out = append(out, "code in the line or from its input")
	}
	return out
}
