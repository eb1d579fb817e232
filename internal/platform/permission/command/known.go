package command

import "strings"

// What is not understood is not covered: for the programs below, an option that is not
// listed here is a hazard, whatever it does. A rule of first words covers it only if
// it names it. Programs without a list are those that the person knows better than
// this table: their own scripts, task runners that pass options on. For them only
// arguments that are known to be hazards count.

const (
	goBuildOptions = "-a -n -v -x -p: -race -msan -asan -cover -covermode: -coverpkg: -work -buildvcs -trimpath -tags: -mod: -json -buildmode: -installsuffix: -linkshared -modcacherw -i"
	goTestOptions  = goBuildOptions + " -run: -skip: -bench: -benchmem -benchtime: -count: -cpu: -failfast -fullpath -list: -parallel: -short -shuffle: -timeout: -vet: -c -fuzz: -fuzztime: -fuzzminimizetime: -args -update"
	gitMerging     = " --ff --no-ff --ff-only --squash --no-squash --commit --no-commit --edit -e --no-edit --stat --no-stat -n -q --quiet -v --verbose --log --signoff -X: --allow-unrelated-histories --autostash --no-autostash --progress --no-verify -m: "
	gitFetching    = " -a --all --append -p --prune --prune-tags -t --tags --no-tags --depth: --deepen: --unshallow --dry-run -f --force -k --keep -q --quiet -v --verbose --progress -4 -6 -j: --jobs: --set-upstream --update-shallow --recurse-submodules --no-recurse-submodules "
)

const unknownOption = "is an option that is not known here as harmless"

// knownOptions are the options of a program, or of its sub-command, that do not make
// a call more than its first words say. ok is false for a program without a list.
func knownOptions(name, sub string) (set string, ok bool) {
	switch name {
	case "go":
		return goOptions(sub)
	case "git":
		return gitKnown(sub)
	case "tar", "bsdtar":
		return "-c -x -t -z -j -J -v -f: -k -p -r -u -a -h -O -m -d -w -S -l -o --create --extract --get --list --append --update --diff --compare --gzip --gunzip --bzip2 --xz --zstd --lzma --verbose --file: --exclude: --exclude-vcs " +
			"--strip-components: --no-same-owner --no-same-permissions --same-permissions --preserve-permissions --keep-old-files --skip-old-files --overwrite --wildcards --totals --numeric-owner --owner: --group: --mode: --mtime: --sort: " +
			"--auto-compress --dereference --to-stdout --one-file-system --no-recursion --warning: --format: --touch --sparse --full-time --utc", true
	case "sort":
		return sortOptions, true
	case "make", "gmake":
		return "-j -k -s -n -B -i -q -r -R -w -d -l -t -p -O -# --jobs --keep-going --silent --quiet --dry-run --just-print --always-make --ignore-errors --question --no-builtin-rules --print-directory --no-print-directory --debug --trace --output-sync --load-average --touch", true
	case "curl":
		return "-s -S -L -f -i -I -v -k -g -N -# -G -j -4 -6 -q -H: -X: -A: -m: -w: -r: -e: -z: --silent --show-error --location --fail --fail-with-body --include --head --verbose --insecure --header: --request: --user-agent: --max-time: --connect-timeout: " +
			"--retry: --retry-delay: --retry-max-time: --retry-connrefused --retry-all-errors --compressed --http1.1 --http2 --http3 --write-out: --globoff --no-buffer --progress-bar --get --range: --referer: --url: --ipv4 --ipv6 --no-progress-meter --path-as-is " +
			"--tlsv1.2 --tlsv1.3 --resolve: --disable --max-redirs: --location-trusted", true
	case "pytest":
		return "-q -v -x -s -k: -m: -r: -l -n: -p: --quiet --verbose --exitfirst --lf --ff --last-failed --failed-first --nf --maxfail: --tb: --durations: --durations-min: --co --collect-only --no-header --no-summary --disable-warnings --disable-pytest-warnings --color: --capture: " +
			"--showlocals --sw --stepwise --timeout: --reruns: --numprocesses: --dist: --cov --cov-report: --cov-fail-under: --cov-branch --no-cov --markers --fixtures --setup-show --setup-only --setup-plan --pdb --strict-markers --strict-config --ignore: --deselect: --import-mode: " +
			"--runxfail --cache-clear --snapshot-update --asyncio-mode: --doctest-modules --benchmark-only --benchmark-skip", true
	case "cargo":
		return "-q -v -r -p: -F: -j: --release --package: --workspace --all --exclude: --lib --bin: --bins --example: --examples --test: --tests --bench: --benches --all-targets --features: --all-features --no-default-features --target: --profile: --no-run --no-fail-fast " +
			"--jobs: --doc --message-format: --color: --locked --offline --frozen --keep-going --no-deps -D: -W: -A: --check --nocapture --no-capture --test-threads: --ignored --include-ignored --exact --skip: --show-output --quiet --verbose -e: -i: --invert: --depth: " +
			"--duplicates -d --edges: --prefix: --format: --format-version: --filter-platform: --dev --build --optional --rename: --dry-run --allow-dirty --allow-staged --fix --edition --emit: --list --future-incompat-report", true
	}
	return "", false
}

