package command

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Shows says what a call of git takes out of the history or the index and prints or
// copies: the files of REVISION:PATH in named, and with any whatever file there is,
// but only below the paths in within if there are some. No wall around a file holds
// these: their contents come from git's own files.
func (p *Part) Shows() (named []Path, any bool, within []Path) {
	words := p.Call().Words
	if p.Kind != Run || len(words) == 0 || base(words[0].Text) != "git" {
		return nil, false, nil
	}
	c := parseGit(words[1:])
	if c.sub == "" {
		return nil, len(words) > 1 && (len(words) != 2 || !asksVersion("go", words[1].Text)), nil
	}
	if !c.prints() {
		return nil, false, nil
	}
	operands, paths, behind := 0, []Path(nil), false
	args := c.args
	if c.sub == "grep" {
		args, any = c.greps()
	}
	for _, a := range args {
		switch {
		case !a.Exact:
			any = true
		case a.Text == "--" && !behind:
			behind = true
		case a.mayBeOption() && !behind:
		case behind:
			paths = append(paths, p.pathspec(a.Text))
		default:
			operands++
			if strings.HasPrefix(a.Text, ":/") {
				continue // a commit by its message
			}
			if rev, file, ok := strings.Cut(a.Text, ":"); ok && !strings.HasPrefix(a.Text, ":(") {
				if rev == "" {
					file = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(file, "0:"), "1:"), "2:"), "3:")
				}
				named = append(named, p.inRepository(file))
				operands--
			} else if q := p.at.Resolve(p.dir, a.Text); q.Name != "" && p.at.exists(q.Name) {
				paths = append(paths, q)
			}
		}
	}
	if c.sub == "grep" { // without a revision it reads files, which are looked at as such
		return named, any || operands > len(paths), paths
	}
	onlyNamed := len(named) > 0 && operands == 0 && len(paths) == 0 && !any && (c.sub == "show" || c.sub == "cat-file" || c.sub == "diff")
	return named, !onlyNamed, paths
}

// greps are the operands of git grep without the pattern, which may look like anything.
// stored reports that it searches the index, or has an option that isn't known here.
func (c gitCall) greps() (args []Word, stored bool) {
	options, _ := gitReader("grep")
	s := scan(options, c.args, false)
	if s.bad != "" {
		return c.args, true
	}
	args = s.operands
	if end := slices.IndexFunc(c.args, func(a Word) bool { return a.Exact && a.Text == "--" }); end >= 0 {
		before := scan(options, c.args[:end], false)
		args = append(append(before.operands[:len(before.operands):len(before.operands)], c.args[end]), c.args[end+1:]...)
	}
	if !s.has("-e", "-f") && len(args) > 0 && args[0].Text != "--" {
		args = args[1:]
	}
	return args, s.has("--cached")
}

// prints reports whether a command of git may show or copy contents of the history.
func (c gitCall) prints() bool {
	has := func(names ...string) bool {
		for _, a := range c.args {
			for _, n := range names {
				if optional(a, n) {
					return true
				}
			}
		}
		return false
	}
	verb := ""
	if len(c.args) > 0 && c.args[0].Exact {
		verb = c.args[0].Text
	}
	switch c.sub {
	case "status", "commit":
		return has("-v", "--verbose", "-p", "--patch", "--interactive")
	case "add", "checkout", "restore", "reset":
		return has("-p", "--patch", "-i", "--interactive", "-e", "--edit")
	case "rebase", "am":
		return has("--show-current-patch")
	case "fsck":
		return has("--lost-found")
	case "worktree":
		return verb == "add"
	case "stash":
		switch verb {
		case "list":
			return !quietLog(c.args[1:])
		case "show":
			return !quietLog(c.args[1:]) && !onlyStat(c.args[1:])
		}
		return has("-p", "--patch")
	case "log", "reflog", "rev-list":
		return !quietLog(c.args)
	case "show", "diff", "diff-tree", "diff-index", "diff-files", "whatchanged":
		return !onlyStat(c.args)
	case "cat-file":
		return !has("-t") && !has("-s") && !has("-e") && !has("--batch-check") || has("-p") || has("--batch") || has("--batch-command")
	case "blame", "annotate": // the one file that it names
		return false
	case "config":
		return has("--blob")
	case "submodule":
		return verb == "add"
	case "push", "fetch", "pull", "merge", "branch", "tag", "remote", "rev-parse", "ls-files", "ls-tree", "ls-remote", "describe", "merge-base", "show-ref", "for-each-ref",
		"name-rev", "count-objects", "check-ignore", "check-attr", "check-mailmap", "version", "cherry", "var", "shortlog", "init", "switch", "rm", "mv", "clean", "gc", "prune", "repack", "notes", "bisect",
		"revert", "cherry-pick", "sparse-checkout", "help", "update-index", "write-tree", "symbolic-ref", "update-ref", "maintenance", "commit-graph", "hash-object",
		"commit-tree", "prune-packed", "pack-refs", "verify-commit", "verify-tag", "apply", "show-branch", "stripspace", "check-ref-format":
		return false
	}
	return true
}

