package command

import (
	"strings"
	"sync"
)

const (
	sortOptions = "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k: -t: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check --merge --stable --unique --zero-terminated --key: --field-separator: --sort: --debug --parallel: -S: --buffer-size: --batch-size:"
	grepOptions = "-r --recursive -n --line-number -i --ignore-case --no-ignore-case -l --files-with-matches -L --files-without-match -w --word-regexp -x --line-regexp " +
		"-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -c --count -o --only-matching -v --invert-match -h --no-filename -H --with-filename " +
		"-s --no-messages -q --quiet --silent -a --text -I -z --null-data -Z --null -b --byte-offset -T --initial-tab -U --binary --line-buffered " +
		"-A: -B: -C: -m: -e: -f: -# --after-context: --before-context: --context: --max-count: --regexp: --file: --include: --exclude: --exclude-dir: --exclude-from: " +
		"--color --colour --binary-files: --label: -d: -D: --directories: --devices:"
	rgOptions = "-n --line-number -N --no-line-number -i --ignore-case -S --smart-case -s --case-sensitive -l --files-with-matches --files-without-match -w --word-regexp -x --line-regexp " +
		"-F --fixed-strings -P --pcre2 -c --count --count-matches -o --only-matching -v --invert-match --no-filename -I -H --with-filename -q --quiet -a --text -U --multiline --multiline-dotall " +
		"-u -uu --hidden -. --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-messages --no-heading --heading --column --trim --json --stats --vimgrep -p --pretty --passthru --files --type-list " +
		"-0 --null --crlf --no-config --sort-files --one-file-system --debug -A: -B: -C: -m: -e: -f: -g: -t: -T: -r: -M: -j: -d: --after-context: --before-context: --context: --max-count: --regexp: --file: " +
		"--glob: --iglob: --type: --type-not: --type-add: --replace: --max-columns: --max-depth: --maxdepth: --max-filesize: --threads: --sort: --sortr: --color: --colors: --encoding: --engine: --context-separator: --max-columns-preview --path-separator: -E:"
)

