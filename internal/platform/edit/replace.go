package edit

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

//go:embed replace.md
var replaceDescription string

const replaceParameters = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","minItems":1,` +
	`"items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"}},` +
	`"required":["old","new"],"additionalProperties":false}}},"required":["path","edits"],"additionalProperties":false}`

// replaceEngine puts new text in the place of old text. There is one shape of
// arguments, also for a single edit: a second would have to be explained with
// every request.
type replaceEngine struct{}

var _ Engine = replaceEngine{}

type replaceArgs struct {
	Path  string        `json:"path"`
	Edits []replacement `json:"edits"`
}

type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all"`
}

func (replaceEngine) Name() string                { return "replace" }
func (replaceEngine) Description() string         { return replaceDescription }
func (replaceEngine) Parameters() json.RawMessage { return json.RawMessage(replaceParameters) }

func (replaceEngine) Paths(raw json.RawMessage) ([]string, error) {
	var args replaceArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	return []string{args.Path}, checkPath(args.Path)
}

func (replaceEngine) Apply(src Source, raw json.RawMessage) (*Result, error) {
	var args replaceArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	if len(args.Edits) == 0 {
		return nil, refuse(args.Path, "no edits given")
	}
	d, err := load(src, args.Path)
	if err != nil {
		return nil, err
	}
	r := &replacing{d: d, edits: args.Edits}
	var splices []splice
	for i, e := range args.Edits {
		r.i = i + 1
		more, err := r.locate(e)
		if err != nil {
			return nil, err
		}
		splices = append(splices, more...)
	}
	if err := r.out.change(d, splices, len(args.Edits), "edit"); err != nil {
		return nil, err
	}
	return r.out.result(), nil
}

// replacing is one call at work.
type replacing struct {
	d     *document
	edits []replacement
	i     int // the edit in hand, from 1
	out   outcome
}

func (r *replacing) refuse(format string, args ...any) *Refusal {
	return refuse(r.d.path, format, args...).number(r.i, len(r.edits))
}

// locate gives the splices of one edit.
func (r *replacing) locate(e replacement) ([]splice, error) {
	d := r.d
	switch {
	case e.Old == "" && d.text == "" && e.New != "" && len(r.edits) == 1:
		if line := elision(d.path, e.New, ""); line != "" {
			return nil, refuseElision(d.path, line)
		}
		return []splice{{text: e.New, edit: 1}}, nil
	case !d.exists():
		return nil, r.refuse("the file does not exist").
			hint("Check the path. To create the file, use one edit with an empty old.")
	case e.Old == e.New:
		return nil, r.refuse("old and new are the same")
	case d.text == "":
		return nil, r.refuse("the file is empty").hint("Use one edit with an empty old.")
	case e.Old == "":
		return nil, r.refuse("old is empty, which only creates a file, and this one is there").
			hint("Name the text to change, or text next to which to insert.")
	}
	if line := elision(d.path, e.New, e.Old); line != "" {
		return nil, refuseElision(d.path, line).number(r.i, len(r.edits))
	}
	if found := occurrences(d.text, e.Old, maxPlaces+1); len(found) > 0 {
		return r.exact(e, found)
	}
	return r.tolerant(e)
}

