package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// specified are the ids that family-coverage.md answers, as "program id". testdata/ids.txt lists
// them, and is held against the specifications where these lie beside the repository.
func specified(t *testing.T) (ids []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "testdata/ids.txt")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			ids = append(ids, line)
		}
	}
	all := `(?:CFG|SET|SKL|RUL|TTSR|CMD|HK|GEM|PLN|MEM|HIND)-\d+[a-z]?`
	scope := map[string]string{
		"oh-my-pi": all + `|READ-03[1-3]|WR-0(?:1[7-9]|2[01])|TASK-\d+|IRC-\d+|OBS-\d+|TODO-02[45]|BM-\d+|MCP-\d+`,
		"arcane":   all + `|TSK-0[1-8]a?|MCP-\d+[ab]?`,
		"gajae":    `SKL-(?:0[5-9]|1[0-2])|PLN-\d+|TSK-\d+|GOL-\d+|LSP-\d+`,
	}
	for _, dir := range []string{"../../shared/spec", "../../../shared/spec"} {
		var found []string
		for program, id := range scope {
			text, err := os.ReadFile(filepath.Join(dir, program+".md"))
			if err != nil {
				break
			}
			for _, m := range regexp.MustCompile(`(?m)^- \*\*(`+id+`)\*\*`).FindAllStringSubmatch(string(text), -1) {
				found = append(found, program+" "+m[1])
			}
		}
		if found == nil {
			continue
		}
		for _, id := range found {
			if !slices.Contains(ids, id) {
				t.Errorf("%s is specified, and testdata/ids.txt doesn't list it", id)
			}
		}
		for _, id := range ids {
			if !slices.Contains(found, id) {
				t.Errorf("testdata/ids.txt lists %s, which isn't specified", id)
			}
		}
	}
	return ids
}

// tests are the tests of the repository as family-coverage.md names them: "package/TestName" by
// the last folder of a path, "script/name.txt" for a script of cmd/burin.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	out := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		switch {
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case folder == "script" && filepath.Ext(path) == ".txt":
			out["script/"+d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			if folder == ".." {
				folder = "burin"
			}
			for _, m := range name.FindAllStringSubmatch(read(t, path), -1) {
				out[folder+"/"+m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every id of the specifications has a row in family-coverage.md, which names tests that exist or
// begins with why it isn't covered.
func TestFamilyCoverage(t *testing.T) {
	ids, known := specified(t), tests(t)
	if len(ids) < 150 || len(known) < 1000 {
		t.Fatalf("only %d ids and %d tests were found", len(ids), len(known))
	}
	seen := map[string]bool{}
	for _, section := range strings.Split(read(t, "family-coverage.md"), "\n## ")[1:] {
		program, text, _ := strings.Cut(section, "\n")
		checkRows(t, text, program+" ", ids, known, seen)
	}
	for _, id := range ids {
		if !seen[id] {
			t.Errorf("family-coverage.md has no row for %s", id)
		}
	}
}

// checkRows checks the rows of a page, and adds their ids to those that were seen. Ids begin with before.
func checkRows(t *testing.T, text, before string, ids []string, known, seen map[string]bool) {
	t.Helper()
	row, code := regexp.MustCompile(`(?m)^\| ([A-Z]+-\d+[a-z]?|V\d+) \| (.*) \|$`), regexp.MustCompile("`((?:[a-z]+/)(?:(?:Test|Fuzz|Benchmark)\\w+|\\w+\\.txt))`")
	reason := regexp.MustCompile(`^(?:no|not yet|in work): \S`)
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		id := before + m[1]
		switch named := code.FindAllStringSubmatch(m[2], -1); {
		case seen[id]:
			t.Errorf("%s has two rows", id)
		case !slices.Contains(ids, id):
			t.Errorf("%s isn't an id of the specifications", id)
		case len(named) == 0 && !reason.MatchString(m[2]):
			t.Errorf("%s names no test, and doesn't begin with \"no: \", \"not yet: \" or \"in work: \" and the reason", id)
		default:
			for _, test := range named {
				if !known[test[1]] {
					t.Errorf("%s names the test %s, which doesn't exist", id, test[1])
				}
			}
		}
		seen[id] = true
	}
}

// GremlinOFA's specification has ids at the beginning of items, and of rows of tables.
var gremlinID = regexp.MustCompile(`(?m)^(?:- \*\*([A-Z]+-\d+)\*\*|\| ([A-Z]+-\d+|V\d+)(?: \[\w\])? \|)`)

// gremlin-coverage.md does the same for GremlinOFA's specification.
func TestGremlinCoverage(t *testing.T) {
	var ids []string
	for line := range strings.Lines(read(t, "testdata/gremlin-ids.txt")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			ids = append(ids, line)
		}
	}
	if len(ids) < 650 {
		t.Fatalf("only %d ids were found", len(ids))
	}
	for _, dir := range []string{"../../shared/spec", "../../../shared/spec"} {
		text, err := os.ReadFile(filepath.Join(dir, "gremlin.md"))
		if err != nil {
			continue
		}
		var found []string
		for _, m := range gremlinID.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1]+m[2])
		}
		for _, id := range found {
			if !slices.Contains(ids, id) {
				t.Errorf("%s is specified, and testdata/gremlin-ids.txt doesn't list it", id)
			}
		}
		for _, id := range ids {
			if !slices.Contains(found, id) {
				t.Errorf("testdata/gremlin-ids.txt lists %s, which isn't specified", id)
			}
		}
	}
	seen := map[string]bool{}
	checkRows(t, read(t, "gremlin-coverage.md"), "", ids, tests(t), seen)
	for _, id := range ids {
		if !seen[id] {
			t.Errorf("gremlin-coverage.md has no row for %s", id)
		}
	}
}