// readers are the programs whose only work is to read and print. Those with
// sub-commands or a language of their own are in functions of their own.
var readers = sync.OnceValue(func() map[string]reader {
	const (
		fdOptions = "-H --hidden -I --no-ignore -u --unrestricted -s --case-sensitive -i --ignore-case -g --glob -F --fixed-strings -a --absolute-path -l --list-details -p --full-path -0 --print0 -1 -q --quiet --regex " +
			"-d: --max-depth: --min-depth: --exact-depth: -t: --type: -e: --extension: -E: --exclude: -S: --size: --changed-within: --changed-before: -o: --owner: -c: --color: -j: --threads: --max-results: --base-directory: --search-path: --prune --strip-cwd-prefix --one-file-system"
		jqOptions = "-r --raw-output -c --compact-output -n --null-input -s --slurp -e --exit-status -S --sort-keys -C --color-output -M --monochrome-output -j --join-output -a --ascii-output -R --raw-input --tab --seq --stream --unbuffered --indent: --raw-output0 --arg:: --argjson:: --slurpfile:: --rawfile:: --args --jsonargs -f: --from-file: -L:"
	)
	type row struct {
		options  string
		operands operands
		most     int
	}
	rows := map[string]row{
		"grep": {grepOptions, pattern, 0}, "egrep": {grepOptions, pattern, 0}, "fgrep": {grepOptions, pattern, 0},
		"rg": {rgOptions, pattern, 0},
		"fd": {fdOptions, pattern, 0}, "fdfind": {fdOptions, pattern, 0},
		"jq":     {jqOptions, pattern, 0},
		"sort":   {sortOptions, files, 0},
		"diff":   {"-u -U: -c -C: -q --brief -s -y --side-by-side -w -b -B -i -E -a -N --new-file -t -p -W: --width: --unified --context --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --color --suppress-common-lines --strip-trailing-cr --no-dereference --minimal --label: -L:", files, 0},
		"tree":   {"-a -d -f -i -q -N -p -u -g -s -h -D -F -A -C -n -x -X -J -L: -P: -I: -t -c -U -r -v --noreport --dirsfirst --filesfirst --charset: --prune --gitignore --matchdirs --ignore-case --du --si --inodes --device --timefmt: --sort: --filelimit: --metafirst --nolinks", files, 0},
		"file":   {"-b --brief -i --mime --mime-type --mime-encoding -h --no-dereference -L --dereference -0 --print0 -k --keep-going -s", files, 0},
		"uniq":   {"-c --count -d --repeated -D -i --ignore-case -u --unique -z --zero-terminated -f: -s: -w: --skip-fields: --skip-chars: --check-chars:", files, 1},
		"xxd":    {"-b -p -ps -u -c: -l: -s: -g: -e", files, 1},
		"tee":    {"-a -i", files, -1},
		"du":     {"-a -b -c -d: -h -H -k -l -m -s -S -x -0 -D -P -t: -B: --all --apparent-size --bytes --total --max-depth: --human-readable --summarize --separate-dirs --one-file-system --exclude: --time --time-style: --threshold: --block-size: --si --inodes --null --count-links --no-dereference", files, 0},
		"base64": {"-d -D -i -w: -b: --decode --ignore-garbage --wrap: --break:", files, 0}, "base32": {"-d -i -w: --decode --ignore-garbage --wrap:", files, 0},
		"env": {"-0 --null", text, -1}, "printenv": {"-0 --null", text, 0},
		"hostname": {"-f -s -i -I -d --fqdn --short", text, -1},
		"type":     {"-t -a -p -P", text, 0}, "which": {"-a -s", text, 0}, "whereis": {"-b -m -s", text, 0},
		"pgrep": {"-f -l -a -x -n -o -c -u: -P: -i", text, 0},
		"pushd": {"", files, 1}, "popd": {"", text, -1}, "jobs": {"-l -n -p -r -s", text, -1}, "dirs": {"-p -v -l", text, -1},
		"gofmt": {"-l -d -s -e", files, 0}, "shasum": {"-a: -b -t -0", files, 0},
	}
	table := make(map[string]reader, 2*len(rows))
	for name, r := range rows {
		table[name] = reader{options: r.options, operands: r.operands, most: r.most}
	}
	const (
		lsOptions = "-a -A -b -B -c -C -d -D -f -F -g -G -h -H -i -I: -k -l -L -m -n -N -o -O -p -P -q -Q -r -R -s -S -t -T: -u -U -v -w: -x -X -Z -1 -@ -e --all --almost-all --author --escape --block-size: --ignore-backups --color --colour --directory --file-type --format: " +
			"--full-time --group-directories-first --no-group --human-readable --si --dereference --dereference-command-line --hide: --indicator-style: --inode --ignore: --kibibytes --literal --hide-control-chars --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --width: --zero --classify --hyperlink --numeric-uid-gid"
		sums  = "-b -t -c -w -z -q -r -s: -p --binary --text --check --tag --zero --warn --quiet --status --strict --ignore-missing"
		zcats = "-f -k -v -q -l -t -c -d --force --keep --verbose --quiet --list --stdout --decompress"
	)
	for names, options := range map[string]string{
		"cat":         "-A -b -e -E -n -s -t -T -u -v -l --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
		"tac":         "-b -r -s: --before --regex --separator:",
		"head":        "-# -n: -c: -q -v -z --lines: --bytes: --quiet --silent --verbose --zero-terminated",
		"tail":        "-# -n: -c: -f -F -q -r -v -z -s: --lines: --bytes: --follow --retry --pid: --quiet --silent --verbose --sleep-interval: --zero-terminated --max-unchanged-stats:",
		"wc":          "-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total:",
		"ls dir vdir": lsOptions,
		"nl":          "-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format: --number-separator: --number-width: --starting-line-number: --line-increment:",
		"od":          "-A: -a -b -c -d -f -i -j: -l -N: -o -s -S: -t: -v -w: -x -X --address-radix: --skip-bytes: --read-bytes: --strings --format: --output-duplicates --width --endian:",
		"hexdump":     "-b -c -C -d -n: -o -s: -v -x -e: --canonical --length: --skip: --no-squeezing --one-byte-octal --one-byte-char --two-bytes-hex",
		"strings":     "-a -f -n: -o -t: -e: -s: -w -U: -# --all --print-file-name --bytes: --radix: --encoding: --output-separator: --include-all-whitespace",
		"cksum":       sums + " -a: -o: -l: --algorithm: --length: --untagged --base64 --raw", "b2sum": sums + " -l: --length:",
		"md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum sum": sums,
		"comm":  "-1 -2 -3 -i -z --check-order --nocheck-order --output-delimiter: --total --zero-terminated",
		"join":  "-a: -e: -i -j: -1: -2: -o: -t: -v: -z --ignore-case --check-order --nocheck-order --header --zero-terminated",
		"paste": "-d: -s -z --delimiters: --serial --zero-terminated",
		"cut":   "-b: -c: -d: -f: -n -s -z -w --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated",
		"fold":  "-b -s -w: -# --bytes --spaces --width:", "fmt": "-c -p: -s -t -u -w: -g: -# -m -n -d: -l: --crown-margin --prefix: --split-only --tagged-paragraph --uniform-spacing --width: --goal:",
		"expand": "-i -t: -# --initial --tabs:", "unexpand": "-a -t: --all --first-only --tabs:",
		"column":           "-t -s: -o: -c: -x -n: -N: -R: -H: -T: -W: -E: -J -L -e -d --table --separator: --output-separator: --output-width: --fillrows --json --table-columns: --table-right: --table-hide: --table-name: --keep-empty-lines --table-noheadings",
		"rev":              "-0 --zero",
		"stat":             "-c: -f -L -t -x -s -l -n -q -r -F --format: --printf: --file-system --dereference --terse --cached:",
		"readlink":         "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero",
		"realpath":         "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to: --relative-base: --strip --no-symlinks --zero",
		"cmp":              "-b -i: -l -n: -s -x -z --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent",
		"zcat bzcat xzcat": zcats, "tsort": "",
		"pr": "-a -b -c -d -D: -e -f -F -h: -i -J -l: -m -n -N: -o: -r -s -S: -t -T -v -w: -W: -# --columns: --header: --length: --merge --number-lines --omit-header --omit-pagination --width: --page-width: --double-space --across",
	} {
		for name := range strings.FieldsSeq(names) {
			dangerous := name == "wc" || name == "strings" || name == "hexdump" || name == "xzcat" || name == "pr"
			table[name] = reader{options: options, lenient: !dangerous}
		}
	}
	for names, options := range map[string]string{
		"pwd": "-L -P", "basename": "-a -s: -z --multiple --suffix: --zero", "dirname": "-z --zero", "seq": "-f: -s: -w -# --format: --separator: --equal-width",
		"expr": "-#", "uname": "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system",
		"whoami tty groups": "-s --silent --quiet", "id": "-u -g -G -n -r -z -Z -a --user --group --groups --name --real --zero --context",
		"uptime": "-p -s --pretty --since", "free": "-b -k -m -g -h -l -t -s: -c: -w --bytes --kibi --mebi --gibi --human --lohi --total --seconds: --count: --wide --si",
		"nproc": "--all --ignore:", "lscpu": "-a -b -B -c -e -p -J -x -y --all --online --bytes --offline --extended --parse --json --hex --physical --cache --caches",
		"lsblk":  "-a -b -d -D -e: -f -I: -J -l -m -M -n -N -o: -O -p -P -r -s -S -t -T -x: --all --bytes --nodeps --discard --exclude: --fs --include: --json --list --merge --perms --noheadings --output: --output-all --paths --pairs --raw --inverse --topology --tree --sort:",
		"locale": "-a -m -k -c --all-locales --charmaps --keyword-name --category-name", "getconf": "-a",
		"df": "-a -B: -h -H -i -k -l -m -P -t: -T -x: --all --block-size: --human-readable --si --inodes --local --portability --type: --print-type --exclude-type: --total --output",
		"tr": "-c -C -d -s -t -u --complement --delete --squeeze-repeats --truncate-set1", "sleep": "", "yes": "",
		"numfmt": "-d: -z --debug --delimiter: --field: --format: --from: --from-unit: --grouping --header --invalid: --padding: --round: --suffix: --to: --to-unit: --zero-terminated",
		"factor": "-h --exponents", "cal": "-1 -3 -s -m -j -y -Y -n: -w -h -A: -B: -# --one --three --sunday --monday --julian --year --months: --week",
		"lsb_release": "-i -d -r -c -a -s --id --description --release --codename --all --short", "sw_vers": "-productName -productVersion -buildVersion --productName --productVersion --buildVersion", "pathchk": "-p -P --portability",
	} {
		for name := range strings.FieldsSeq(names) {
			table[name] = reader{options: options, operands: text, lenient: name != "lscpu" && name != "lsblk"}
		}
	}
	table["who"] = reader{options: "-a -b -d -H -l -m -p -q -r -s -t -T -u --all --boot --count --heading --users --lookup", operands: text, most: -1} // its operand is a file
	table["w"] = reader{options: "-h -u -s -f -o -i --no-header --short --from --old-style --ip-addr", operands: text}
	return table
})

// asksVersion reports whether a call of a known tool only prints its version or
// help. Tools that let a repository choose which copy of them runs (yarn, cargo,
// mvn) are not known.
func asksVersion(program, arg string) bool {
	switch arg {
	case "--version", "--help":
		switch program {
		case "node", "npm", "python", "python3", "pip", "pip3", "ruby", "perl", "php", "java", "javac", "go", "gcc", "g++", "clang", "clang++", "cc",
			"make", "cmake", "docker", "kubectl", "gh", "curl", "wget", "rsync", "tar", "zip", "unzip", "awk", "psql", "sqlite3", "vim", "nvim", "xargs", "timeout":
			return true
		}
		_, ok := readers()[program]
		return ok
	case "-v":
		return program == "node" || program == "npm" || program == "php"
	case "-V":
		return program == "python" || program == "python3" || program == "ssh"
	case "-version":
		return program == "java"
	}
	return false
}
