package command

import (
	"slices"
	"strings"
	"sync"
)

// Hazard is an argument that makes a call do more than its first words promise:
// git -c core.pager=..., tar --to-command=..., find -delete.
type Hazard struct {
	At int // index of the word among those of [Part.Plain]
	// Past is the number of operands that, when a grant names them, leave the hazard
	// behind: run is one for "go", not for "go test". 0: only the word itself counts.
	Past int
	// Beside says that the word is one more of a kind that a grant may name: a target
	// of make. A grant that names none is for all of them.
	Beside bool
	Why    string // "runs another program"
}

// In reports whether a grant of the first words includes the hazard.
func (h Hazard) In(words []string) bool {
	if h.At < len(words) {
		return true
	}
	operands := 0
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			operands++
		}
	}
	return h.Past > 0 && operands >= h.Past || h.Beside && operands == 0
}

// always is the index of a hazard that no first words include: what runs is not
// written out.
const always = 1 << 20

// hazards are the arguments of a program that make it run other programs, or
// write where nobody expects it.
type hazards struct {
	sub   string // only with this sub-command; "" with any
	words string // options and operands; one that ends in "*" stands for all that begin so, one that begins with it for all that hold the rest, "*=" for assignments
	why   string
	whole bool // options are never letters that are written together
}

const (
	runsOther   = "runs another program"
	runsCode    = "runs code that is given in the line"
	readsConfig = "takes settings that can run programs"
	writesFiles = "writes files where the options say"
	sendsFiles  = "sends files"
)

