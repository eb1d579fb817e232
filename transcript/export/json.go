package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Format and version of what [JSON] writes. Fields may be added within a version;
// none changes its meaning or goes away.
const (
	jsonFormat  = "burin.session"
	jsonVersion = 1
)

// frame is all of the JSON but the entries, which follow its last field.
type frame struct {
	Format    string            `json:"format"`
	Version   int               `json:"formatVersion"`
	Generated string            `json:"generated,omitempty"`
	Burin     string            `json:"burinVersion,omitempty"`
	Header    transcript.Header `json:"header"`
	Title     string            `json:"title,omitempty"`
	Leaf      *string           `json:"leaf"`
	Branch    []string          `json:"branch"`
	Labels    map[string]string `json:"labels,omitempty"`
	System    string            `json:"system,omitempty"`
	Tools     []toolJSON        `json:"tools,omitempty"`
	Totals    Totals            `json:"totals"`
	Active    Totals            `json:"branchTotals"`
}

type toolJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// JSON writes the session as one JSON object for other programs:
//
//	format, formatVersion   "burin.session", 1
//	generated               when, RFC 3339 in UTC; absent if not given
//	burinVersion            absent if not given
//	header                  the session's header
//	title                   the session's name; absent if it has none
//	leaf                    id of the last entry of the active branch; null if there are no entries
//	branch                  ids of the active branch, root first
//	labels                  the labels in force, by entry id
//	system, tools           what the model gets beside the messages; name, description, parameters
//	totals, branchTotals    see [Totals], for all branches and for the active one
//	entries                 all entries in the order of the file, one a line, each exactly as it
//	                        is stored, unknown fields included
//
// An entry whose record is not known or is not JSON is written from its fields.
func JSON(w io.Writer, p Page) error {
	t, err := newTree(&p)
	if err != nil {
		return err
	}
	f := frame{
		Format: jsonFormat, Version: jsonVersion, Burin: p.Version, Header: p.Header, Title: t.title,
		Branch: make([]string, 0, len(t.path)), Labels: map[string]string{}, System: p.System, Totals: t.all, Active: t.active,
	}
	if !p.Generated.IsZero() {
		f.Generated = p.Generated.UTC().Format(time.RFC3339)
	}
	for _, i := range t.path {
		f.Branch = append(f.Branch, t.nodes[i].entry.ID)
		f.Leaf = &t.nodes[i].entry.ID
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.label != "" {
			f.Labels[n.entry.ID] = n.label
		}
	}
	for _, tool := range p.Tools {
		f.Tools = append(f.Tools, toolOf(tool))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("export session %s: %w", p.Header.ID, err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n}\n"))) //nolint:errcheck // sticks to the writer
	out.WriteString(",\n  \"entries\": [")                  //nolint:errcheck // as above
	for i := range p.Entries {
		raw := rawOf(&p.Entries[i])
		if raw == nil {
			return fmt.Errorf("export session %s: entry %s cannot be written as JSON", p.Header.ID, p.Entries[i].ID)
		}
		if i > 0 {
			out.WriteByte(',') //nolint:errcheck // as above
		}
		out.WriteString("\n    ") //nolint:errcheck // as above
		out.Write(raw)            //nolint:errcheck // as above
	}
	out.WriteString("\n  ]\n}\n") //nolint:errcheck // as above
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export session %s: %w", p.Header.ID, err)
	}
	return nil
}

func toolOf(tool llm.Tool) toolJSON {
	j := toolJSON{Name: tool.Name, Description: tool.Description}
	if json.Valid(tool.Schema) {
		j.Parameters = tool.Schema
	}
	return j
}
