package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitCall is a call of git taken apart.
type gitCall struct {
	globals []Word // options before the sub-command
	sub     string // "" if there is none, or none that is known before it runs
	args    []Word // behind it
	at      int    // index of the sub-command in the arguments
}

const gitGlobals = "-C: -c: --exec-path --git-dir: --work-tree: --namespace: --config-env: --super-prefix: --attr-source: --list-cmds: -p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice --html-path --man-path --info-path"

// parseGit finds the sub-command among the arguments of git.
func parseGit(args []Word) gitCall {
	s := scan(gitGlobals, args, true)
	c := gitCall{globals: args[:len(args)-len(s.rest)], at: len(args) - len(s.rest)}
	if s.bad != "" {
		c.globals = args
		return c
	}
	if len(s.rest) > 0 && s.rest[0].Exact {
		c.sub, c.args = s.rest[0].Text, s.rest[1:]
	}
	return c
}

// plain reports whether the options before the sub-command change neither what
// git runs nor where, and gives the folders that -C names.
func (c gitCall) plain() (dirs []Word, ok bool) {
	s := scan("-C: -P --no-pager --no-optional-locks --literal-pathspecs --no-advice", c.globals, false)
	if s.bad != "" || len(s.operands) > 0 {
		return nil, false
	}
	for _, o := range s.options {
		if o.name == "-C" {
			dirs = append(dirs, o.value)
		}
	}
	return dirs, true
}

