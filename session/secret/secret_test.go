package secret

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
)

const testKey = "a key of tests"

func newVault(t testing.TB, o Options) *Vault {
	t.Helper()
	if o.Key == nil {
		o.Key = []byte(testKey)
	}
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sampleOf(seed uint64, pattern string) string {
	return expand(rand.New(rand.NewPCG(seed, 1)), pattern)
}

func TestEnvironment(t *testing.T) {
	odd := sampleOf(1, "{p14}")
	for _, tt := range []struct {
		name, variable string
		hidden         string // "" when nothing may be
	}{
		{"key", "SERVICE_KEY=" + odd, odd},
		{"lower case", "npm_config_authtoken=" + odd, odd},
		{"numbered", "API_TOKEN_2=" + odd, odd},
		{"slash first", "A_SECRET=/" + odd, "/" + odd},
		{"url password", "DATABASE_URL=postgres://app:" + odd + "@db/x", odd},
		{"webhook", "TEAM_WEBHOOK_URL=https://h.example.org/T0/B1c2D3e4F5", "https://h.example.org/T0/B1c2D3e4F5"},
		{"long number", "APP_PASSWORD=493817265041", "493817265041"},
		{"made up", "DB_PASSWORD=correct-horse-battery", "correct-horse-battery"},
		{"sample inside", "DB_PASSWORD=kR9<mQ2xLp7", "kR9<mQ2xLp7"},
		{"digits in order", "APP_SECRET=q123456789Z", "q123456789Z"},
		{"the word example", "SERVICE_TOKEN=example-T7q2Zr81kd", "example-T7q2Zr81kd"},
		{"url with a sample", "DATABASE_URL=postgres://app:kR9<mQ2xLp7@db/x", "kR9<mQ2xLp7"},
		{"template", "APP_TOKEN=<your token>", ""},
		{"crossed out", "APP_TOKEN=xxxxxxxxxxxx", ""},
		{"key of words", "SORT_KEY=created-at-desc", ""},
		{"other name", "MONKEY=" + odd, ""},
		{"working directory", "PWD=/srv/" + odd, ""},
		{"short", "SERVICE_KEY=a1b2c3d", ""},
		{"path", "SSL_KEY=/etc/ssl/private/server.key", ""},
		{"home path", "SSH_KEY=~/.ssh/id_ed25519", ""},
		{"word", "APP_SECRET=development", ""},
		{"word and digit", "DB_PASSWORD=password1", ""},
		{"short number", "CACHE_KEY=20240131", ""},
		{"reference", "APP_TOKEN=${OTHER_TOKEN}", ""},
		{"local database", "DATABASE_URL=postgres://postgres:postgres@localhost/x", ""},
		{"no password", "SITE_URL=https://host.example.org/a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVault(t, Options{Env: []string{tt.variable}, NoDetect: true})
			_, text, _ := strings.Cut(tt.variable, "=")
			text = "before " + text + " after"
			out := v.Hide(text)
			if tt.hidden == "" {
				if out != text {
					t.Fatalf("hides %q", out)
				}
				return
			}
			if strings.Contains(out, tt.hidden) || !strings.HasPrefix(out, "before ") || !strings.HasSuffix(out, " after") {
				t.Fatalf("got %q", out)
			}
			if back := v.Restore(out); back != text {
				t.Errorf("restored %q, want %q", back, text)
			}
		})
	}
}

func TestPlaceholder(t *testing.T) {
	secret := sampleOf(2, "{p20}")
	env := []string{"GITHUB_TOKEN=" + secret}
	a := newVault(t, Options{Env: env}).Hide(secret)
	if b := newVault(t, Options{Env: env}).Hide(secret); a != b {
		t.Errorf("two processes with one key: %q and %q", a, b)
	}
	if b := newVault(t, Options{Env: env, Key: []byte("another")}).Hide(secret); a == b {
		t.Errorf("two keys give the same placeholder %q", a)
	}
	if !strings.HasPrefix(a, "SECRET.GITHUB_TOKEN.") || strings.Trim(a, base62+"._") != "" {
		t.Errorf("the placeholder is %q", a)
	}
	named := newVault(t, Options{Env: []string{"MYCOMPANY_TOKEN=" + secret}, Entries: []Entry{{Type: Plain, Content: "mycompany"}}})
	if out := named.Hide(secret); strings.Contains(strings.ToLower(out), "mycompany") {
		t.Errorf("the name shows another secret: %q", out)
	}
}

