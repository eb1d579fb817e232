package command

import (
	"strings"
	"sync"
)

// readers are the programs whose only work is to read and print. Those with
// sub-commands or a language of their own are in functions of their own.
var readers = sync.OnceValue(func() map[string]reader {
	const (
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
		fdOptions = "-H --hidden -I --no-ignore -u --unrestricted -s --case-sensitive -i --ignore-case -g --glob -F --fixed-strings -a --absolute-path -l --list-details -p --full-path -0 --print0 -1 -q --quiet --regex " +
			"-d: --max-depth: --min-depth: --exact-depth: -t: --type: -e: --extension: -E: --exclude: -S: --size: --changed-within: --changed-before: -o: --owner: -c: --color: -j: --threads: --max-results: --base-directory: --search-path: --prune --strip-cwd-prefix --one-file-system"
		sortOptions = "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k: -t: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check --merge --stable --unique --zero-terminated --key: --field-separator: --sort: --debug --parallel: -S: --buffer-size: --batch-size:"
		jqOptions   = "-r --raw-output -c --compact-output -n --null-input -s --slurp -e --exit-status -S --sort-keys -C --color-output -M --monochrome-output -j --join-output -a --ascii-output -R --raw-input --tab --seq --stream --unbuffered --indent: --raw-output0 --arg:: --argjson:: --slurpfile:: --rawfile:: --args --jsonargs -f: --from-file: -L:"
	)
	anything := reader{options: "*"}
	quiet := reader{options: "*", operands: text}
	table := map[string]reader{
		"grep": {grepOptions, pattern, 0}, "egrep": {grepOptions, pattern, 0}, "fgrep": {grepOptions, pattern, 0},
		"rg": {rgOptions, pattern, 0},
		"fd": {fdOptions, pattern, 0}, "fdfind": {fdOptions, pattern, 0},
		"jq":     {jqOptions, pattern, 0},
		"sort":   {sortOptions, files, 0},
		"diff":   {"-u -U: -c -C: -q --brief -s -y --side-by-side -w -b -B -i -E -a -N --new-file -t -p -W: --width: --unified --context --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --color --suppress-common-lines --strip-trailing-cr --no-dereference --minimal --label: -L:", files, 0},
		"tree":   {"* !-o !--output !-R !-l", files, 0},
		"file":   {"-b --brief -i --mime --mime-type --mime-encoding -h --no-dereference -L --dereference -0 --print0 -k --keep-going -s", files, 0},
		"uniq":   {"-c --count -d --repeated -D -i --ignore-case -u --unique -z --zero-terminated -f: -s: -w: --skip-fields: --skip-chars: --check-chars:", files, 1},
		"xxd":    {"-b -p -ps -u -c: -l: -s: -g: -e", files, 1},
		"tee":    {"-a -i", files, -1},
		"du":     {"* !-L !--dereference", files, 0},
		"base64": {"* !-o !--output", files, 0}, "base32": {"* !-o !--output", files, 0},
		"env": {"-0 --null", text, -1}, "printenv": {"-0 --null", text, 0},
		"hostname": {"-f -s -i -I -d --fqdn --short", text, -1},
		"type":     {"-t -a -p -P", text, 0}, "which": {"-a -s", text, 0}, "whereis": {"-b -m -s", text, 0},
		"pgrep": {"-f -l -a -x -n -o -c -u: -P: -i", text, 0},
		"pushd": {"", files, 1}, "popd": {"", text, -1}, "jobs": {"-l -n -p -r -s", text, -1}, "dirs": {"-p -v -l", text, -1},
		"gofmt": {"-l -d -s -e", files, 0}, "shasum": {"-a: -b -t -0", files, 0},
	}
	for name := range strings.FieldsSeq("cat tac head tail wc ls dir vdir nl od hexdump strings cksum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum b2sum sum comm join paste cut fold fmt expand unexpand column rev stat readlink realpath cmp zcat bzcat xzcat tsort pr") {
		table[name] = anything
	}
	for name := range strings.FieldsSeq("pwd basename dirname seq expr uname whoami id groups who w uptime free nproc lscpu lsblk tty locale getconf df tr sleep yes numfmt factor cal lsb_release sw_vers pathchk") {
		table[name] = quiet
	}
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