func goOptions(sub string) (string, bool) {
	switch sub {
	case "build", "install", "run", "generate":
		return goBuildOptions + " -run: -skip:", true
	case "test":
		return goTestOptions, true
	case "vet":
		return goBuildOptions + " -c:", true
	case "list":
		return goBuildOptions + " -m -f: -deps -test -e -u -versions -find -retracted -compiled -export -reuse:", true
	case "mod", "work":
		return "-v -x -e -json -m -vendor -go: -compat: -diff", true
	case "fmt":
		return "-n -x -mod:", true
	case "get":
		return goBuildOptions + " -u -t -tool", true
	case "clean":
		return goBuildOptions + " -cache -testcache -fuzzcache -modcache -r", true
	}
	return "", false
}

func gitKnown(sub string) (string, bool) {
	if options, ok := gitReader(sub); ok {
		return options, true
	}
	switch sub {
	case "add":
		return "-A --all --no-all -u --update -v --verbose -n --dry-run -f --force -N --intent-to-add --ignore-errors --refresh --renormalize --chmod: -p --patch", true
	case "commit":
		return "-m: --message: -a --all -s --signoff --no-signoff --amend --no-edit --allow-empty --allow-empty-message -n --no-verify -q --quiet -v --verbose --author: --date: --fixup: --squash: --reset-author --only -o --include -i --dry-run --short --porcelain --long --status --no-status " +
			"-C: --cleanup: --trailer: -F: --file: --no-gpg-sign -uno --untracked-files", true
	case "checkout":
		return "-b: -B: -q --quiet -f --force -t --track --no-track -d --detach --orphan: --ours --theirs -m --merge --conflict: --progress --no-progress --guess --no-guess -l --ignore-other-worktrees --overlay --no-overlay", true
	case "switch":
		return "-c: -C: --create: --force-create: -d --detach -f --force --discard-changes -m --merge -q --quiet -t --track --no-track --orphan: --guess --no-guess --progress", true
	case "restore":
		return "-s: --source: -S --staged -W --worktree -q --quiet --ours --theirs -m --merge --overlay --no-overlay --ignore-unmerged --progress", true
	case "push":
		return "-u --set-upstream -n --dry-run -v --verbose -q --quiet --tags --follow-tags --no-follow-tags --all --branches --atomic --no-verify --porcelain --progress -4 -6 -d --delete --prune --force-with-lease --force-if-includes -f --force --mirror --thin -o: --push-option:", true
	case "fetch":
		return gitFetching, true
	case "pull":
		return gitFetching + gitMerging + "-r --rebase --no-rebase", true
	case "merge":
		return gitMerging + "--abort --continue --quit", true
	case "rebase":
		return "-i --interactive --continue --abort --skip --quit --onto: -m --merge -X: --autosquash --no-autosquash --autostash --no-autostash -f --force-rebase --keep-base --root --rebase-merges -r -q --quiet -v --verbose --stat -n --no-stat --update-refs --committer-date-is-author-date --signoff --no-verify --empty: --reapply-cherry-picks", true
	case "stash":
		return gitDiffOptions + " --include-untracked --only-untracked -a --all -k --keep-index --no-keep-index --message: -S --staged --index -m: --oneline -n:", true
	case "branch":
		return "-a --all -r --remotes -d -D -m -M -c -C -v -vv --verbose -f --force --list -l --show-current -u: --set-upstream-to: --unset-upstream -t --track --no-track --merged --no-merged --contains --no-contains --sort: --format: --points-at: --delete --move --copy -q --quiet --color --no-color --column --no-column -i --ignore-case --abbrev --no-abbrev", true
	case "tag":
		return "-a --annotate -m: --message: -F: --file: -d --delete -l --list -f --force -n --sort: --format: --contains --no-contains --merged --no-merged --points-at: --no-sign -i --ignore-case --column --no-column --color -#", true
	case "reset":
		return "--hard --soft --mixed --keep --merge -q --quiet -N --intent-to-add --no-refresh --refresh", true
	case "rm":
		return "-r -f --force --cached -n --dry-run -q --quiet --ignore-unmatch --sparse", true
	case "mv":
		return "-f --force -k -n --dry-run -v --verbose --sparse", true
	case "clean":
		return "-f --force -d -x -X -n --dry-run -q --quiet -e: --exclude:", true
	case "cherry-pick", "revert":
		return "-n --no-commit -e --edit --no-edit -x -m: --mainline: --abort --continue --skip --quit -s --signoff --ff --allow-empty --allow-empty-message --keep-redundant-commits -X: --reference", true
	case "init":
		return "-q --quiet -b: --initial-branch: --bare --shared --object-format: --ref-format:", true
	case "clone":
		return "-q --quiet -v --verbose --progress --depth: -b: --branch: --single-branch --no-single-branch --recurse-submodules --recursive --shallow-since: --shallow-submodules -n --no-checkout --bare --mirror --no-tags --filter: -j: --jobs: --sparse -o: --origin: -l --local --no-local -4 -6 --no-hardlinks", true
	case "apply":
		return "--check --stat --numstat --summary -p: -R --reverse --index --cached -3 --3way --reject --whitespace: -v --verbose -q --quiet --recount --exclude: --include: -C: --ignore-whitespace --ignore-space-change --inaccurate-eof --unidiff-zero --allow-empty -N --intent-to-add", true
	}
	return "", false
}

