// Package edit changes single values of YAML text and leaves everything else in it
// as it is, byte for byte: comments, order, quotes, line ends, keys it knows nothing
// about.
//
// [Set] and [Unset] find the value by the parser's tree, and replace its bytes. What
// comes out is read again before it is given back: the value must be the one asked
// for, and all others must be what they were. Text that cannot be changed in this way
// (it does not parse, or the value hangs together with others by an anchor) gives an
// error of the form "line:column: what" and is never guessed at.
//
// Comments stay, but for two kinds: the one behind a value that is removed, and those
// on items of a list that are removed.
package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Set gives the key at path a value: a bool, an int, a float64, a string, a list of
// strings, or a mapping of names to such values. Mappings on the way are made where
// they are missing.
func Set(text []byte, path []string, value any) ([]byte, error) {
	rendered, err := render(value)
	if err != nil {
		return nil, err
	}
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	out, err := d.set(path, value, rendered)
	if err != nil {
		return nil, err
	}
	return d.proved(out, path, value)
}

// Unset removes the key at path, and mappings that are empty without it. Text without
// the key comes back as it is.
func Unset(text []byte, path []string) ([]byte, error) {
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	steps, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if len(steps) < len(path) || steps[len(steps)-1].entry == nil {
		return text, nil
	}
	out, err := d.remove(steps)
	if err != nil {
		return nil, err
	}
	return d.proved(out, path, nil)
}

// step is one mapping on the way to a key, and the entry in it that leads on.
type step struct {
	in    *ast.MappingNode
	at    int // index of entry
	entry *ast.MappingValueNode
	limit int // offset where what belongs to in ends at the latest
}

// find goes along path as far as there are mappings. The last step has no entry where
// its mapping has no such key.
func (d *document) find(path []string) ([]step, error) {
	var steps []step
	m, limit := d.root, d.end
	for i, name := range path {
		if m == nil {
			break
		}
		s := step{in: m, limit: limit, at: slices.IndexFunc(m.Values, func(v *ast.MappingValueNode) bool { return keyName(v) == name })}
		if s.at < 0 {
			return append(steps, s), nil
		}
		s.entry = m.Values[s.at]
		if steps = append(steps, s); i == len(path)-1 {
			break
		}
		switch v := s.entry.Value.(type) {
		case *ast.MappingNode:
			limit, m = d.entryLimit(s), v
		case *ast.NullNode:
			return steps, nil
		default:
			at := v.GetToken().Position
			return nil, fmt.Errorf("%d:%d: %s is written in a way that can only be changed by hand", at.Line, at.Column, name)
		}
	}
	return steps, nil
}

// entryLimit is where the text of a block entry ends at the latest: at the next one.
func (d *document) entryLimit(s step) int {
	if s.at+1 < len(s.in.Values) {
		return d.lineStart(s.in.Values[s.at+1].Key.GetToken().Position.Line)
	}
	return s.limit
}

// entryEnd is the offset behind the last line of a block entry that is no comment.
func (d *document) entryEnd(s step) int {
	return max(d.trim(d.entryLimit(s)), d.lineEnd(s.entry.Start.Position.Line))
}

func (d *document) set(path []string, value any, rendered string) ([]byte, error) {
	if d.root == nil {
		return d.insertLines(d.end, "", path, rendered), nil
	}
	steps, err := d.find(path)
	if err != nil {
		return nil, err
	}
	last := steps[len(steps)-1]
	rest := path[len(steps)-1:]
	switch {
	case last.in.IsFlowStyle:
		return d.setFlow(last, rest, rendered)
	case last.entry == nil:
		indent := strings.Repeat(" ", last.in.Values[0].Key.GetToken().Position.Column-1)
		end := step{in: last.in, at: len(last.in.Values) - 1, entry: last.in.Values[len(last.in.Values)-1], limit: last.limit}
		return d.insertLines(d.entryEnd(end), indent, rest, rendered), nil
	case len(rest) > 1: // the key is there, with nothing
		return d.fill(last, rest[1:], rendered)
	}
	if items, ok := value.([]string); ok && len(items) > 0 {
		if seq, ok := last.entry.Value.(*ast.SequenceNode); ok && !seq.IsFlowStyle {
			return d.setItems(last, seq, items, func(v ast.Node) string { return v.GetToken().Value }, scalar)
		}
	}
	return d.replace(last, rendered)
}

