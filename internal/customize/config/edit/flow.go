package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// setFlow writes the mapping in braces of s anew: with the value for the first name of
// path, or, where path is empty, without the entry of s. Other entries stay as they
// are written.
func (d *document) setFlow(s step, path []string, rendered string) ([]byte, error) {
	m := s.in
	from, to := d.offset(m.Start.Position), 0
	if m.End != nil {
		to = d.offset(m.End.Position)
	}
	if to <= from || d.commented(from, to) {
		return nil, fmt.Errorf("%d:%d: there are comments within these braces: change it by hand", m.Start.Position.Line, m.Start.Position.Column)
	}
	pieces := make([]string, 0, len(m.Values)+1)
	for i, v := range m.Values {
		end := to
		if i+1 < len(m.Values) {
			end = d.offset(m.Values[i+1].Key.GetToken().Position)
		}
		piece := bytes.TrimSpace(d.text[d.offset(v.Key.GetToken().Position):end])
		piece = bytes.TrimSpace(bytes.TrimSuffix(piece, []byte(",")))
		switch {
		case i != s.at || s.entry == nil:
			pieces = append(pieces, string(piece))
		case len(path) > 0:
			pieces = append(pieces, flowEntry(path, rendered))
		}
	}
	if s.entry == nil {
		pieces = append(pieces, flowEntry(path, rendered))
	}
	return d.splice(from, to+1, "{"+strings.Join(pieces, ", ")+"}"), nil
}

func flowEntry(path []string, rendered string) string {
	if len(path) > 1 {
		rendered = flowPath(path[1:], rendered)
	}
	return scalar(path[0]) + ": " + rendered
}

func flowPath(path []string, rendered string) string { return "{" + flowEntry(path, rendered) + "}" }
