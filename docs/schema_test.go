package docs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/internal/customize/config"
)

var update = flag.Bool("update", false, "rewrite generated files")

// config.schema.json is what burin config schema prints, takes the settings of all pages, and
// refuses what burin refuses.
func TestConfigSchema(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	const file = "config.schema.json"
	if *update {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, file) != string(text) {
		t.Errorf("%s is out of date: go test ./docs -run TestConfigSchema -update", file)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	checked, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v) // in the types of JSON
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return checked.Validate(v)
	}
	for _, text := range settingExamples(t) {
		if err := valid(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, text := range []string{"theme: nord\n", "ask: {notify: on}\n", "limits: {turn: 0.5}\n", "disabledProviders: [{path: ~/w, models: x}]\n"} {
		if err := valid(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, text := range []string{
		"approvall: plan\n", "approval: maybe\n", "edit: {mood: x}\n", "display: {tabWidth: 99}\n", "display: {tabWidth: 1.5}\n",
		"cycleOrder: a\n", "statusLine: {leftSegments: [mood]}\n", "modelRoles: [a]\n", "oauth: {acme: {clientID: x}}\n",
	} {
		if valid(text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if _, err := config.Load(write(t, "config.yml", text)); err == nil {
			t.Errorf("burin takes %s", text)
		}
	}
	for _, s := range config.Settings() {
		if sub := schema.Properties[s.Key]; sub != nil && (sub.Description == "" || sub.Title != s.Label) {
			t.Errorf("%s isn't described", s.Key)
		}
	}
}