// unknownHazards are the options of a call that the list of its program does not
// have, and the places outside of the workspace that git is given.
func (p *Part) unknownHazards(name string, words []Word) []Hazard {
	at, sub := 1, subOf(words)
	if name == "git" {
		c := parseGit(words[1:])
		at, sub = c.at+2, c.sub
	}
	set, ok := knownOptions(name, sub)
	switch {
	case at > len(words):
		return nil
	case !ok:
		return p.outsideHazards(name, words, at)
	}
	var out []Hazard
	if given := p.Call().Words; (name == "tar" || name == "bsdtar") && len(words) > 1 && len(given) == len(words) && !given[1].mayBeOption() {
		for _, c := range given[1].Text { // letters without a dash have their values behind them all
			if lookup(set, "-"+string(c)) < 0 {
				out = append(out, Hazard{At: 1, Why: unknownOption})
			}
		}
		at = 2
	}
	for i := at; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Exact && w.Text == "--" && name != "cargo":
			return append(out, p.outsideHazards(name, words, i+1)...)
		case !w.mayBeOption():
			if w.Exact && name == "git" {
				out = append(out, p.outsideHazards(name, words[:i+1], i)...)
			}
			continue
		case !w.Exact || w.Text == "--":
			continue
		}
		if name == "go" {
			w.Text = strings.Replace(w.Text, "--", "-", 1) // Go's programs take both
			w.Text = strings.Replace(w.Text, "-test.", "-", 1)
			if name, _, _ := strings.Cut(w.Text, "="); name == "-args" {
				continue
			}
		}
		var s scanned
		values := s.option(set, w)
		if option, _, _ := strings.Cut(w.Text, "="); values < 0 || name == "go" && lookup(set, option) < 0 {
			out = append(out, Hazard{At: i, Why: unknownOption})
			continue
		}
		var file option
		if n := len(s.options); n > 0 {
			file = s.options[n-1]
		}
		if values > 0 && i+1 < len(words) {
			file = option{file.name, words[i+1], true}
		}
		if file.set && (name == "curl" && strings.HasPrefix(file.value.Text, "@") || name == "git" && (file.name == "-F" || file.name == "--file") && p.outside(file.value)) {
			out = append(out, Hazard{At: i, Why: "takes a file that first words do not show"})
		}
		i += values
	}
	return out
}

// outsideHazards are the arguments from one on that name places outside of the
// workspace, which git would read from or write to.
func (p *Part) outsideHazards(name string, words []Word, from int) []Hazard {
	var out []Hazard
	for i := from; name == "git" && i < len(words); i++ {
		if p.outside(words[i]) {
			out = append(out, Hazard{At: i, Why: "is outside of the workspace"})
		}
	}
	return out
}

// outside reports whether a word is written like a path and leads out of the
// workspace.
func (p *Part) outside(w Word) bool {
	if !isAbs(w.Text) && w.Text != ".." && !strings.HasPrefix(w.Text, "../") && !strings.Contains(w.Text, "/../") || strings.Contains(w.Text, "://") {
		return false
	}
	q := p.at.Resolve(p.dir, w.Text)
	return q.Where != Inside
}