// replace puts another value into a block entry. A comment behind the key stays.
func (d *document) replace(s step, rendered string) ([]byte, error) {
	colon := s.entry.Start.Position
	from, end := d.offset(colon)+1, d.entryEnd(s)
	tail := ""
	if c, ok := d.comments[colon.Line]; ok && c >= from {
		blank := c - len(d.text[from:c]) + len(bytes.TrimRight(d.text[from:c], " \t"))
		tail = string(d.text[blank:d.lineStop(colon.Line)])
	}
	if d.commented(d.lineEnd(colon.Line), end) {
		return nil, fmt.Errorf("%d:%d: there are comments within this value: change it by hand", colon.Line, colon.Column)
	}
	return d.splice(from, end, " "+rendered+tail+"\n"), nil
}

// fill gives a key without a value a mapping.
func (d *document) fill(s step, rest []string, rendered string) ([]byte, error) {
	colon := s.entry.Start.Position
	stop := d.lineStop(colon.Line)
	if c, ok := d.comments[colon.Line]; ok {
		stop = c
	}
	if len(bytes.TrimSpace(d.text[d.offset(colon)+1:stop])) > 0 { // null, or ~
		return d.replace(s, flowPath(rest, rendered))
	}
	indent := strings.Repeat(" ", s.entry.Key.GetToken().Position.Column+1)
	return d.insertLines(d.lineEnd(colon.Line), indent, rest, rendered), nil
}

// insertLines writes a key that is not there yet, with the mappings on the way to it.
func (d *document) insertLines(at int, indent string, path []string, rendered string) []byte {
	var b strings.Builder
	if at > 0 && d.text[at-1] != '\n' && d.text[at-1] != '\r' {
		b.WriteString("\n")
	}
	for i, name := range path {
		b.WriteString(indent + strings.Repeat("  ", i) + scalar(name) + ":")
		switch {
		case i < len(path)-1:
		case strings.HasPrefix(rendered, "\n"): // a block, without its indentation
			b.WriteString(strings.ReplaceAll(rendered, "\n", "\n"+indent+strings.Repeat("  ", i+1)))
		default:
			b.WriteString(" " + rendered)
		}
		b.WriteString("\n")
	}
	return d.splice(at, at, b.String())
}

// remove takes the last step's entry away; what is empty then goes too, unless there
// are comments in it.
func (d *document) remove(steps []step) ([]byte, error) {
	s := steps[len(steps)-1]
	from, end := d.lineStart(s.entry.Key.GetToken().Position.Line), d.entryEnd(s)
	if len(s.in.Values) == 1 && len(steps) > 1 {
		p := steps[len(steps)-2]
		inner := d.lineEnd(p.entry.Start.Position.Line)
		if s.in.IsFlowStyle || !d.commented(inner, from) && !d.commented(end, d.entryLimit(p)) {
			return d.remove(steps[:len(steps)-1])
		}
	}
	if s.in.IsFlowStyle {
		return d.setFlow(s, nil, "")
	}
	return d.splice(from, end, ""), nil
}

// setItems writes the items of a block list. Lines of items that stay are kept, with
// the comments above and behind them.
func (d *document) setItems(s step, seq *ast.SequenceNode, items []string, named func(ast.Node) string, written func(string) string) ([]byte, error) {
	first := d.lineEnd(s.entry.Start.Position.Line)
	if len(seq.Entries) != len(seq.Values) || d.offset(seq.Entries[0].Start.Position) < first {
		return nil, fmt.Errorf("%d:%d: this list can only be changed by hand", seq.Start.Position.Line, seq.Start.Position.Column)
	}
	end := d.entryEnd(s)
	chunks := map[string][]string{}
	from := first
	for i, v := range seq.Values {
		to := end
		if i+1 < len(seq.Values) {
			to = d.trim(d.lineStart(seq.Entries[i+1].Start.Position.Line))
		}
		chunk := string(d.text[from:to])
		if !strings.HasSuffix(chunk, "\n") && !strings.HasSuffix(chunk, "\r") {
			chunk += "\n"
		}
		item := named(v)
		chunks[item] = append(chunks[item], chunk)
		from = to
	}
	indent := strings.Repeat(" ", seq.Entries[0].Start.Position.Column-1)
	var b strings.Builder
	for _, item := range items {
		if kept := chunks[item]; len(kept) > 0 {
			b.WriteString(kept[0])
			chunks[item] = kept[1:]
			continue
		}
		b.WriteString(indent + "- " + written(item) + "\n")
	}
	return d.splice(first, end, b.String()), nil
}