var hazardTable = sync.OnceValue(func() map[string][]hazards {
	scripts := []hazards{
		{"", "exec x dlx init create explore", runsOther, false},
		{"", "config set", readsConfig, false},
		{"", "--prefix --local-prefix -C --dir --cwd --script-shell --shell --node-options --onload-script --userconfig --globalconfig --init-module --git --editor --viewer --browser --python --registry", readsConfig, false},
	}
	build := []hazards{{"", "-f --file --makefile -C --directory -I --include-dir --eval -E --environment-overrides *=", readsConfig, false}}
	packages := []hazards{{"", "install download wheel config", "installs or runs code of packages", false}}
	editor := []hazards{{"", "-c --cmd -S -s -u -U -l -w -W -e -E +* -V* --server --servername --remote --headless", runsCode, false}}
	compiler := []hazards{{"", "-wrapper -fplugin* -B* @* -specs* -Xclang", runsOther, false}}
	exec := []hazards{{"", "-x --exec -X --exec-batch", runsOther, false}}
	secure := []hazards{{"", "-S -o -F -D -J -b", runsOther, false}}
	return map[string][]hazards{
		"go": {
			{"", "run generate tool get install bug telemetry", runsOther, true},
			{"", "-exec -toolexec -vettool -overlay -modfile -C -ldflags -gcflags -asmflags -gccgoflags -compiler -pkgdir", runsOther, true},
			{"env", "-w -u", readsConfig, true},
			{"", "-test.coverprofile -test.cpuprofile -test.memprofile -test.blockprofile -test.mutexprofile -test.trace -test.outputdir -test.testlogfile -test.gocoverdir -test.fuzzcachedir", writesFiles, true},
			{"", "-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir", writesFiles, true},
		},
		"tar": {
			{"", "--to-command --checkpoint-action -I --use-compress-program --rsh-command --rmt-command -F --info-script --new-volume-script", runsOther, false},
			{"", "-P --absolute-names -C --directory", writesFiles, false},
		},
		"bsdtar": {{"", "--use-compress-program", runsOther, false}, {"", "-P -C", writesFiles, false}},
		"rsync": {
			{"", "-e --rsh --rsync-path -M --remote-option", runsOther, false},
			{"", "--delete --delete-before --delete-after --delete-excluded --remove-source-files", "removes files", false},
		},
		"scp": secure, "sftp": secure,
		"sed":  {{"", "-i --in-place", "edits files in place", false}, {"", "-f --file", runsCode, false}},
		"sort": {{"", "--compress-program", runsOther, false}, {"", "-o --output", writesFiles, false}},
		"rg":   {{"", "--pre --hostname-bin -z --search-zip", runsOther, false}},
		"fd":   exec, "fdfind": exec,
		"ag":    {{"", "--pager", runsOther, false}},
		"split": {{"", "--filter", runsOther, false}}, "install": {{"", "--strip-program", runsOther, false}}, "more": {{"", "+*", runsOther, false}},
		"ip": {{"", "netns vrf", runsOther, false}}, "tcpdump": {{"", "-z", runsOther, false}}, "logrotate": {{"", "-m --mail", runsOther, false}}, "cpio": {{"", "--rsh-command", runsOther, false}},
		"tree": {{"", "-o --output -R", writesFiles, false}},
		"make": build, "gmake": build, "just": {{"", "-f --justfile --shell --shell-arg --shell-command -c --command -d --working-directory --set --chooser", readsConfig, false}},
		"cmake": {{"", "-E -P -C -D*", runsOther, false}},
		"cargo": {{"", "run r install login publish +*", runsOther, false}, {"", "--config -Z -C --manifest-path --target-dir", readsConfig, false}},
		"npm":   scripts, "pnpm": scripts, "yarn": scripts,
		"bun": append([]hazards{{"", "-e --eval -p --print -r --preload", runsCode, false}}, scripts...),
		"pytest": {
			{"", "--basetemp", "removes the folder that it is given", false},
			{"", "--pastebin", sendsFiles, false},
			{"", "--junitxml --junit-xml --log-file --report-log", writesFiles, false},
			{"", "--pdbcls --config-file", runsOther, false},
		},
		"npx":     {{"", "-c --call -p --package --shell", runsOther, false}},
		"uvx":     {{"", "--from --with --with-editable --with-requirements", runsOther, false}},
		"uv":      {{"", "--from --with --with-editable --with-requirements", runsOther, false}, {"", "tool pip", "installs or runs code of packages", false}},
		"kubectl": {{"", "exec run cp debug attach port-forward proxy edit apply patch create scale set", "changes or runs something elsewhere", false}, {"", "--kubeconfig", readsConfig, false}},
		"docker":  {{"", "run exec cp build buildx load import plugin", runsOther, false}, {"compose", "run exec up build", runsOther, false}, {"", "-H --host --context --config", readsConfig, false}},
		"podman":  {{"", "run exec cp build load import", runsOther, false}},
		"gh":      {{"", "api extension ext alias codespace cs auth secret", runsOther, false}},
		"vim":     editor, "nvim": editor, "vi": editor,
		"emacs": {{"", "--eval -f -l --load --funcall --batch --script -x --execute", runsCode, false}},
		"less":  {{"", "+* -k -o -O --lesskey-file --lesskey-src --lesskey-content", runsOther, false}},
		"man":   {{"", "-P --pager -H --html -X -T -p --preprocessor -C", runsOther, false}},
		"curl": {
			{"", "*%output{", writesFiles, false},
			{"", "-K --config -x --proxy --unix-socket -E --cert --engine", readsConfig, false},
			{"", "-o --output -O --remote-name --remote-name-all --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc", writesFiles, false},
			{"", "-T --upload-file -d --data --data-binary --data-raw --data-ascii --data-urlencode -F --form --form-string -b --cookie --json", sendsFiles, false},
		},
		"wget": {
			{"", "--use-askpass -e --execute --config", runsOther, false},
			{"", "-O --output-document -P --directory-prefix -o --output-file -a --append-output", writesFiles, false},
			{"", "--post-file --body-file --post-data --body-data", sendsFiles, false},
		},
		"zip": {{"", "-T --test -TT --unzip-command", runsOther, false}}, "unzip": {{"", "-d -:", writesFiles, false}}, "7z": {{"", "-o*", writesFiles, false}},
		"pip": packages, "pipx": packages, "gem": packages, "brew": {{"", "install services", "installs programs", false}},
		"psql":  {{"", "-f --file -o --output -L --log-file -c --command", "runs statements that are given in the line", false}},
		"mysql": {{"", "-e --execute --pager --tee", runsCode, false}}, "sqlite": {{"", "-cmd -init -A .*", runsCode, false}},
		"gcc": compiler, "g++": compiler, "cc": compiler, "clang": compiler, "clang++": compiler,
		"openssl": {{"", "-engine -provider -config", readsConfig, false}},
		"xxd":     {{"", "-r -revert", writesFiles, false}},
		"date":    {{"", "-s --set", "sets the clock", false}},
		"dotnet":  {{"", "run exec fsi script tool", runsOther, false}}, "swift": {{"", "run", runsOther, false}}, "nix": {{"", "run shell develop eval", runsOther, false}},
		"deno":      {{"", "eval repl run install upgrade serve", runsCode, false}, {"", "-A --allow-all --allow-run", runsCode, false}},
		"terraform": {{"", "apply import state", "changes what runs elsewhere", false}},
		"aws":       {{"", "ssm lambda ecs", runsOther, false}},
	}
})

// Plain are the words of the call that grants of first words are compared with:
// options that only change how git prints are left out, and a program that is
// called by a relative path has its path from the workspace.
func (p *Part) Plain() []Word { return p.plain(p.Call().Words) }

// Layer are the words of a call around the part, in the same form.
func (p *Part) Layer(i int) []Word { return p.plain(p.Layers[i].Words) }