func TestForgedPlaceholderDoesNotPass(t *testing.T) {
	secret := sampleOf(3, "{a20}")
	v := newVault(t, Options{Env: []string{"A_TOKEN=" + secret}})
	for _, text := range []string{"SECRET." + secret + ".bcdfghjkmn", "SECRET.X." + secret} {
		if out := v.Hide(text); strings.Contains(out, secret) {
			t.Errorf("%q passes as %q", text, out)
		}
	}
}

func TestRestoreTolerates(t *testing.T) {
	secret := sampleOf(4, "{q20}")
	v := newVault(t, Options{Env: []string{"MY_API_TOKEN=" + secret}})
	p := v.Hide(secret)
	for _, tt := range []struct{ name, in, want string }{
		{"exact", "a" + p + "b", "a" + secret + "b"},
		{"Markdown", strings.ReplaceAll(p, "_", `\_`), secret},
		{"case of the name", strings.Replace(p, "SECRET.MY_API_TOKEN", "secret.my_api_token", 1), secret},
		{"twice", p + p, secret + secret},
		{"changed tag", p[:len(p)-8] + "zzzzzzzz", p[:len(p)-8] + "zzzzzzzz"},
		{"cut", p[:len(p)-1], p[:len(p)-1]},
		{"unknown", "SECRET.OTHER.bcdfghjkmn", "SECRET.OTHER.bcdfghjkmn"},
	} {
		if got := v.Restore(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRestoreArgs(t *testing.T) {
	secret := "a\"b\\c\nd<e>" + sampleOf(5, "{a8}")
	v := newVault(t, Options{Entries: []Entry{{Type: Plain, Content: secret, Name: "x_y"}}})
	p := v.Hide(secret)
	quoted := string(appendQuoted(nil, secret))
	for _, tt := range []struct{ name, in, want string }{
		{"alone", `{"a":"` + p + `"}`, `{"a":` + quoted + `}`},
		{"within", `{"a": [1, "x ` + p + ` y"]}`, `{"a": [1, "x ` + quoted[1:len(quoted)-1] + ` y"]}`},
		{"behind an escape", `{"a":"\n` + p + `\u0041"}`, `{"a":"\n` + quoted[1:len(quoted)-1] + `\u0041"}`},
		{"Markdown", `{"a":"` + strings.ReplaceAll(p, "_", `\\_`) + `"}`, `{"a":` + quoted + `}`},
		{"outside of strings", `{` + p + `}`, `{` + p + `}`},
		{"cut", `{"a":"` + p, `{"a":` + quoted[:len(quoted)-1]},
		{"none", `{"a":1}`, `{"a":1}`},
	} {
		if got := v.RestoreArgs(tt.in); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestEntries(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []Entry
		env     []string
		in      string
		want    string // "" when a placeholder that can be restored is wanted
	}{
		{name: "plain", entries: []Entry{{Type: Plain, Content: "hunter2"}}, in: "is hunter2 here"},
		{name: "replaced", entries: []Entry{{Type: Plain, Content: "hunter2", Mode: Replace, Replacement: "********"}}, in: "is hunter2 here", want: "is ******** here"},
		{name: "same length", entries: []Entry{{Type: Plain, Content: "hunter2", Mode: Replace}}, in: "is hunter2 here", want: "is xxxxxxx here"},
		{name: "expression", entries: []Entry{{Type: Regex, Content: `EMP-\d{4}`}}, in: "see EMP-1234, EMP-9"},
		{name: "flags", entries: []Entry{{Type: Regex, Content: `emp-\d{4}`, Flags: "gi"}}, in: "see EMP-1234"},
		{name: "literal syntax", entries: []Entry{{Type: Regex, Content: `/a\/emp-\d{4}/i`}}, in: "see A/EMP-1234"},
		{
			name: "expression replaced", entries: []Entry{{Type: Regex, Content: `postgres://[^\s]+`, Mode: Replace, Replacement: "postgres://***"}},
			in: "at postgres://u:Zk39d8s7fh@h/db now", want: "at postgres://*** now",
		},
		{name: "expression of its own filler", entries: []Entry{{Type: Regex, Content: `[a-z]{20,}`, Mode: Replace}}, in: "qwertzuiopasdfghjklyx", want: "xxxxxxxxxxxxxxxxxxxxx"},
		{
			name: "entry before variable", entries: []Entry{{Type: Plain, Content: "k3K9-dj2Hs", Mode: Replace}},
			env: []string{"A_TOKEN=k3K9-dj2Hs"}, in: "k3K9-dj2Hs", want: "xxxxxxxxxx",
		},
		{
			name: "first entry counts", entries: []Entry{{Type: Plain, Content: "hunter2", Mode: Replace, Replacement: "A"}, {Type: Plain, Content: "hunter2", Mode: Replace, Replacement: "B"}},
			in: "hunter2", want: "A",
		},
		{name: "within another", entries: []Entry{{Type: Plain, Content: "abcdEFGH12"}, {Type: Plain, Content: "EFGH"}}, in: "-abcdEFGH12-EFGH-"},
		{name: "overlapping", entries: []Entry{{Type: Plain, Content: "abcdEFGH"}, {Type: Plain, Content: "EFGHijkl"}}, in: "-abcdEFGHijkl-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVault(t, Options{Entries: tt.entries, Env: tt.env})
			out := v.Hide(tt.in)
			if again := v.Hide(out); again != out {
				t.Errorf("hidden twice: %q, once: %q", again, out)
			}
			if tt.want != "" {
				if out != tt.want || v.Restore(out) != out {
					t.Errorf("got %q, restored %q; want %q", out, v.Restore(out), tt.want)
				}
				return
			}
			if !strings.Contains(out, placeholderStart) || v.Restore(out) != tt.in {
				t.Errorf("got %q, restored %q", out, v.Restore(out))
			}
			for _, e := range tt.entries {
				if e.Type == Plain && strings.Contains(out, e.Content) {
					t.Errorf("%q stays in %q", e.Content, out)
				}
			}
		})
	}
}

func TestWrongEntries(t *testing.T) {
	for _, e := range []Entry{
		{},
		{Type: "glob", Content: "abcdef"},
		{Type: Plain, Content: "abc"},
		{Type: Plain, Content: "ecret"},
		{Type: Plain, Content: "abcdef", Flags: "i"},
		{Type: Plain, Content: "abcdef", Replacement: "x"},
		{Type: Plain, Content: "abcdef", Mode: "drop"},
		{Type: Plain, Content: "abcdef", Mode: Replace, Replacement: "-abcdef-"},
		{Type: Regex},
		{Type: Regex, Content: "a("},
		{Type: Regex, Content: "(?=a)"},
		{Type: Regex, Content: "a*"},
		{Type: Regex, Content: "abc", Flags: "x"},
	} {
		err := e.Validate()
		if err == nil {
			t.Errorf("%+v is taken", e)
			continue
		}
		if msg := err.Error(); strings.Contains(msg, "\n") || len(e.Content) > 5 && strings.Contains(msg, e.Content) {
			t.Errorf("the error is %q", msg)
		}
	}
	_, err := New(Options{Entries: []Entry{
		{Type: Plain, Content: "abcdefgh", Mode: Replace, Replacement: "hunter22"},
		{Type: Plain, Content: "hunter22", Mode: Replace, Replacement: "abcdefgh"},
	}})
	if err == nil {
		t.Error("two replacements that hold each other's content are taken")
	}
}

// A value that was recognized once is known in every form and place.
func TestLearns(t *testing.T) {
	secret := sampleOf(6, "{a32}")
	v := detectVault(t)
	text := "first " + secret + " then client_secret: \"" + secret + "\""
	if got := v.Report(text); len(got) != 2 {
		t.Errorf("reports %v; the value stands there twice", got)
	}
	out := v.Hide(text)
	if strings.Contains(out, secret) || v.Restore(out) != text {
		t.Errorf("got %q", out)
	}
	for _, f := range forms(secret) {
		if out := v.Hide("in <" + f.text + ">"); strings.Contains(out, f.text) {
			t.Errorf("%s stays: %q", f.suffix, out)
		}
	}
}

func TestLimitOfLearning(t *testing.T) {
	v := detectVault(t)
	rng := rand.New(rand.NewPCG(8, 8))
	for range maxLearnt + 10 {
		v.Hide(expand(rng, "ghp_{a36}"))
	}
	text := expand(rng, "ghp_{a36}")
	out := v.Hide(text)
	if strings.Contains(out, text) || v.Restore(out) != text {
		t.Errorf("beyond the limit: %q, restored %q", out, v.Restore(out))
	}
	if bare := text[5:]; v.Hide(bare) != bare {
		t.Error("searches for more than the limit")
	}
	if n := v.Count(); n > maxLearnt*12 {
		t.Errorf("searches for %d texts", n)
	}
}

func TestReport(t *testing.T) {
	token := sampleOf(9, "ghp_{a36}")
	v := newVault(t, Options{Env: []string{"MY_PASSWORD=hunter-2-x9"}})
	text := "a hunter-2-x9 b " + token
	got := v.Report(text)
	for i := range got {
		if got[i].Placeholder == "" || v.Restore(got[i].Placeholder) != text[got[i].Offset:got[i].Offset+got[i].Length] {
			t.Errorf("the placeholder of %+v is wrong", got[i])
		}
		got[i].Placeholder = ""
	}
	want := []Finding{{Kind: "env:MY_PASSWORD", Offset: 2, Length: 11}, {Kind: "github-token", Offset: 16, Length: 40}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Code, hashes and pictures are left alone.
func TestLeavesOrdinaryText(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	v := detectVault(t)
	for _, p := range []string{
		"commit {h40}", "sha256:{h64}", "sha512-{b86}==", "{h8}-{h4}-{h4}-{h4}-{h12}", "integrity sha1-{b27}=",
		"data:image/png;base64,{b4000}", "h1:{b43}= // go.sum", "etag: \"{h32}\"", "/assets/index-{a8}.js", "AAAA{b200}",
		"data:image/png;base64,{b100}/AKIA{u16}/{b100}", "{b100}/hf/ghp{a36}+AIza{a35}/{b99}",
	} {
		for range 50 {
			if text := expand(rng, p); v.Hide(text) != text {
				t.Errorf("%q becomes %q", p, v.Hide(text))
			}
		}
	}
}

func TestLeavesCode(t *testing.T) {
	files := codeFiles(t)
	v := detectVault(t)
	for _, f := range files {
		for _, found := range v.Report(f.text) {
			lo, hi := max(0, found.Offset-40), min(len(f.text), found.Offset+found.Length+20)
			t.Errorf("%s: %s in %q", f.name, found.Kind, f.text[lo:hi])
		}
	}
}

type codeFile struct{ name, text string }

// codeFiles are the sources of the standard library's net/http and of a few
// others: code that speaks of tokens and passwords all the time.
func codeFiles(t testing.TB) []codeFile {
	t.Helper()
	root := goRoot(t)
	var out []codeFile
	for _, dir := range []string{"src/net/http", "src/net/url", "src/go/parser", "src/encoding/json", "src/cmd/go/internal/auth"} {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if strings.HasSuffix(p, "_test.go") {
				continue
			}
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, codeFile{filepath.Base(p), string(b)})
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d files of the standard library under %s", len(out), root)
	}
	return out
}

func TestHideBytes(t *testing.T) {
	token := sampleOf(11, "ghp_{a36}")
	v := detectVault(t)
	b := []byte("x " + token)
	keep := slices.Clone(b)
	if out := v.HideBytes(b); bytes.Contains(out, []byte(token)) || !bytes.Equal(b, keep) {
		t.Errorf("%q becomes %q", b, out)
	}
	copy(b, bytes.Repeat([]byte("z"), len(b))) // what was learned must not change with it
	if out := v.Hide(token); v.Restore(out) != token {
		t.Errorf("restored %q", v.Restore(out))
	}
	plain := []byte("nothing here")
	if out := v.HideBytes(plain); &out[0] != &plain[0] {
		t.Error("text without secrets is copied")
	}
}

func TestNoAllocationWithoutSecrets(t *testing.T) {
	v := newVault(t, Options{Env: []string{"A_TOKEN=" + sampleOf(12, "{a30}")}})
	text := "func main() { token := lexer.Next(); fmt.Println(\"https://host/path\", token) }\n"
	if n := testing.AllocsPerRun(100, func() { v.Hide(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What no text can do is make the work grow faster than its length.
func TestWorkIsLinear(t *testing.T) {
	pacetest.Costly(t)
	for _, unit := range []string{
		"password=", "eyJ", "-eyJ.", "https://a:b", "://", "-----BEGIN PRIVATE KEY-----\n", "AKIAABCDEFGHIJKLMNOP ", "twilio:",
		"discord=aaaaaaaaaaaaaaaaaaaaaaaaa.", "bearer a", "sig=", "SECRET.A.bcdfghjkmn", "secret.", "token: \"", "a", "\\",
		"-----END PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nMIIabc", "1|-----BEGIN PRIVATE KEY-----\n2|MII\n", "Private-Lines: 400\n", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBL\n",
		`"kty","d":`, "prime1:\n 00:aa\n", strings.Repeat("Ab3+", 16) + "\n", "PRIVATE KEY", "-----BEGIN ", "---- BEGIN A PRIVATE KEY", `"kty" { "k": "`,
	} {
		v := fuzzVault(t)
		text := strings.Repeat(unit, (1<<20)/len(unit))
		start := time.Now()
		v.hideJSON("[" + text)
		v.Restore(text)
		// 1 MB takes some milliseconds; a quadratic search would take minutes.
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%q: %v for a megabyte", unit, d)
		} else {
			t.Logf("%q: %v", unit, d)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	v := detectVault(t)
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g%2, 5))
			for range 50 {
				text := "a " + expand(rng, "ghp_{a36}") + " b"
				if out := v.Hide(text); v.Restore(out) != text || out == text {
					t.Errorf("%q becomes %q", text, out)
				}
				v.Count()
			}
		})
	}
	wg.Wait()
}

func TestAgeIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 1))
	v := detectVault(t)
	body := expand(rng, "AGE-SECRET-KEY-1{B52}")
	if out := v.Hide(body + "QQQQQQ"); out != body+"QQQQQQ" {
		t.Errorf("a wrong checksum is taken: %q", out)
	}
	sound := body + bech32Checksum(body)
	if out := v.Hide(sound); strings.Contains(out, body) || v.Restore(out) != sound {
		t.Errorf("%q becomes %q", sound, out)
	}
}

// bech32Checksum is computed as BIP 173 has it, on the values of all characters at once.
func bech32Checksum(s string) string {
	s = strings.ToLower(s)
	at := strings.LastIndexByte(s, '1')
	var values []int
	for _, c := range s[:at] {
		values = append(values, int(c)>>5)
	}
	values = append(values, 0)
	for _, c := range s[:at] {
		values = append(values, int(c)&31)
	}
	for i := at + 1; i < len(s); i++ {
		values = append(values, strings.IndexByte(bech32, s[i]))
	}
	poly := 1
	for _, v := range append(values, 0, 0, 0, 0, 0, 0) {
		top := poly >> 25
		poly = (poly&0x1ffffff)<<5 ^ v
		for i, g := range []int{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 != 0 {
				poly ^= g
			}
		}
	}
	poly ^= 1
	var out strings.Builder
	for i := range 6 {
		out.WriteByte(bech32[poly>>(5*(5-i))&31])
	}
	return strings.ToUpper(out.String())
}
