package catalog

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm/openai"
)

// position is a place in the file, counted from one.
type position struct{ line, column int }

func positionOf(n ast.Node) position {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{1, 1}
	}
	p := n.GetToken().Position
	return position{p.Line, p.Column}
}

// decoder fills Go values from a YAML tree. Unlike the library's own decoding
// it goes on after a mistake, says for each where it stands and what was
// meant, and takes nothing it does not know.
type decoder struct {
	file     string
	problems []Problem
	anchors  map[string]ast.Node
	visits   int // bounds what aliases can blow up
}

// Bounds of a file: nodes looked at, and how deep they may nest.
const (
	maxVisits = 200_000
	maxDepth  = 64
)

// Problem is one mistake in a configuration file.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// Error is "/home/ada/.burin/models.yml:12:5: what is wrong".
func (p Problem) Error() string {
	// A message may quote a name that runs over lines.
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, prose.Line(p.Message))
}

// ConfigError says all that is wrong with a configuration file.
type ConfigError struct{ Problems []Problem }

// Error is the first problem, in one line, how many more there are, and what to do.
func (e *ConfigError) Error() string {
	const do = "; correct it, or rename the file to go on without it"
	first := e.Problems[0].Error()
	if more := len(e.Problems) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)%s", first, more, do)
	}
	return first + do
}

func (d *decoder) problem(at position, format string, args ...any) {
	d.problems = append(d.problems, Problem{d.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

// err is nil if all went well.
func (d *decoder) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return &ConfigError{d.problems}
}

// parse reads the text into a tree and gives its root; nil for an empty file or
// after a syntax error, which is recorded.
func (d *decoder) parse(text []byte) (root ast.Node) {
	// The parser has panicked on hostile input before; a file must not be able
	// to keep the program from starting.
	defer func() {
		if p := recover(); p != nil {
			d.problem(position{1, 1}, "the file cannot be read as YAML")
			root = nil
		}
	}()
	if err := smallfile.CheckNesting(text); err != nil {
		d.problem(position{1, 1}, "%v", err)
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		d.syntax(err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			d.problem(positionOf(doc.Body), "a second document: the file may hold only one")
			return nil
		}
		root = doc.Body
	}
	d.anchors = map[string]ast.Node{}
	if root != nil {
		ast.Walk(anchorCollector(d.anchors), root)
	}
	return root
}

func (d *decoder) syntax(err error) {
	at, message := position{1, 1}, err.Error()
	var y yaml.Error
	if errors.As(err, &y) {
		message = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			at = position{t.Position.Line, t.Position.Column}
		}
	}
	d.problem(at, "%s", prose.Line(message))
}

type anchorCollector map[string]ast.Node

func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

// value follows anchors, aliases and tags to the node they stand for.
func (d *decoder) value(n ast.Node) ast.Node {
	for range maxDepth {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.TagNode:
			n = x.Value
		case *ast.AliasNode:
			target, ok := d.anchors[x.Value.GetToken().Value]
			if !ok {
				d.problem(positionOf(n), "the alias *%s names no anchor", x.Value.GetToken().Value)
				return nil
			}
			n = target
		default:
			return n
		}
	}
	return nil
}

// pair is a key and its value in a mapping.
type pair struct {
	key   string
	at    position
	value ast.Node
}

