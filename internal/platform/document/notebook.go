package document

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cellHeader is the line above each cell of a notebook's text.
var cellHeader = regexp.MustCompile(`^# %% \[(code|markdown|raw)\](?: cell:(\d+))?[ \t]*$`)

// NotebookText gives a notebook as editable text: cells headed by
// "# %% [type] cell:N", N from 0. Outputs are left out. A line of a cell that
// looks like such a header gets a backslash in front, which [NotebookApply] takes
// away.
func NotebookText(data []byte) (string, error) {
	nb, err := parseNotebook(data)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, c := range nb.cells {
		fmt.Fprintf(&b, "# %%%% [%s] cell:%d\n", c.kind, i)
		for line := range strings.SplitSeq(c.source, "\n") {
			if isHeader(strings.TrimLeft(line, `\`)) {
				b.WriteByte('\\')
			}
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

func isHeader(line string) bool { return cellHeader.MatchString(strings.TrimSuffix(line, "\r")) }

// NotebookApply makes the notebook hold what text, as [NotebookText] gave it and
// someone edited it, says. A cell is known by the number in its header, wherever
// it stands now; it keeps its metadata, and its outputs unless its type changed.
// A header without a number is a new cell; a number that is missing removes the
// cell. Text that changes nothing gives data itself.
func NotebookApply(data []byte, text string) ([]byte, error) {
	nb, err := parseNotebook(data)
	if err != nil {
		return nil, err
	}
	edits, err := parseCells(text, len(nb.cells))
	if err != nil {
		return nil, err
	}
	cells := make([]cell, 0, len(edits))
	changed := len(edits) != len(nb.cells)
	for i, e := range edits {
		c := newCell(e.kind, nb)
		if e.number >= 0 {
			c = nb.cells[e.number]
		}
		changed = changed || e.number != i || c.kind != e.kind || c.source != e.source
		if err := c.set(e.kind, e.source); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	if !changed {
		return data, nil
	}
	return nb.encode(cells)
}

// edited is a cell of the text.
type edited struct {
	kind   string
	number int // -1: new
	source string
}

func parseCells(text string, known int) ([]edited, error) {
	var cells []edited
	var lines []string
	seen := map[int]bool{}
	flush := func() {
		if len(cells) > 0 {
			cells[len(cells)-1].source = strings.Join(lines, "\n")
		}
		lines = lines[:0]
	}
	text = strings.TrimSuffix(text, "\n") // the end of the last line, not a line of its own
	for line := range strings.SplitSeq(text, "\n") {
		m := cellHeader.FindStringSubmatch(strings.TrimSuffix(line, "\r"))
		if m == nil {
			if len(cells) == 0 && strings.TrimSpace(line) != "" {
				return nil, fmt.Errorf(`notebook text must begin with a header such as "# %%%% [code] cell:0", not with %q`, line)
			}
			if rest, ok := strings.CutPrefix(line, `\`); ok && isHeader(strings.TrimLeft(rest, `\`)) {
				line = rest
			}
			lines = append(lines, line)
			continue
		}
		flush()
		e := edited{kind: m[1], number: -1}
		if m[2] != "" {
			n, err := strconv.Atoi(m[2])
			switch {
			case err != nil || n >= known:
				return nil, fmt.Errorf("the notebook has no cell %s (it has %d, from 0); a new cell has a header without a number", m[2], known)
			case seen[n]:
				return nil, fmt.Errorf("cell %d appears twice; a new cell has a header without a number", n)
			}
			e.number, seen[n] = n, true
		}
		cells = append(cells, e)
	}
	flush()
	return cells, nil
}

// field is a member of a JSON object, whose order is kept.
type field struct {
	key   string
	value json.RawMessage
}

type notebook struct {
	fields []field // "cells" among them, as it was
	cells  []cell
	indent string
	ids    bool // cells have ids
	end    string
}

type cell struct {
	fields []field
	kind   string
	source string
}

func parseNotebook(data []byte) (*notebook, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	nb := &notebook{indent: indentOf(data)}
	if bytes.HasSuffix(data, []byte("\n")) {
		nb.end = "\n"
	}
	var err error
	if nb.fields, err = parseObject(data); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	var major, minor int
	var cells json.RawMessage
	for _, f := range nb.fields {
		switch f.key {
		case "cells":
			cells = f.value
		case "nbformat":
			err = json.Unmarshal(f.value, &major)
		case "nbformat_minor":
			err = json.Unmarshal(f.value, &minor)
		}
		if err != nil {
			return nil, fmt.Errorf("notebook: %s: %w", f.key, err)
		}
	}
	if major == 3 && cells == nil {
		return nil, errors.New("notebook of format 3: convert it with jupyter nbconvert --to notebook first")
	}
	nb.ids = major == 4 && minor >= 5
	return nb, nb.parseCells(cells)
}

// maxCells is the most cells of a notebook. Each costs far more than its bytes, and
// nobody reads as many.
const maxCells = 20_000

// parseCells reads the list of cells, one after the other: the number of those that
// would be too many costs nothing.
func (nb *notebook) parseCells(list json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(list))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return errors.New("notebook has no list of cells")
	}
	for i := 0; dec.More(); i++ {
		if i == maxCells {
			return fmt.Errorf("notebook has more than %d cells", maxCells)
		}
		var raw json.RawMessage
		err := dec.Decode(&raw)
		var c cell
		if err == nil {
			c, err = parseCell(raw)
		}
		if err != nil {
			return fmt.Errorf("notebook cell %d: %w", i, err)
		}
		nb.cells = append(nb.cells, c)
	}
	return nil
}

func parseCell(raw json.RawMessage) (cell, error) {
	fields, err := parseObject(raw)
	if err != nil {
		return cell{}, err
	}
	c := cell{fields: fields}
	var source json.RawMessage
	for _, f := range fields {
		switch f.key {
		case "cell_type":
			if err := json.Unmarshal(f.value, &c.kind); err != nil {
				return cell{}, fmt.Errorf("cell_type: %w", err)
			}
		case "source":
			source = f.value
		}
	}
	if c.kind != "code" && c.kind != "markdown" && c.kind != "raw" {
		return cell{}, fmt.Errorf("unknown type %q", c.kind)
	}
	var lines []string
	if json.Unmarshal(source, &lines) == nil {
		c.source = strings.Join(lines, "")
		return c, nil
	}
	if err := json.Unmarshal(source, &c.source); err != nil {
		return cell{}, errors.New("source is neither text nor a list of lines")
	}
	return c, nil
}

func newCell(kind string, nb *notebook) cell {
	c := cell{kind: kind}
	c.put("cell_type", kind)
	if nb.ids {
		var id [4]byte
		_, _ = rand.Read(id[:]) // never fails
		c.put("id", hex.EncodeToString(id[:]))
	}
	c.put("metadata", struct{}{})
	c.outputs()
	c.put("source", []string{})
	return c
}

// set gives the cell its type and source.
func (c *cell) set(kind, source string) error {
	if kind != c.kind {
		c.fields = slices.Clone(c.fields)
		c.kind = kind
		c.put("cell_type", kind)
		c.outputs()
	}
	if source == c.source {
		return nil
	}
	c.fields = slices.Clone(c.fields)
	c.source = source
	if i := c.at("source"); i >= 0 && bytes.HasPrefix(bytes.TrimSpace(c.fields[i].value), []byte(`"`)) {
		c.put("source", source) // it was one text before
		return nil
	}
	lines := strings.SplitAfter(source, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	c.put("source", lines)
	return nil
}

// outputs adds or removes what only code cells have.
func (c *cell) outputs() {
	if c.kind == "code" {
		if c.at("execution_count") < 0 {
			c.put("execution_count", nil)
		}
		if c.at("outputs") < 0 {
			c.put("outputs", []string{})
		}
		return
	}
	c.fields = slices.DeleteFunc(c.fields, func(f field) bool { return f.key == "execution_count" || f.key == "outputs" })
}

func (c *cell) at(key string) int {
	return slices.IndexFunc(c.fields, func(f field) bool { return f.key == key })
}

func (c *cell) put(key string, v any) {
	raw := marshal(v)
	if i := c.at(key); i >= 0 {
		c.fields[i].value = raw
		return
	}
	c.fields = append(c.fields, field{key, raw})
}

// encode writes the notebook with these cells, indented as it was.
func (nb *notebook) encode(cells []cell) ([]byte, error) {
	var list bytes.Buffer
	list.WriteByte('[')
	for i, c := range cells {
		if i > 0 {
			list.WriteByte(',')
		}
		writeObject(&list, c.fields)
	}
	list.WriteByte(']')
	fields := slices.Clone(nb.fields)
	for i := range fields {
		if fields[i].key == "cells" {
			fields[i].value = list.Bytes()
		}
	}
	var flat, out bytes.Buffer
	writeObject(&flat, fields)
	if nb.indent == "" {
		return append(flat.Bytes(), nb.end...), nil
	}
	if err := json.Indent(&out, flat.Bytes(), "", nb.indent); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	out.WriteString(nb.end)
	return out.Bytes(), nil
}

func writeObject(b *bytes.Buffer, fields []field) {
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(f.key))
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
}

// parseObject reads a JSON object and keeps the order of its members. Of a member
// that appears twice the last counts.
func parseObject(data []byte) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var fields []field
	index := map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		if i, ok := index[key]; ok {
			fields[i].value = raw
			continue
		}
		index[key] = len(fields)
		fields = append(fields, field{key, raw})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	return fields, nil
}

// marshal gives JSON as Jupyter writes it, with "<" and "&" as they are.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, lists of texts and nil always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// indentOf is the white space in front of the first member: what the file is
// indented with. Jupyter uses one space. A file of one line has none.
func indentOf(data []byte) string {
	_, rest, ok := bytes.Cut(data, []byte("{"))
	if !ok {
		return " "
	}
	rest = bytes.TrimPrefix(rest, []byte("\r"))
	if !bytes.HasPrefix(rest, []byte("\n")) {
		return ""
	}
	rest = rest[1:]
	return string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
}
