package edit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// document is text and what the parser found in it. Columns of the parser count
// characters. It counts lines wrongly where comments end with \r\n, so that it gets
// them without the \r; places in raw are found by splice.
type document struct {
	raw      []byte
	text     []byte           // raw with \n as line ends
	returns  []int            // offsets in text of those that are \r\n in raw
	root     *ast.MappingNode // nil: nothing is written yet
	lines    []int            // offsets where lines begin
	end      int              // of what can be written in
	comments map[int]int      // offset of the comment in a line
}

var (
	errShape  = errors.New("1:1: the file is not a mapping of settings")
	errProof  = errors.New("1:1: the file is written in a way that cannot be changed without touching other values: change it by hand")
	bom       = []byte("\ufeff")
	whatParse = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[(\d+):(\d+)\] `) })
)

func parse(text []byte) (*document, error) {
	if bytes.HasPrefix(text, bom) || !utf8.Valid(text) {
		return nil, errors.New("1:1: the file is not plain UTF-8")
	}
	raw := text
	text = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	if err := smallfile.CheckNesting(text); err != nil {
		return nil, err
	}
	f, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(whatParse().ReplaceAllString(first, "$1:$2: "))
	}
	d := &document{raw: raw, text: text, lines: []int{0}, comments: map[int]int{}, end: len(text)}
	for i, c := range text {
		if c == '\n' || c == '\r' {
			d.lines = append(d.lines, i+1)
		}
		if c == '\n' && raw[i+len(d.returns)] == '\r' {
			d.returns = append(d.returns, i)
		}
	}
	for _, t := range lexer.Tokenize(string(text)) {
		switch t.Type {
		case token.CommentType:
			d.comments[t.Position.Line] = d.offset(t.Position)
		case token.DocumentEndType:
			d.end = min(d.end, d.lineStart(t.Position.Line))
		}
	}
	var bodies []ast.Node
	for _, doc := range f.Docs {
		switch doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		default:
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return d, nil
	}
	root, ok := bodies[0].(*ast.MappingNode)
	if !ok || len(bodies) > 1 || len(f.Docs) > 1 {
		return nil, errShape
	}
	if len(root.Values) > 0 || root.IsFlowStyle {
		d.root = root
	}
	return d, nil
}

func keyName(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.GetToken().Value
}

func (d *document) lineStart(line int) int {
	if line-1 < len(d.lines) {
		return d.lines[max(line-1, 0)]
	}
	return len(d.text)
}

// lineEnd is behind a line's end, lineStop before it.
func (d *document) lineEnd(line int) int { return d.lineStart(line + 1) }

func (d *document) lineStop(line int) int {
	from := d.lineStart(line)
	return from + len(bytes.TrimRight(d.text[from:d.lineEnd(line)], "\r\n"))
}

func (d *document) offset(p *token.Position) int {
	at := d.lineStart(p.Line)
	for range p.Column - 1 {
		_, n := utf8.DecodeRune(d.text[at:]) // 0 behind the end
		at += n
	}
	return at
}

// trim goes back from the beginning of a line over lines that are empty or hold
// nothing but a comment.
func (d *document) trim(at int) int {
	line, _ := slices.BinarySearch(d.lines, at) // lines before at
	if line == len(d.lines) && at == len(d.text) || line < len(d.lines) && d.lines[line] == at {
		for ; line > 0; line-- {
			stop := d.lineStop(line)
			if c, ok := d.comments[line]; ok {
				stop = c
			}
			if len(bytes.TrimSpace(d.text[d.lineStart(line):stop])) > 0 {
				break
			}
			at = d.lineStart(line)
		}
	}
	return at
}

// commented says whether a comment begins in a part of the text.
func (d *document) commented(from, to int) bool {
	for _, at := range d.comments {
		if from <= at && at < to {
			return true
		}
	}
	return false
}

// splice is raw with another part, whose lines end as most of the others do.
func (d *document) splice(from, to int, with string) []byte {
	if len(d.returns) > 0 {
		with = strings.ReplaceAll(with, "\n", "\r\n")
	}
	place := func(at int) int {
		n, _ := slices.BinarySearch(d.returns, at)
		return at + n
	}
	out := make([]byte, 0, len(d.raw)+len(with))
	return append(append(append(out, d.raw[:place(from)]...), with...), d.raw[place(to):]...)
}

// proved gives out if it says what d said but for the value at path; nil is none.
func (d *document) proved(out []byte, path []string, value any) ([]byte, error) {
	before, err := decode(d.raw)
	if err != nil {
		return nil, err
	}
	after, err := decode(out)
	if err != nil {
		return nil, errProof
	}
	if value != nil {
		rendered, err := render(value)
		if err != nil {
			return nil, err
		}
		var same map[string]any
		if err := yaml.Unmarshal([]byte("v: "+rendered), &same); err != nil || !reflect.DeepEqual(plain(same["v"]), plain(value)) {
			return nil, fmt.Errorf("%v cannot be written as a setting", value)
		}
		value = same["v"]
	}
	put(before, path, value)
	if !reflect.DeepEqual(bare(before), bare(after)) {
		return nil, errProof
	}
	return out, nil
}

func decode(text []byte) (map[string]any, error) {
	m := map[string]any{}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if len(bytes.TrimSpace(text)) == 0 {
		return m, nil
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(whatParse().ReplaceAllString(first, "$1:$2: "))
	}
	if m == nil {
		m = map[string]any{}
	}
	return m, nil
}

func put(m map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, _ := m[name].(map[string]any)
		inner = maps.Clone(inner) // an alias may be the same mapping
		if inner == nil {
			inner = map[string]any{}
		}
		m[name], m = inner, inner
	}
	m[path[len(path)-1]] = value
}

// bare is v without keys that have nothing: those may come and go.
func bare(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, v := range m {
		if v = bare(v); v != nil {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
