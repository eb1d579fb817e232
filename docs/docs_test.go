// Package docs_test keeps the handbook true: the commands of its guides run, the settings
// it shows load, and what the program reads is in it.
package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func examples(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, m := range fence.FindAllStringSubmatch(read(t, name), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("%s has no yaml examples", name)
	}
	return out
}

// write puts text into a file of a new folder.
func write(t *testing.T, name, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var asked = regexp.MustCompile(`(?m)^# --model (\S+)$`)

// Every example of models.md loads, and what it says to ask for is there.
func TestModelExamples(t *testing.T) {
	for _, text := range examples(t, "models.md") {
		title, _, _ := strings.Cut(text, "\n")
		t.Run(strings.TrimPrefix(title, "# --model "), func(t *testing.T) {
			r, err := catalog.Open(catalog.Options{Home: write(t, "models.yml", text), Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			selectors := asked.FindAllStringSubmatch(text, -1)
			if len(selectors) == 0 {
				t.Fatal("the example does not say how its model is asked for")
			}
			for _, s := range selectors {
				c, err := r.Resolver.Resolve(s[1])
				if err != nil {
					t.Error(err)
					continue
				}
				want := strings.TrimSuffix(s[1], ":"+string(c.Level))
				if c.Model.Ref() != want {
					t.Errorf("%s is %s", s[1], c.Model.Ref())
				}
				if c.Level != "" && c.Model.Thinking.Clamp(c.Level) != c.Level {
					t.Errorf("%s: the model has no such level", s[1])
				}
			}
		})
	}
}

// The table of sources.md is that of package source, in the order in which sources win.
func TestSourceTable(t *testing.T) {
	const project, home = "/project", "/home"
	const begin, end = "<!-- sources: begin -->\n", "<!-- sources: end -->"
	names := map[source.Kind]string{
		source.Instructions: "instructions", source.Additions: "more instructions", source.Servers: "*MCP servers*", source.Agents: "*agents*",
		source.Hosts: "*SSH hosts*", source.Extensions: "*extensions*", source.Settings: "*settings*",
	}
	var table strings.Builder
	table.WriteString("| program | kind | in a project | yours |\n|---|---|---|---|\n")
	for _, s := range source.All() {
		for _, kind := range source.Kinds() {
			var of [2][]string
			for _, p := range source.Places(source.Options{Dir: project, ConfigDir: home + "/.burin", UserHome: home}, kind) {
				switch path := filepath.ToSlash(p.Path); {
				case p.Source.ID != s.ID:
				case p.Repository != "":
					of[0] = append(of[0], "`"+strings.TrimPrefix(path, project+"/")+"`")
				default:
					of[1] = append(of[1], "`~/"+strings.TrimPrefix(path, home+"/")+"`")
				}
			}
			if of[0] == nil && of[1] == nil {
				continue
			}
			table.WriteString("| " + s.Name + " (`" + s.ID + "`) | " + cmp.Or(names[kind], string(kind)) + " | " + strings.Join(of[0], ", ") + " | " + strings.Join(of[1], ", ") + " |\n")
		}
	}
	page := read(t, "sources.md")
	before, rest, ok := strings.Cut(page, begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("sources.md has no place for the table")
	}
	if *update {
		if err := os.WriteFile("sources.md", []byte(before+begin+table.String()+end+after), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
		return
	}
	if old != table.String() {
		t.Error("sources.md is out of date: go test ./docs -run TestSourceTable -update")
	}
	for _, id := range source.IDs() {
		if row := read(t, "configuration.md"); !strings.Contains(row, "`"+id+"`") {
			t.Errorf("disabledSources in configuration.md lacks %s", id)
		}
	}
}

// yamlExamples are those of all pages but models.md.
func yamlExamples(t *testing.T) (all []string) {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page != "models.md" {
			for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
				all = append(all, m[1])
			}
		}
	}
	if len(all) < 6 {
		t.Fatalf("only %d examples were found", len(all))
	}
	return all
}

// settingExamples are those that are a config.yml: a list is a secrets.yml.
func settingExamples(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(yamlExamples(t), func(text string) bool { return strings.HasPrefix(text, "- ") })
}

// Settings that agent.md, sessions.md and the others show load, too; a list is a secrets.yml.
func TestConfigExamples(t *testing.T) {
	for _, text := range yamlExamples(t) {
		if strings.HasPrefix(text, "- ") {
			entries, err := archive.LoadSecrets(write(t, "secrets.yml", text))
			if err != nil || len(entries) != strings.Count("\n"+text, "\n- ") {
				t.Errorf("%d entries, %v\n%s", len(entries), err, text)
			}
			continue
		}
		c, err := config.Load(write(t, "config.yml", text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		for _, name := range []string{c.Text("theme.dark"), c.Text("theme.light")} {
			if _, ok := theme.Builtin(name); !ok {
				t.Errorf("there is no theme %q\n%s", name, text)
			}
		}
	}
}

// looks.md has a row for each token of themes and each action, as they are, and its example of
// keybindings.json is one that the terminal takes without a word.
func TestLooks(t *testing.T) {
	page := read(t, "looks.md")
	for _, token := range theme.Tokens() {
		if !row(page, token.String()) {
			t.Errorf("looks.md has no row for the token %s", token)
		}
	}
	bindings, _ := key.NewBindings(key.Overrides{})
	for _, b := range bindings.Help() {
		keys := "none"
		for i, k := range b.Keys {
			if i == 0 {
				keys = "`" + k.Text() + "`"
			} else {
				keys += ", `" + k.Text() + "`"
			}
		}
		if want := fmt.Sprintf("| `%s` | %s | %s |", b.Action, keys, b.Help); !strings.Contains(page, want) {
			t.Errorf("looks.md lacks %s", want)
		}
	}
	examples := regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	if len(examples) < 2 {
		t.Fatalf("looks.md has %d examples", len(examples))
	}
	overrides, problems := key.ParseOverrides("keybindings.json", []byte(examples[1][1]))
	_, more := key.NewBindings(overrides)
	if problems = append(problems, more...); len(problems) > 0 || len(overrides.Actions) == 0 {
		t.Errorf("%q", problems)
	}
	// The other one is the form of a theme, and lacks only tokens.
	if _, err := theme.Parse([]byte(examples[0][1])); err == nil || strings.Count(err.Error(), ";") > 0 || !strings.Contains(err.Error(), "colors lacks") {
		t.Error(err)
	}
}

// The messages that models.md shows are those that its mistakes give.
func TestModelErrors(t *testing.T) {
	for text, want := range map[string]string{
		"providers:\n  acme:\n    models: [{id: a}]\n":                  `models.yml:3:15: model "a" of provider "acme" has no api: set it here or for the provider (and 2 more)`,
		"providers:\n  acme:\n    auth: none\n    baseURL: https://x\n": `models.yml:4:5: unknown key "baseURL" in provider "acme" (did you mean "baseUrl"?)`,
		"providers:\n  acme:\n    api: openai-completion\n":             `models.yml:3:10: "api" in provider "acme": unknown wire format "openai-completion" (did you mean "openai-completions"?)`,
	} {
		_, err := catalog.Open(catalog.Options{Home: write(t, "models.yml", text)})
		if err == nil || !strings.Contains(err.Error(), "/"+want+"; correct it") {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
		if !strings.Contains(read(t, "models.md"), want) {
			t.Errorf("models.md does not show %s", want)
		}
	}
}

// keys lists the yaml keys of a struct, and with nested those of structs within
// it as "outer.inner".
func keys(t reflect.Type, prefix string, nested bool) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "" || name == "-":
		case nested && f.Type.Kind() == reflect.Struct:
			out = append(out, keys(f.Type, prefix+name+".", nested)...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}

// row says whether a table of the page begins a row with the code word; several
// words may share a row.
func row(page, word string) bool {
	return regexp.MustCompile("(?m)^\\| [^|]*`" + regexp.QuoteMeta(word) + "`").MatchString(page)
}

func TestKeysAreDocumented(t *testing.T) {
	oauthBlock, _ := reflect.TypeFor[config.Config]().FieldByName("OAuth")
	for _, tt := range []struct {
		page string
		keys []string
	}{
		{"models.md", keys(reflect.TypeFor[openai.Compat](), "", false)},
		{"models.md", []string{openai.ThinkingOpenAI, openai.ThinkingOpenRouter, openai.ThinkingZAI, openai.ThinkingQwen, openai.ThinkingQwenTemplate}},
		{"models.md", []string{
			string(llm.APIAnthropic), string(llm.APICompletions), string(llm.APIResponses), string(llm.APICodexResponses),
			string(llm.APIAzureResponses), string(llm.APIGoogle), string(llm.APIVertex), string(llm.APIBedrock),
		}},
		{"configuration.md", keys(reflect.TypeFor[config.Config](), "", true)},
		{"configuration.md", keys(oauthBlock.Type.Elem(), "", false)},
	} {
		page := read(t, tt.page)
		for _, key := range tt.keys {
			if !row(page, key) {
				t.Errorf("%s has no row for %s", tt.page, key)
			}
		}
	}
	page := read(t, "models.md")
	for _, level := range llm.Levels() {
		if !strings.Contains(page, "`:"+string(level)+"`") {
			t.Errorf("models.md does not mention the level %s", level)
		}
	}
}

var (
	// readers are functions whose text arguments are names of variables.
	readers = map[string]string{
		"getenv": "", "Getenv": "", "get": "", "first": "", "isOn": "",
		// these put a name of burin's own in front
		"own": "BURIN_", "on": "BURIN_", "timeout": "BURIN_",
	}
	variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
)

// variablesRead finds the names of environment variables in the program's calls.
func variablesRead(t *testing.T) map[string]token.Position {
	t.Helper()
	found := map[string]token.Position{}
	files := token.NewFileSet()
	for _, root := range []string{"../cmd", "../internal", "../llm"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../internal/pacetest/") {
				return err
			}
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := ""
				switch f := call.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				prefix, ok := readers[name]
				if !ok {
					return true
				}
				for _, a := range call.Args {
					lit, ok := a.(*ast.BasicLit)
					if !ok || lit.Kind != token.STRING {
						continue
					}
					if v, err := strconv.Unquote(lit.Value); err == nil && variableName.MatchString(prefix+v) {
						found[prefix+v] = files.Position(lit.Pos())
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestVariablesAreDocumented(t *testing.T) {
	page := read(t, "configuration.md")
	read := variablesRead(t)
	if len(read) < 30 {
		t.Fatalf("only %d variables were found in the program: does this test still know how they are read?", len(read))
	}
	for name, at := range read {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("configuration.md does not mention %s, which %s reads", name, at)
		}
	}
	r, err := catalog.Open(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range append(r.Registry.Providers(), catalog.LocalProviders()...) {
		vs := credential.Variables(provider)
		if len(vs) == 0 {
			t.Errorf("no variable holds a key of %s", provider)
		}
		for _, v := range vs {
			if !strings.Contains(page, "`"+v.Name+"`") {
				t.Errorf("configuration.md does not mention %s of %s", v.Name, provider)
			}
		}
	}
}

var (
	sdkRow  = regexp.MustCompile(`(?m)^\| (SDK-\d+[a-z]?) \| .* \| (.*) \|$`)
	sdkName = regexp.MustCompile("`((?:burin|session|tool|Options|Session|ToolSet|Handle|Input)\\.\\w+)`")
)

// Each item of the specification's SDK is in the table of sdk.md, and each name that the
// table gives is one of the public API.
func TestSDKTable(t *testing.T) {
	api, listed := read(t, "../testdata/api.txt"), map[string]bool{}
	for _, row := range sdkRow.FindAllStringSubmatch(read(t, "sdk.md"), -1) {
		listed[row[1]] = true
		names := sdkName.FindAllStringSubmatch(row[2], -1)
		for _, m := range names {
			owner, name, _ := strings.Cut(m[1], ".")
			found := strings.Contains(api, " "+owner+"."+name) || regexp.MustCompile(`(?m)^`+owner+`: (func|type|const|var) `+name+`\b`).MatchString(api)
			if !found {
				t.Errorf("%s: there is no %s", row[1], m[1])
			}
		}
		if len(names) == 0 && !strings.Contains(row[2], "planned") && !strings.Contains(row[2], "events.md") && !strings.Contains(row[2], "stays the same") {
			t.Errorf("%s says neither what it is here nor why it is not: %s", row[1], row[2])
		}
	}
	for _, id := range []string{"SDK-01", "SDK-02", "SDK-03", "SDK-04", "SDK-05", "SDK-05a", "SDK-05b", "SDK-06", "SDK-07"} {
		if !listed[id] {
			t.Errorf("%s is not in the table", id)
		}
	}
}
