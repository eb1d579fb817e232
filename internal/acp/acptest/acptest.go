// Package acptest checks messages of the Agent Client Protocol against the published schema
// of version 1, its unstable parts included.
//
// The schema is schema/v1/schema.unstable.json of the npm package @agentclientprotocol/sdk
// 2.4.0, Apache License 2.0, Copyright Zed Industries. It is compressed and else unchanged.
package acptest

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed testdata/schema.unstable.json.gz
var schema []byte

// Methods are the methods of one side, "agent" or "client", by name, with whether the
// schema of them is that of a notification.
func Methods(t testing.TB, side string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name, d := range load(t).defs {
		if d.Side == side && !strings.HasSuffix(name, "Response") {
			all[d.Method] = strings.HasSuffix(name, "Notification")
		}
	}
	return all
}

type definition struct {
	Side   string `json:"x-side"`
	Method string `json:"x-method"`
}

type document struct {
	raw  map[string]json.RawMessage // $defs
	defs map[string]definition
}

func load(t testing.TB) *document {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	d := &document{raw: root.Defs, defs: map[string]definition{}}
	for name, raw := range root.Defs {
		var one definition
		if json.Unmarshal(raw, &one) == nil && one.Method != "" {
			d.defs[name] = one
		}
	}
	return d
}

// needed are the definitions that one refers to: to read all of them for each takes seconds.
func (d *document) needed(name string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for open := []string{name}; len(open) > 0; {
		name, open = open[0], open[1:]
		if all[name] != nil {
			continue
		}
		all[name] = d.raw[name]
		for _, ref := range strings.Split(string(d.raw[name]), `"#/$defs/`)[1:] {
			to, _, _ := strings.Cut(ref, `"`)
			open = append(open, to)
		}
	}
	return all
}

// Checker checks the messages of a connection, in both directions, when the test ends: to
// read the schema takes longer than some tests allow. It is safe for concurrent use.
type Checker struct {
	t   testing.TB
	doc *document

	mu       sync.Mutex
	lines    []line
	resolved map[string]*jsonschema.Resolved
	asked    map[string]string // methods of requests, by direction and id
}

// line is what a side wrote.
type line struct {
	from string
	text []byte
}

// New makes a checker that reports to t.
func New(t testing.TB) *Checker {
	t.Helper()
	c := &Checker{t: t, doc: load(t), resolved: map[string]*jsonschema.Resolved{}, asked: map[string]string{}}
	t.Cleanup(c.check)
	return c
}

// check checks all lines.
func (c *Checker) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lines) == 0 {
		c.t.Error("nothing was said that could be checked")
	}
	for _, l := range c.lines {
		if err := c.one(l); err != nil {
			c.t.Errorf("the %s wrote what the schema does not allow: %v\n%.2000s", l.from, err, l.text)
		}
	}
}

type message struct {
	Version string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id"`
	Method  string           `json:"method"`
	Params  json.RawMessage  `json:"params"`
	Result  json.RawMessage  `json:"result"`
	Error   json.RawMessage  `json:"error"`
}

// Line takes one line that a side wrote: "agent" or "client".
func (c *Checker) Line(from string, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line{from, bytes.Clone(text)})
}

func (c *Checker) one(l line) error {
	var m message
	if err := json.Unmarshal(l.text, &m); err != nil {
		return err
	}
	from := l.from
	to := map[string]string{"agent": "client", "client": "agent"}[from]
	switch {
	case m.Version != "2.0":
		return fmt.Errorf("jsonrpc is %q", m.Version)
	case m.Method != "" && m.ID != nil:
		c.asked[from+string(*m.ID)] = m.Method
		return c.params(to, m.Method, "Request", m.Params)
	case m.Method != "":
		return c.params(to, m.Method, "Notification", m.Params)
	case m.ID == nil:
		return fmt.Errorf("an answer without an id")
	case m.Error != nil:
		return c.against("Error", m.Error)
	case m.Result == nil:
		return fmt.Errorf("an answer without a result")
	}
	method := c.asked[to+string(*m.ID)]
	if method == "" {
		return nil // the question was not to be checked
	}
	return c.params(from, method, "Response", m.Result)
}

// params checks what the side that has a method gets or gives.
func (c *Checker) params(side, method, suffix string, value json.RawMessage) error {
	if strings.HasPrefix(method, "_") {
		return nil // an extension
	}
	for name, d := range c.doc.defs {
		if d.Method == method && (d.Side == side || d.Side == "protocol") && strings.HasSuffix(name, suffix) {
			return c.against(name, value)
		}
	}
	if method == "session/set_model" { // of earlier drafts
		return nil
	}
	return fmt.Errorf("%s has no method %q with a %s", side, method, suffix)
}

func (c *Checker) against(name string, value json.RawMessage) error {
	r := c.resolved[name]
	if r == nil {
		text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/" + name, "$defs": c.doc.needed(name)})
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if r, err = s.Resolve(nil); err != nil {
			return err
		}
		c.resolved[name] = r
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return r.Validate(v)
}
