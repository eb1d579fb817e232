package tool

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The official test suite, of the keywords that differ between drafts. See
// testdata/json-schema-test-suite/README.md.
func TestSuite(t *testing.T) {
	dir := "testdata/json-schema-test-suite"
	if d := os.Getenv("SUITE"); d != "" {
		dir = d
	}
	files, err := filepath.Glob(dir + "/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	// These refer to other documents, which are never fetched: they validate nothing.
	elsewhere := map[string]bool{
		"remote ref, containing refs itself":                             true,
		"strict-tree schema, guards against misspelled properties":       true,
		"tests for implementation dynamic anchor and reference link":     true,
		"$ref and $dynamicAnchor are independent of order - $defs first": true,
		"$ref and $dynamicAnchor are independent of order - $ref first":  true,
		"$ref to $dynamicRef finds detached $dynamicAnchor":              true,
	}
	// Older files leave it to the folder which draft they mean.
	implied := map[string]string{
		"draft4": `"http://json-schema.org/draft-04/schema#"`,
		"draft6": `"http://json-schema.org/draft-06/schema#"`,
		"draft7": `"http://json-schema.org/draft-07/schema#"`,
	}
	total := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatal(err)
		}
		draft := filepath.Base(filepath.Dir(file))
		for _, g := range groups {
			if g.Schema[0] != '{' {
				continue
			}
			if uri := implied[draft]; uri != "" && !bytes.Contains(g.Schema, []byte(`"$schema"`)) {
				rest := bytes.TrimSpace(g.Schema[1:])
				if rest[0] != '}' {
					uri += ","
				}
				g.Schema = append([]byte(`{"$schema":`+uri), rest...)
			}
			v, _ := newValidator(g.Schema)
			if resolved := v.resolved != nil; resolved == elsewhere[g.Description] {
				t.Errorf("%s/%s: %s: resolved %t", draft, filepath.Base(file), g.Description, resolved)
			}
			for _, tt := range g.Tests {
				total++
				if v.resolved != nil && v.valid(tt.Data) != tt.Valid {
					t.Errorf("%s/%s: %s: %s: want valid %t", draft, filepath.Base(file), g.Description, tt.Description, tt.Valid)
				}
			}
		}
	}
	if total < 500 {
		t.Errorf("only %d tests", total)
	}
}