func (p *Part) plain(words []Word) []Word {
	if len(words) == 0 {
		return words
	}
	rest := words[1:]
	if words[0].Text == "git" {
		for len(rest) > 0 && rest[0].Exact && (rest[0].Text == "--no-pager" || rest[0].Text == "-P" || rest[0].Text == "--no-optional-locks") {
			rest = rest[1:]
		}
	}
	program := words[0]
	if program.Exact && strings.Contains(program.Text, "/") {
		r := p.at.Resolve(p.dir, program.Text)
		program.Text, program.Exact = r.Name, r.Name != ""
		if program.Exact && !isAbs(r.Name) {
			program.Text = "./" + r.Name
		}
	}
	if len(rest) == len(words)-1 && program.Text == words[0].Text {
		return words
	}
	return append([]Word{program}, rest...)
}

// Hazards are the arguments of the call that a grant of its first words does not
// include unless they are among those words.
func (p *Part) Hazards() []Hazard {
	words := p.Plain()
	if len(words) == 0 || !words[0].Exact {
		return nil
	}
	name := versionless(base(words[0].Text))
	if p.Opaque != "" || runsAnything(name) {
		return []Hazard{{At: always, Why: "runs whatever it is given"}}
	}
	var out []Hazard
	switch name {
	case "git":
		out = gitHazards(words)
	case "find":
		out = findHazards(words)
	case "awk", "gawk", "mawk", "nawk":
		out = awkHazards(words)
	case "sed":
		out = sedHazards(words)
	case "source", ".":
		out = []Hazard{{At: 1, Why: "runs a script in this shell"}}
	default:
		out = launchHazards(name, words)
		out = append(out, targetHazards(name, words)...)
		if options, ok := interpreterOptions(name); ok {
			out = append(out, p.codeHazards(options, words)...)
		}
	}
	table := hazardTable()[name]
	if len(words) > 2 && words[1].Text == "-m" {
		table = append(table[:len(table):len(table)], hazardTable()[words[2].Text]...)
	}
	if (name == "tar" || name == "bsdtar") && len(words) > 1 && words[1].Exact && !words[1].mayBeOption() {
		words = slices.Clone(words) // letters without a dash are options
		words[1].Text = "-" + words[1].Text
	}
	if name == "git" && !p.ownRepository(nil) {
		out = append(out, Hazard{At: always, Why: "runs in a folder whose own settings git would obey"})
	}
	out = append(out, inTable(table, words)...)
	out = append(out, p.unknownHazards(name, words)...)
	out = append(out, p.writesOutside(words)...)
	if at := namesInFile(words); at > 0 {
		out = append(out, Hazard{At: at, Why: "takes names or options from a file"})
	}
	if len(table) > 0 || len(out) > 0 || name == "git" || name == "find" {
		for i, w := range words[1:] {
			if !w.Exact && w.mayBeOption() {
				out = append(out, Hazard{At: i + 1, Why: "what " + w.Source + " holds is not known before it runs"})
			}
		}
	}
	return out
}

// inTable finds the arguments of words that entries name.
func inTable(entries []hazards, words []Word) []Hazard {
	var out []Hazard
	for _, e := range entries {
		if e.sub != "" && subOf(words) != e.sub {
			continue
		}
		for i, w := range words[1:] {
			for name := range strings.FieldsSeq(e.words) {
				if !w.is(name, e.whole) {
					continue
				}
				h := Hazard{At: i + 1, Why: e.why}
				if name[0] != '-' && name[0] != '+' && name[0] != '*' && name[0] != '@' {
					h.Past = 1
					if e.sub != "" {
						h.Past = 2
					}
				}
				out = append(out, h)
			}
		}
	}
	return out
}

func subOf(words []Word) string {
	for _, w := range words[1:] {
		if !w.mayBeOption() {
			return w.Text
		}
	}
	return ""
}

// is reports whether a word is, or may be, an option or operand of the table.
func (w Word) is(name string, whole bool) bool {
	switch {
	case !w.Exact:
		return false // judged by itself
	case name == "*=":
		return !w.mayBeOption() && strings.Contains(w.Text, "=")
	case name[0] == '*':
		return strings.Contains(w.Text, name[1:])
	case strings.HasSuffix(name, "*"):
		return strings.HasPrefix(w.Text, name[:len(name)-1])
	case whole && name[0] == '-':
		given, _, _ := strings.Cut(w.Text, "=")
		return given == name || given == "-"+name
	case name[0] == '-':
		return optional(w, name) || dashed(w, name)
	}
	return w.Text == name
}

// dashed reports whether a word is a long option with another number of dashes,
// which npm and others take as well: -script-shell, ---script-shell.
func dashed(w Word, name string) bool {
	given, _, _ := strings.Cut(w.Text, "=")
	letters := strings.TrimLeft(given, "-")
	if !strings.HasPrefix(name, "--") || letters == given {
		return false
	}
	return letters == name[2:] || len(letters) >= 4 && strings.HasPrefix(name[2:], letters)
}
