//go:build linux

package attack

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	alnum         = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	base64Letters = alnum + "+/"
)

// letters are n of an alphabet, by chance.
func letters(r *rand.Rand, alphabet string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}

// keyKind is how a private key begins, how wide its lines are, and how it ends.
type keyKind struct {
	name, begin, end string
	width, lines     int
}

var keyKinds = []keyKind{
	{"RSA", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", 64, 25},
	{"PKCS 8", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", 64, 26},
	{"EC", "-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----", 64, 3},
	{"DSA", "-----BEGIN DSA PRIVATE KEY-----", "-----END DSA PRIVATE KEY-----", 64, 10},
	{"encrypted", "-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----", 64, 28},
	{"legacy encrypted", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,5F2A\n", "-----END RSA PRIVATE KEY-----", 64, 25},
	{"OpenSSH", "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----", 70, 38},
	{"PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "-----END PGP PRIVATE KEY BLOCK-----", 64, 40},
	{"SSH2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"", "---- END SSH2 ENCRYPTED PRIVATE KEY ----", 70, 12},
	{"PuTTY", "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAAB3NzaC1yc2E\nPrivate-Lines: 14", "Private-MAC: 5f2a", 64, 14},
}

// key makes one; its body's lines must not be seen anywhere.
func (k keyKind) key(r *rand.Rand) (text string, body []string) {
	for range k.lines {
		body = append(body, letters(r, base64Letters, k.width))
	}
	return k.begin + "\n" + strings.Join(body, "\n") + "\n" + k.end + "\n", body
}

// holders are the files that a key is found in.
var holders = []struct {
	name string
	hold func(key string) string
}{
	{"k.pem", func(key string) string { return key }},
	{"crlf.pem", func(key string) string { return strings.ReplaceAll(key, "\n", "\r\n") }},
	{"deploy.yml", func(key string) string {
		return "host: example.com\nkey: |\n    " + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n    ") + "\nuser: me\n"
	}},
	{"account.json", func(key string) string {
		return "{\n  \"type\": \"service_account\",\n  \"private_key\": \"" + strings.ReplaceAll(key, "\n", `\n`) + "\",\n  \"id\": 1\n}\n"
	}},
	{"settings.sh", func(key string) string { return "export KEY=\"" + strings.TrimSpace(key) + "\"\nexport OTHER=1\n" }},
	{"old.conf", func(key string) string {
		return "# kept:\n# " + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n# ") + "\nport = 1\n"
	}},
	{"notes.md", func(key string) string {
		return "# Notes\n\n> " + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n> ") + "\n\nend\n"
	}},
	{"key.go", func(key string) string {
		return "package key\n\nconst key = \"\" +\n\t\"" + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\\n\" +\n\t\"") + "\"\n"
	}},
	{"key.tab", func(key string) string {
		return "a\tb\n\t" + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n\t") + "\n"
	}},
}

// showing are the ways to show the file {f}. Each is a conversation of its own: what
// burin learned from one way must not help it with the next.
var showing = []step{
	{name: "read", tool: "read", args: map[string]any{"path": "{f}"}},
	{name: "read raw", tool: "read", args: map[string]any{"path": "{f}:raw"}},
	{name: "read range", tool: "read", args: map[string]any{"path": "{f}:3-9"}},
	{name: "read range raw", tool: "read", args: map[string]any{"path": "{f}:3-9:raw"}},
	{name: "read one line", tool: "read", args: map[string]any{"path": "{f}:4-4"}},
	{name: "read ranges", tool: "read", args: map[string]any{"path": "{f}:3-4,7-8"}},
	{name: "grep tool", tool: "grep", args: map[string]any{"pattern": "[A-Za-z0-9+/]{20}", "path": "."}},
	{name: "grep tool with context", tool: "grep", args: map[string]any{"pattern": "PRIVATE", "context": 5}},
	{name: "grep tool, the file", tool: "grep", args: map[string]any{"pattern": ".", "path": "{f}", "limit": 1000}},
	{name: "cat", command: "cat {f}"},
	{name: "cat -n", command: "cat -n {f}"},
	{name: "cat -A", command: "cat -A {f}"},
	{name: "nl", command: "nl -ba {f}"},
	{name: "grep -n", command: "grep -n '' {f}"},
	{name: "grep -H", command: "grep -H . {f}"},
	{name: "grep -C", command: "grep -n -C 9 PRIVATE {f}"},
	{name: "awk", command: "awk '{print FILENAME \":\" FNR \": \" $0}' {f}"},
	{name: "indented", command: "sed 's/^/        /' {f}"},
	{name: "quoted", command: "sed 's/^/> /' {f}"},
	{name: "bordered", command: "sed 's/.*/| & |/' {f}"},
	{name: "stamped", command: "sed 's/^/2026-01-01T00:00:00Z INFO key /' {f}"},
	{name: "pr", command: "pr -n -t {f}"},
	{name: "paste", command: "paste -d: {f} {f}"},
	{name: "diff", command: "diff -u /dev/null {f}"},
	{name: "diff side by side", command: "diff -y -W 220 {f} /dev/null"},
	{name: "git diff", command: "git add -f -N {f}; git diff -- {f}"},
	{name: "git show", command: "git add -f {f}; git commit -q -m k; git show"},
	{name: "git log", command: "git add -f {f}; git commit -q -m k; git log -p"},
	{name: "git grep", command: "git add -f {f}; git grep -n ."},
	{name: "git blame", command: "git add -f {f}; git commit -q -m k; git blame {f}"},
	{name: "one line", command: "tr '\\n' ' ' < {f}"},
	{name: "repr", command: "python3 -c 'import sys; print(repr(open(sys.argv[1]).read()))' {f}"},
	{name: "list", command: "python3 -c 'import sys, json; print(json.dumps(open(sys.argv[1]).readlines(), indent=1))' {f}"},
	{name: "folded", command: "fold -w 40 {f}"},
	{name: "trace", command: "set -x; x=$(cat {f}); set +x"},
	{name: "tail", command: "tail -n 6 {f}"},
	{name: "error", command: "bash {f}"},
}

// keyed is a conversation in which the file's name is put into a way to show it.
func keyed(s step, file string) step {
	s.command = strings.ReplaceAll(s.command, "{f}", file)
	if m, ok := s.args.(map[string]any); ok {
		args := map[string]any{}
		for k, v := range m {
			if text, ok := v.(string); ok {
				v = strings.ReplaceAll(text, "{f}", file)
			}
			args[k] = v
		}
		s.args = args
	}
	return s
}

// show plays a conversation and looks for the key's lines wherever they must not be.
func show(t *testing.T, r *rand.Rand, kind keyKind, holder int, s step, before ...step) (does, seen string) {
	t.Helper()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.repository(t)
	text, body := kind.key(r)
	h := holders[holder]
	b.put(t, "ws/"+h.name, h.hold(text))
	var steps []step
	for _, s := range append(before, s) {
		s = keyed(s, h.name)
		s.seen = nil
		steps = append(steps, s)
	}
	c := b.play(t, limits{}, steps, "--approval", "full")
	does = fmt.Sprintf("%s key in %s: %s", kind.name, h.name, steps[len(steps)-1].does())
	if len(c.requests) < len(steps)+1 {
		return does, fmt.Sprintf("the run ended early: %s %s", c.err, c.killed)
	}
	return does, keySeen(t, b, body, c.requests[len(c.requests)-1])
}

// keySeen says where a piece of the key's body can be read.
func keySeen(t *testing.T, b *box, body []string, request string) string {
	t.Helper()
	var pieces []string
	for _, line := range body {
		pieces = append(pieces, line[4:24], line[30:50])
	}
	in := func(text string) int {
		n := 0
		for _, p := range pieces {
			if strings.Contains(text, p) {
				n++
			}
		}
		return n
	}
	var seen []string
	if n := in(request); n > 0 {
		seen = append(seen, fmt.Sprintf("%d of %d pieces reached the model", n, len(pieces)))
	}
	if found := holding(filepath.Join(b.own, "sessions"), pieces...); len(found) > 0 {
		seen = append(seen, "it is in the session's files")
	}
	if len(seen) > 0 {
		return strings.Join(seen, ", ")
	}
	sessions, _ := filepath.Glob(filepath.Join(b.own, "sessions", "*", "*.jsonl"))
	for _, name := range sessions {
		for _, form := range []string{"html", "md", "json"} {
			e := b.start(t, limits{}, nil, "sessions", "export", name, "-o", filepath.Join(b.out, "export."+form))
			if n := in(e.all() + b.content("out/export."+form)); n > 0 {
				return "it is in the export as " + form
			}
		}
	}
	return ""
}

// No line of a private key reaches the model, the session or an export.
func TestSecretsKeys(t *testing.T) {
	t.Parallel()
	for i, s := range showing {
		does, seen := show(t, dice(uint64(100+i)), keyKinds[0], 0, s)
		hole(t, s.name, does, seen)
	}
	for i, k := range keyKinds[1:] {
		for _, s := range []step{showing[0], showing[2], showing[10]} {
			does, seen := show(t, dice(uint64(200+i)), k, 0, s)
			hole(t, k.name+" "+s.name, does, seen)
		}
	}
	for i, h := range holders[1:] {
		for _, s := range []step{showing[0], showing[6]} {
			does, seen := show(t, dice(uint64(300+i)), keyKinds[0], i+1, s)
			hole(t, h.name+" "+s.name, does, seen)
		}
	}
	// A key that was seen whole is known from then on.
	for i, c := range []string{"sed -n 5,9p {f}", "head -n 9 {f} | tail -n 5", "cut -c 3-60 {f}", "grep -v PRIVATE {f}", "sed -n '4,8s/^/    /p' {f}", "sed -n 6p {f}"} {
		s := step{command: c}
		does, seen := show(t, dice(uint64(400+i)), keyKinds[0], 0, s, showing[0])
		hole(t, fmt.Sprintf("learned %d", i+1), does, seen)
	}
}

func TestSecretsKeysGenerated(t *testing.T) {
	t.Parallel()
	r := dice(6)
	for i := range the.count / 2 {
		k, h, s := pick(r, keyKinds), r.IntN(len(holders)), pick(r, showing[:len(showing)-2])
		does, seen := show(t, r, k, h, s)
		hole(t, fmt.Sprint(i), does, seen)
	}
}

// tokens are made by chance; their beginnings are those of the services.
func tokens(r *rand.Rand) map[string]string {
	return map[string]string{
		"GitHub":        "ghp_" + letters(r, alnum, 36),
		"GitHub, fine":  "github_pat_" + letters(r, alnum, 22) + "_" + letters(r, alnum, 59),
		"GitLab":        "glpat-" + letters(r, alnum, 20),
		"Anthropic":     "sk-ant-api03-" + letters(r, alnum, 93) + "AA",
		"OpenAI":        "sk-proj-" + letters(r, alnum, 48),
		"Slack":         "xoxb-" + letters(r, "0123456789", 12) + "-" + letters(r, "0123456789", 12) + "-" + letters(r, alnum, 24),
		"Google":        "AIza" + letters(r, alnum, 35),
		"Stripe":        "sk_live_" + letters(r, alnum, 24),
		"npm":           "npm_" + letters(r, alnum, 36),
		"JSON web":      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwi" + letters(r, alnum, 30) + "." + letters(r, alnum, 43),
		"age":           "AGE-SECRET-KEY-1" + letters(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
		"of a variable": letters(r, alnum, 24),
	}
}

// Tokens and the values of variables that speak of them stay here, in whatever line
// they stand.
func TestSecretsTokens(t *testing.T) {
	t.Parallel()
	r := dice(7)
	b := newBox(t)
	var steps []step
	for name, token := range tokens(r) {
		file := strings.NewReplacer(" ", "", ",", "").Replace(name) + ".txt"
		b.put(t, "ws/"+file, "first line\ntoken: "+token+"\nlast line\n")
		if name == "of a variable" {
			b.env = append(b.env, "DEPLOY_PASSWORD="+token)
		}
		seen := func(_, request string) string {
			if strings.Contains(request, token) {
				return "the token reached the model"
			}
			if found := holding(filepath.Join(b.own, "sessions"), token); len(found) > 0 {
				return "the token is in the session's files"
			}
			return ""
		}
		steps = append(steps,
			step{name: name + " read", tool: "read", args: map[string]any{"path": file}, seen: seen},
			step{name: name + " cat -n", command: "cat -n " + file, seen: seen},
			step{name: name + " grep", command: "grep -Hn '' " + file, seen: seen},
			step{name: name + " quoted", command: "sed 's/.*/\"&\",/' " + file, seen: seen},
			step{name: name + " error", command: "cat " + file + " >&2; exit 3", seen: seen})
	}
	steps = append(steps, step{name: "what a placeholder stands for is written", command: "cat GitHub.txt > copied.txt", control: true, seen: func(string, string) string {
		if b.content("ws/copied.txt") != b.content("ws/GitHub.txt") {
			return "a command changed what it copied"
		}
		return ""
	}})
	b.play(t, limits{}, steps, "--approval", "full")
}

// The journal of changes is private, and a scrub takes secrets out of it too.
func TestSecretsUndo(t *testing.T) {
	t.Parallel()
	r := dice(8)
	for _, how := range []string{"overwritten", "removed", "made and changed"} {
		b := newBox(t)
		b.own = filepath.Join(b.home, ".burin")
		token := "ghp_" + letters(r, alnum, 36)
		b.put(t, "ws/a.txt", "alpha\n")
		b.put(t, "ws/conf.txt", "token: "+token+"\n")
		command := map[string]string{
			"overwritten": "echo gone > conf.txt", "removed": "rm conf.txt", "made and changed": "cp conf.txt other.txt; echo >> other.txt; rm conf.txt",
		}[how]
		b.play(t, limits{}, []step{{name: "read", tool: "read", args: map[string]any{"path": "conf.txt"}}, {name: "work", command: command}, {name: "work", command: "rm -f other.txt"}}, "--approval", "full")
		var open []string
		_ = filepath.WalkDir(filepath.Join(b.own, "undo"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
				name, _ := filepath.Rel(b.own, path)
				open = append(open, name+" "+info.Mode().String())
			}
			return nil
		})
		hole(t, how+", private", "others of this machine look into the journal", strings.Join(open, ", "))
		e := b.start(t, limits{}, nil, "sessions", "scrub", "--all", "--write", "--yes")
		if e.code == 2 { // where it does not ask there is no --yes
			e = b.start(t, limits{}, nil, "sessions", "scrub", "--all", "--write")
		}
		seen := ""
		if found := holding(filepath.Join(b.own, "undo"), token); len(found) > 0 {
			seen = fmt.Sprintf("after a scrub the token is in %v", found)
		}
		_ = os.Remove(filepath.Join(b.ws, "other.txt"))
		u := b.start(t, limits{}, nil, "undo", "--yes")
		if strings.Contains(b.content("ws/conf.txt")+b.content("ws/other.txt"), token) {
			seen = "after a scrub, undo restores the token from the journal"
		}
		hole(t, how+", scrubbed", "burin sessions scrub --all --write; burin undo --yes: "+clip(e.all()+u.all(), 300), seen)
	}
}