// pairs lists a mapping in order, with "<<" merged in; keys written out win.
// ok is false if n is no mapping, which is recorded.
func (d *decoder) pairs(n ast.Node, where string, depth int) (list []pair, ok bool) {
	var values []*ast.MappingValueNode
	switch x := d.value(n).(type) {
	case *ast.MappingNode:
		values = x.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{x}
	case *ast.NullNode, nil:
		return nil, true
	default:
		d.problem(positionOf(n), "%s must be a mapping, not %s", where, kindOf(x))
		return nil, false
	}
	var merged []pair
	for _, v := range values {
		if d.visits++; d.visits > maxVisits || depth > maxDepth {
			d.problem(positionOf(v), "the file is too large or nests too deep")
			return nil, false
		}
		if v.Key.IsMergeKey() {
			more, fine := d.pairs(v.Value, "what is merged into "+where, depth+1)
			if !fine {
				return nil, false
			}
			merged = append(merged, more...)
			continue
		}
		key := d.value(v.Key)
		if key == nil {
			continue
		}
		list = append(list, pair{key.GetToken().Value, positionOf(v.Key), v.Value})
	}
	for _, m := range merged {
		if !slices.ContainsFunc(list, func(p pair) bool { return p.key == m.key }) {
			list = append(list, m)
		}
	}
	return list, true
}

// kindOf names a node for a person.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode:
		return "a whole number"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return "this"
}

// custom is a value that reads itself.
type custom interface {
	decode(d *decoder, n ast.Node, where string, depth int)
}

// checked is a value that knows whether it is allowed.
type checked interface{ check() error }

// decode fills v from n. where names the thing for messages. The types known
// are those of the configuration: structs with yaml tags, strings, bools,
// numbers, slices, maps with string keys, pointers to them, and any.
func (d *decoder) decode(n ast.Node, v reflect.Value, where string, depth int) {
	if d.visits++; d.visits > maxVisits || depth > maxDepth {
		d.problem(positionOf(n), "the file is too large or nests too deep")
		return
	}
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		if c, ok := v.Addr().Interface().(custom); ok {
			c.decode(d, n, where, depth)
			return
		}
	}
	before := len(d.problems)
	node := d.value(n)
	if _, null := node.(*ast.NullNode); null || node == nil {
		d.problem(positionOf(n), "%s is empty", where)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), where, depth+1)
		return
	case reflect.Struct:
		d.decodeStruct(n, v, where, depth)
	case reflect.Map:
		d.decodeMap(n, v, where, depth)
	case reflect.Slice:
		d.decodeSlice(n, v, where, depth)
	case reflect.Interface:
		if x := d.plain(n, where, depth); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	default:
		d.decodeScalar(n, node, v, where)
	}
	if len(d.problems) > before {
		return
	}
	if c, ok := v.Interface().(checked); ok {
		if err := c.check(); err != nil {
			d.problem(positionOf(n), "%s: %v", where, err)
		}
	}
}

func (d *decoder) decodeScalar(n, node ast.Node, v reflect.Value, where string) {
	wrong := func(want string) { d.problem(positionOf(n), "%s must be %s, not %s", where, want, kindOf(node)) }
	switch v.Kind() {
	case reflect.String:
		text, ok := scalarText(node)
		if !ok {
			wrong("text")
			return
		}
		v.SetString(text)
	case reflect.Bool:
		b, ok := node.(*ast.BoolNode)
		if !ok {
			wrong("true or false")
			return
		}
		v.SetBool(b.Value)
	case reflect.Int:
		i, ok := node.(*ast.IntegerNode)
		if !ok {
			wrong("a whole number")
			return
		}
		number, ok := wholeNumber(i)
		if !ok {
			d.problem(positionOf(n), "%s is out of range", where)
			return
		}
		v.SetInt(number)
	case reflect.Float64:
		f, ok := floatOf(node)
		if !ok {
			wrong("a number")
			return
		}
		v.SetFloat(f)
	default:
		panic("catalog: no way to read a " + v.Type().String())
	}
}

// scalarText is a scalar as it is written. Numbers and booleans are taken for
// text too where text is wanted: header values and ids look like that.
func scalarText(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func wholeNumber(i *ast.IntegerNode) (int64, bool) {
	switch x := i.Value.(type) {
	case int64:
		return x, true
	case uint64:
		return int64(x), x <= math.MaxInt64
	}
	return 0, false
}

func floatOf(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.FloatNode:
		return x.Value, true
	case *ast.IntegerNode:
		i, ok := wholeNumber(x)
		return float64(i), ok
	}
	return 0, false
}