// quietLog reports whether a log surely shows no contents.
func quietLog(args []Word) bool {
	const quiet = "-s --no-patch --raw --stat --compact-summary --numstat --shortstat --dirstat --summary -z --name-only --name-status --color --no-color --no-renames --abbrev -M --find-renames " +
		"-S: -G: --diff-filter: --relative -a --text --no-ext-diff --no-textconv --pretty --format: -# -n: --max-count: --skip: --oneline --graph --decorate --no-decorate --decorate-refs: " +
		"--all --branches --tags --remotes --since: --after: --until: --before: --author: --committer: --grep: -i --regexp-ignore-case -E -F -P --invert-grep --all-match --merges --no-merges " +
		"--first-parent --reverse --follow --full-history --date: --relative-date --abbrev-commit --no-abbrev-commit --left-right --cherry-pick --cherry-mark --cherry --left-only --right-only " +
		"--topo-order --date-order --author-date-order --ancestry-path --simplify-by-decoration --source --use-mailmap --no-mailmap --notes --no-notes --parents --children --boundary --count --not " +
		"--walk-reflogs -g --reflog --no-walk --min-parents: --max-parents: --show-pulls --dense --sparse --no-expand-tabs --encoding: --log-size --show-signature --objects --disk-usage -h"
	return scan(quiet, args, false).bad == ""
}

// onlyStat reports whether a diff surely shows names and numbers only.
func onlyStat(args []Word) bool {
	s := scan("-s --no-patch --raw --stat --compact-summary --numstat --shortstat --dirstat --summary -z --name-only --name-status --color --no-color --no-renames --abbrev -M --find-renames --diff-filter: "+
		"--relative --quiet -q --exit-code --check --cached --staged --merge-base --no-commit-id -r -t --root --oneline --pretty --format: --date: --no-ext-diff --no-textconv -w -b --ignore-all-space --ignore-space-change", args, false)
	return s.bad == "" && s.has("-s", "--no-patch", "--raw", "--stat", "--compact-summary", "--numstat", "--shortstat", "--dirstat", "--summary", "--name-only", "--name-status", "--quiet")
}

// pathspec is the path that limits what git looks at. One with a magic word, or a
// pattern, may be anything in the repository.
func (p *Part) pathspec(text string) Path {
	if strings.HasPrefix(text, ":") || strings.ContainsAny(text, `*?[\`) {
		return p.inRepository("")
	}
	return p.at.Resolve(p.dir, text)
}

// inRepository is a path as git names it: from the top of the repository, or from
// the folder git runs in if it begins with a dot.
func (p *Part) inRepository(file string) Path {
	if strings.HasPrefix(file, "./") || strings.HasPrefix(file, "../") || p.dir.name == "" || p.at.Root == "" {
		return p.at.Resolve(p.dir, file)
	}
	folder := p.dir.name
	if !isAbs(folder) {
		folder = filepath.Join(p.at.Root, filepath.FromSlash(folder))
	}
	for top := folder; ; top = filepath.Dir(top) {
		if exists(top, ".git") {
			return p.at.Resolve(dir{name: filepath.ToSlash(top)}, path.Clean(file))
		}
		if filepath.Dir(top) == top {
			return p.at.File(path.Clean(file))
		}
	}
}

// exists reports whether a name of the workspace, or an absolute one, is there.
func (p Place) exists(name string) bool {
	_, err := os.Lstat(p.abs(name))
	return err == nil
}

// abs is the absolute path of a name, for the system.
func (p Place) abs(name string) string {
	if !isAbs(name) {
		name = path.Join(filepath.ToSlash(p.Root), name)
	}
	return filepath.FromSlash(name)
}
