package edit

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

//go:embed whole.md
var wholeDescription string

const wholeParameters = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},` +
	`"required":["path","content"],"additionalProperties":false}`

// wholeEngine writes whole files.
type wholeEngine struct{}

var _ Engine = wholeEngine{}

type wholeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func (wholeEngine) Name() string                { return "whole" }
func (wholeEngine) Description() string         { return wholeDescription }
func (wholeEngine) Parameters() json.RawMessage { return json.RawMessage(wholeParameters) }

func (wholeEngine) Paths(raw json.RawMessage) ([]string, error) {
	var args wholeArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	return []string{args.Path}, checkPath(args.Path)
}

func (wholeEngine) Apply(src Source, raw json.RawMessage) (*Result, error) {
	var args wholeArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	if args.Content == nil {
		return nil, refuse(args.Path, "no content given") // an empty file would be a guess
	}
	d, err := load(src, args.Path)
	if err != nil {
		return nil, err
	}
	if line := elision(d.path, *args.Content, d.text); line != "" {
		return nil, refuseElision(d.path, line)
	}
	var out outcome
	if d.crlf && !strings.Contains(*args.Content, "\r\n") && strings.Contains(*args.Content, "\n") {
		out.note("%s: the line endings that the file has were kept", d.path)
	}
	if err := out.change(d, d.rewrite(*args.Content), 1, "edit"); err != nil {
		return nil, err
	}
	return out.result(), nil
}

// rewrite gives the splices that make content of the document. Content with LF
// alone takes the document's line endings: lines that stay keep theirs, new ones
// take that of what they replace. Content with a CR LF in it is taken as it is.
func (d *document) rewrite(content string) []splice {
	if d.exists() && d.enc != plainUTF8 {
		content = strings.TrimPrefix(content, byteOrderMark) // the document has its own
	}
	if !d.crlf || strings.Contains(content, "\r\n") {
		return trimmed(d.text, content)
	}
	var out []splice
	old := lf(d.text)
	d.lines()
	line, offset := 0, 0
	place := func(to int) int {
		line += strings.Count(old[offset:to], "\n")
		offset = to
		if to == len(old) {
			return len(d.text)
		}
		return d.starts[line]
	}
	for _, e := range udiff.Lines(old, content) {
		start, end := place(e.Start), place(e.End)
		out = append(out, splice{start: start, end: end, text: withEnding(e.New, d.ending(start, end))})
	}
	return out
}

// trimmed is the one splice that makes fresh of old, without the whole lines that
// both begin and end with.
func trimmed(old, fresh string) []splice {
	if old == fresh {
		return nil
	}
	most := min(len(old), len(fresh))
	head := 0
	for head < most && old[head] == fresh[head] {
		head++
	}
	head = lineStart(old, head)
	tail := 0
	for tail < most-head && old[len(old)-1-tail] == fresh[len(fresh)-1-tail] {
		tail++
	}
	for tail > 0 && !beginsLine(old, len(old)-tail) {
		tail--
	}
	return []splice{{start: head, end: len(old) - tail, text: fresh[head : len(fresh)-tail]}}
}