// elsewhere is the index of the argument by which push, pull or fetch are told to
// go to a URL or path instead of a remote of the project; -1 if there is none.
func (c gitCall) elsewhere() int {
	if c.sub != "push" && c.sub != "pull" && c.sub != "fetch" {
		return -1
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a.Exact && (a.Text == "-o" || a.Text == "--push-option" || a.Text == "-s" || a.Text == "-X" || a.Text == "--depth" || a.Text == "-j"):
			i++
		case a.Exact && strings.HasPrefix(a.Text, "--rep"): // --repo
			return i
		case a.Exact && a.Text == "--":
		case !a.mayBeOption():
			if a.Exact && !strings.ContainsAny(a.Text, `:/\`) && a.Text != "." && a.Text != ".." {
				return -1
			}
			return i
		}
	}
	return -1
}

const (
	gitDiffOptions = "-p -u --patch -s --no-patch -U: --unified: --raw --patch-with-raw --stat --compact-summary --numstat --shortstat --dirstat --cumulative --summary --patch-with-stat -z " +
		"--name-only --name-status --submodule --color --no-color --color-moved --no-color-moved --word-diff --word-diff-regex: --color-words --no-renames --check --full-index --binary --abbrev " +
		"-B -M -C -D -R -S: -G: --pickaxe-regex --pickaxe-all --find-renames --find-copies --diff-filter: --relative --no-relative -a --text --ignore-cr-at-eol --ignore-space-at-eol " +
		"-b --ignore-space-change -w --ignore-all-space --ignore-blank-lines --inter-hunk-context: -W --function-context --exit-code --quiet -q --no-ext-diff --no-textconv --ignore-submodules " +
		"--no-prefix --cached --staged --merge-base --minimal --patience --histogram --diff-algorithm: --indent-heuristic -1 -2 -3 -t -r -c --cc -m --root --stdin --no-index -0 --no-commit-id --pretty --format: -v"
	gitLogOptions = gitDiffOptions + " -# -n: --max-count: --skip: --oneline --format: --pretty --graph --decorate --no-decorate --decorate-refs: --all --branches --tags --remotes --since: --after: --until: --before: " +
		"--author: --committer: --grep: -i --regexp-ignore-case -E -F -P --invert-grep --all-match --merges --no-merges --first-parent --reverse --follow --full-history --date: --relative-date --abbrev-commit --no-abbrev-commit " +
		"-L: --left-right --cherry-pick --cherry-mark --cherry --left-only --right-only --topo-order --date-order --author-date-order --ancestry-path --simplify-by-decoration --source --use-mailmap --no-mailmap --notes --no-notes " +
		"--parents --children --boundary --count --not --walk-reflogs -g --reflog --no-walk --min-parents: --max-parents: --show-pulls --dense --sparse --objects --disk-usage --no-expand-tabs --encoding: --log-size --stdin -s -e -h"
)

// gitReaders are the sub-commands that only look, with the options that keep it so.
func gitReader(sub string) (options string, ok bool) {
	switch sub {
	case "status":
		return "-s --short -b --branch --show-stash --porcelain --long -v -u --untracked-files --ignored -z --ahead-behind --no-ahead-behind --renames --no-renames --ignore-submodules --column --no-column -uno -uall -unormal", true
	case "log", "show", "whatchanged", "rev-list", "shortlog":
		return gitLogOptions, true
	case "diff", "diff-tree", "diff-index", "diff-files":
		return gitDiffOptions, true
	case "blame", "annotate":
		return "-L: -l -t -s -e -w -c -f -n -p -b -C -M --show-email --show-name --show-number --porcelain --line-porcelain --since: --reverse --first-parent --date: --root --abbrev --color-lines --color-by-age --ignore-rev: --ignore-revs-file:", true
	case "rev-parse":
		return "--verify -q --quiet --short --abbrev-ref --symbolic --symbolic-full-name --all --branches --tags --remotes --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-object-format --git-path: --path-format: --default: --sq --not --since: --until:", true
	case "ls-files":
		return "-z -t -v -f -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed --directory --no-empty-directory --eol --exclude: -x: -X: --exclude-from: --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev --debug --deduplicate --format:", true
	case "ls-tree":
		return "-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree --abbrev --format:", true
	case "cat-file":
		return "-t -s -e -p --batch --batch-check --batch-all-objects --buffer --unordered --follow-symlinks -Z", true
	case "describe":
		return "--all --tags --contains --abbrev --candidates: --exact-match --long --match: --exclude: --always --first-parent --dirty --broken", true
	case "merge-base":
		return "-a --all --octopus --independent --is-ancestor --fork-point", true
	case "show-ref":
		return "--head --heads --branches --tags -d --dereference -s --hash --verify --abbrev -q --quiet --exists", true
	case "for-each-ref":
		return "--count: --sort: --format: --points-at: --merged --no-merged --contains --no-contains --ignore-case --omit-empty --exclude: --color", true
	case "name-rev":
		return "--tags --refs: --exclude: --all --name-only --no-undefined --always --annotate-stdin", true
	case "count-objects":
		return "-v -H --verbose --human-readable", true
	case "check-ignore":
		return "-q --quiet -v --verbose --stdin -z -n --non-matching --no-index", true
	case "check-attr":
		return "-a --all --cached --stdin -z --source:", true
	case "grep":
		return "-n --line-number -i --ignore-case -l --files-with-matches --name-only -L --files-without-match -w --word-regexp -v --invert-match -h -H -E --extended-regexp -G --basic-regexp -F --fixed-strings -P --perl-regexp -c --count -o --only-matching -q --quiet -a --text -I --cached --no-index --untracked --no-exclude-standard --exclude-standard --recurse-submodules --full-name --column --heading --break -p --show-function -W --function-context -z --null -e: -f: --and --or --not --all-match -A: -B: -C: -# --after-context: --before-context: --context: -m: --max-count: --max-depth: --threads: --color --no-color -r --recursive", true
	case "version":
		return "--build-options", true
	case "cherry":
		return "-v --abbrev", true
	case "var":
		return "-l", true
	}
	return "", false
}

// gitReads judges git: it only looks, and is told nothing that makes it run
// another program.
func (p *Part) gitReads(args []Word) ([]Word, bool) {
	c := parseGit(args)
	named, ok := c.plain()
	switch {
	case len(args) == 1 && args[0].Exact && (args[0].Text == "--version" || args[0].Text == "--help"):
		return nil, true
	case !ok || c.sub == "" || !p.ownRepository(named):
		return nil, false
	case len(named) > 0 && slices.ContainsFunc(c.args, func(w Word) bool { return hasDotDot(w.Text) }):
		return nil, false // relative to another folder
	}
	if options, ok := gitReader(c.sub); ok {
		s := scan(options, c.args, false)
		return append(named, c.args...), s.bad == ""
	}
	return named, c.lists()
}

// lists judges sub-commands that look or change by what they are given.
func (c gitCall) lists() bool {
	verb, rest := "", c.args
	if len(rest) > 0 && rest[0].Exact && !rest[0].mayBeOption() {
		verb, rest = rest[0].Text, rest[1:]
	}
	switch c.sub {
	case "branch", "tag":
		s := scan("-a --all -r --remotes -v -vv --verbose --show-current -l --list -n --contains: --no-contains: --merged --no-merged --points-at: --sort: --format: --column --no-column --color --no-color -i --ignore-case --abbrev --no-abbrev -#", c.args, false)
		listing := c.sub == "tag" && s.has("-l") || s.has("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
		return s.bad == "" && (listing || len(s.operands) == 0)
	case "remote":
		return verb == "" && none("-v --verbose", rest) || verb == "get-url" && scan("--all --push", rest, false).bad == ""
	case "stash":
		return verb == "list" && scan(gitLogOptions, rest, false).bad == "" || verb == "show" && scan(gitDiffOptions+" --include-untracked --only-untracked", rest, false).bad == ""
	case "reflog":
		return verb == "" && none(gitLogOptions, rest) || verb == "show" && scan(gitLogOptions, rest, false).bad == ""
	case "worktree":
		return verb == "list" && scan("--porcelain -z -v", rest, false).bad == ""
	case "submodule":
		return verb == "status" && scan("--cached --recursive", rest, false).bad == ""
	case "config":
		s := scan("--global --local --system --worktree --show-origin --show-scope --get --get-all --get-regexp --get-urlmatch -l --list -z --null --name-only --type: --bool --int --path --includes --no-includes --default:", c.args, false)
		switch {
		case s.bad != "":
			return false
		case s.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--list"), verb == "get", verb == "list":
			return true
		}
		// git config user.name reads; a verb would be read as a name without a dot.
		return len(s.operands) == 1 && s.operands[0].Exact && strings.Contains(s.operands[0].Text, ".")
	}
	return false
}

// none reports whether args are options of set only.
func none(set string, args []Word) bool {
	s := scan(set, args, false)
	return s.bad == "" && len(s.operands) == 0
}

// ownRepository reports whether git finds the workspace's own repository where it
// runs. A folder that is laid out like a bare repository can come with any clone,
// and its configuration runs programs.
func (p *Part) ownRepository(dirs []Word) bool {
	d := p.dir
	for _, w := range dirs {
		if !w.Exact {
			return false
		}
		r := p.at.Resolve(d, w.Text)
		d = dir{name: r.Name, inside: r.Where == Inside}
	}
	if p.at.Root == "" {
		return true
	}
	if !d.inside || d.name == "" {
		return false
	}
	folder := d.name
	if !isAbs(folder) {
		folder = filepath.Join(p.at.Root, filepath.FromSlash(folder))
	}
	for {
		if exists(folder, ".git") {
			return true
		}
		if exists(folder, "HEAD") && exists(folder, "objects") && exists(folder, "refs") {
			return false
		}
		up := filepath.Dir(folder)
		if up == folder || folder == p.at.Root {
			return true
		}
		folder = up
	}
}

func exists(folder, name string) bool {
	_, err := os.Lstat(filepath.Join(folder, name))
	return err == nil
}