func (d *decoder) decodeSlice(n ast.Node, v reflect.Value, where string, depth int) {
	s, ok := d.value(n).(*ast.SequenceNode)
	if !ok {
		d.problem(positionOf(n), "%s must be a list, not %s", where, kindOf(d.value(n)))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, item := range s.Values {
		d.decode(item, out.Index(i), fmt.Sprintf("entry %d of %s", i+1, where), depth+1)
	}
	v.Set(out)
}

func (d *decoder) decodeMap(n ast.Node, v reflect.Value, where string, depth int) {
	list, ok := d.pairs(n, where, depth)
	if !ok {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(list))
	for _, p := range list {
		key := reflect.ValueOf(p.key).Convert(v.Type().Key())
		if c, ok := key.Interface().(checked); ok {
			if err := c.check(); err != nil {
				d.problem(p.at, "%s: %v", where, err)
				continue
			}
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(p.value, item, fmt.Sprintf("%q in %s", p.key, where), depth+1)
		out.SetMapIndex(key, item)
	}
	v.Set(out)
}

func (d *decoder) decodeStruct(n ast.Node, v reflect.Value, where string, depth int) {
	list, ok := d.pairs(n, where, depth)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, p := range list {
		i, known := fields[p.key]
		if !known {
			d.problem(p.at, "unknown key %q in %s%s", p.key, where, didYouMean(p.key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		field := fmt.Sprintf("%q in %s", p.key, where)
		d.decode(p.value, v.Field(i), field, depth+1)
		if words := compatWords[p.key]; words != nil && v.Type() == compatType && v.Field(i).String() != "" && !slices.Contains(words, v.Field(i).String()) {
			d.problem(positionOf(p.value), "%s: unknown value %q (want %s)", field, v.Field(i).String(), strings.Join(words, ", "))
		}
	}
}

var compatType = reflect.TypeFor[openai.Compat]()

// compatWords are the values of those compat keys that take one of a few words.
var compatWords = map[string][]string{
	"maxTokensField":        {openai.MaxCompletionTokens, openai.MaxTokens},
	"thinkingFormat":        {openai.ThinkingOpenAI, openai.ThinkingOpenRouter, openai.ThinkingZAI, openai.ThinkingQwen, openai.ThinkingQwenTemplate},
	"reasoningContentField": {"reasoning_content", "reasoning", "reasoning_text"},
	"toolStrictMode":        {openai.StrictAll, openai.StrictNone},
}

// fieldsOf maps the keys of a struct to its fields.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			fields[name] = i
		}
	}
	return fields
}

// plain reads a free value, as the body of a request may hold: nil, bool,
// float64, int64, string, []any, map[string]any.
func (d *decoder) plain(n ast.Node, where string, depth int) any {
	if d.visits++; d.visits > maxVisits || depth > maxDepth {
		d.problem(positionOf(n), "the file is too large or nests too deep")
		return nil
	}
	switch x := d.value(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		list, _ := d.pairs(n, where, depth)
		out := make(map[string]any, len(list))
		for _, p := range list {
			out[p.key] = d.plain(p.value, where, depth+1)
		}
		return out
	case *ast.SequenceNode:
		out := make([]any, len(x.Values))
		for i, item := range x.Values {
			out[i] = d.plain(item, where, depth+1)
		}
		return out
	case *ast.BoolNode:
		return x.Value
	case *ast.IntegerNode:
		if i, ok := wholeNumber(x); ok {
			return i
		}
		return float64(math.MaxInt64)
	case *ast.FloatNode:
		return x.Value
	case *ast.InfinityNode, *ast.NanNode:
		d.problem(positionOf(n), "%s holds a number that JSON cannot write", where)
		return nil
	case *ast.NullNode, nil:
		return nil
	default:
		text, _ := scalarText(x)
		return text
	}
}