// exact makes an edit whose old text is in the file as it is.
func (r *replacing) exact(e replacement, found []match) ([]splice, error) {
	d := r.d
	if len(found) > 1 && !e.All {
		return nil, r.severalPlaces(found)
	}
	if e.All {
		found = apart(d.text, e.Old)
	}
	// An edit that speaks of line endings is taken at its word.
	ending := found[0].end
	literal := strings.Contains(e.Old, "\r\n") ||
		strings.HasSuffix(e.Old, "\r") && ending < len(d.text) && d.text[ending] == '\n'
	if !literal && strings.Contains(e.New, "\r\n") {
		r.out.note("%s: line endings of the new text were made those of the file", d.path)
	}
	out := make([]splice, 0, len(found))
	old, fresh := lf(e.Old), lf(e.New)
	for _, m := range found {
		s := splice{start: m.start, end: m.end, text: e.New, edit: r.i}
		start, text, err := r.indented(m, old, fresh)
		switch {
		case err != nil:
			return nil, err
		case literal && withEnding(fresh, "\r\n") == e.New:
			s.start, s.text = start, withEnding(text, "\r\n")
		case !literal:
			if s.start = start; s.start > 0 && d.text[s.start] == '\n' && d.text[s.start-1] == '\r' {
				s.start-- // the line ending is one
			}
			s.text = withEnding(text, d.ending(s.start, s.end))
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *replacing) severalPlaces(found []match) *Refusal {
	lines := make([]int, len(found))
	for i, m := range found {
		lines[i] = r.d.lineAt(m.start)
	}
	return r.d.ambiguous("old", lines).number(r.i, len(r.edits)).
		hint("Add lines before or after it that only the right place has, or set all to change every place.")
}

// tolerant makes an edit whose old text is in the file with differences that do
// not matter.
func (r *replacing) tolerant(e replacement) ([]splice, error) {
	d, old, fresh := r.d, lf(e.Old), lf(e.New)
	tolerances := []tolerance{otherEndings}
	if strings.TrimSpace(old) != "" {
		tolerances = append(tolerances, otherEndings|otherTrailing, otherEndings|otherTrailing|otherTypography)
	}
	for _, t := range tolerances {
		everywhere := e.All && t == otherEndings // nothing but the ending differs
		found, err := d.find(old, t, everywhere)
		switch {
		case err != nil:
			return nil, r.refuse("%v", err)
		case len(found) == 0:
			continue
		case len(found) > 1 && !everywhere:
			return nil, r.severalPlaces(found)
		}
		var out []splice
		for _, m := range found {
			start, text, err := r.indented(m, old, fresh)
			if err != nil {
				return nil, err
			}
			more := d.carry(m, t, old, text, r.i)
			if len(more) > 0 && more[0].start == m.start {
				more[0].start = start
			}
			out = append(out, more...)
		}
		r.tolerated(d.lineAt(found[0].start), t)
		return out, nil
	}
	if len(tolerances) > 1 {
		if out, err := r.reindent(old, fresh); out != nil || err != nil {
			return out, err
		}
	}
	return nil, r.notFound(old)
}

func (r *replacing) tolerated(line int, t tolerance) {
	number := r.i
	if len(r.edits) == 1 {
		number = 0
	}
	r.out.tolerated(toleratedNote(r.d.path, "edit", number, line, t), t)
}

// carry makes a match that is not exact. Lines that old and fresh have in common
// are left as the file has them.
func (d *document) carry(m match, t tolerance, old, fresh string, edit int) []splice {
	if m.atEnd && strings.HasSuffix(fresh, "\n") {
		old, fresh = old[:len(old)-1], fresh[:len(fresh)-1] // the file goes on ending without newline
	}
	// Where both end within a line, these last lines are compared as whole lines.
	within := fresh != "" && !strings.HasSuffix(old, "\n") && !strings.HasSuffix(fresh, "\n")
	if within {
		old, fresh = old+"\n", fresh+"\n"
	}
	eol := d.ending(m.start, m.end)
	line, offset := 0, 0
	place := func(to int) int {
		line += strings.Count(old[offset:to], "\n")
		offset = to
		if to == len(old) {
			return m.end
		}
		return m.marks[line]
	}
	var out []splice
	for _, e := range udiff.Lines(old, fresh) {
		s := splice{start: place(e.Start), edit: edit, text: e.New}
		s.end = place(e.End)
		if within && e.End == len(old) {
			s.text = strings.TrimSuffix(s.text, "\n")
			switch {
			case e.Start == len(old):
				s.text = "\n" + s.text
			case e.New == "": // the line before is the last one now, without its ending
				kept, _ := cutEnding(d.text[:s.start])
				s.start = len(kept)
				if end := blankEnd(d.text, s.end, t); end == len(d.text) || breakAt(d.text, end) > 0 {
					s.end = end
				}
			}
		}
		s.text = withEnding(s.text, eol)
		out = append(out, s)
	}
	return out
}

// reindent makes an edit of whole lines that the file has with other indentation.
// It gives nothing if there are no such lines.
func (r *replacing) reindent(old, fresh string) ([]splice, error) {
	d := r.d
	want, lines := strings.Split(old, "\n"), strings.Split(fresh, "\n")
	if strings.HasSuffix(old, "\n") {
		if fresh != "" && !strings.HasSuffix(fresh, "\n") {
			return nil, nil // what follows would be joined to the last line
		}
		want, lines = want[:len(want)-1], lines[:len(lines)-1]
	}
	for _, t := range blockTolerances[3:] {
		found, err := d.blocks(want, t)
		switch {
		case err != nil:
			return nil, r.refuse("%v", err)
		case len(found) == 0:
			continue
		case len(found) > 1:
			at := make([]int, len(found))
			for i, b := range found {
				at[i] = b.at + 1
			}
			return nil, d.ambiguous("old, with other indentation,", at).number(r.i, len(r.edits)).
				hint("Copy the indentation, and add lines that only the right place has.")
		}
		b := found[0]
		edits := lineDiff(b.at, want, lines, r.i)
		if bad, ok := b.indent.lines(d, edits); !ok {
			return nil, d.nearest(r.refuse("old fits line %d with other indentation, and it is not clear how to indent %q",
				b.at+1, clip(bad, 120)), want)
		}
		r.tolerated(b.at+1, t)
		return d.splices(edits, len(r.edits), "edit")
	}
	return nil, nil
}

func (r *replacing) notFound(old string) *Refusal {
	for i, e := range r.edits[:r.i-1] {
		if strings.Contains(e.New, old) && !strings.Contains(e.Old, old) {
			return r.refuse("old is only in the new text of edit %d, and all edits refer to the file as it is", i+1).
				hint("Make one edit of the two.")
		}
	}
	n := r.d.nearest(r.refuse("old is not in the file"), strings.Split(old, "\n"))
	if n.Line == 0 {
		return n.hint("Nothing in the file is like it: read the file, and check the path.")
	}
	return n
}
