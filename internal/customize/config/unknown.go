package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// UnknownError reports a key that is not a setting.
type UnknownError struct {
	Key  string
	Near string // the setting that was probably meant; "" if none is close
	Flat bool   // the file has "a.b: value" where a mapping belongs
}

func (e *UnknownError) Error() string {
	switch {
	case e.Flat:
		parts := strings.Split(e.Near, ".")
		return fmt.Sprintf("settings nest: write %s: {%s: ...} instead of %q", strings.Join(parts[:len(parts)-1], ": {"), parts[len(parts)-1], e.Key)
	case e.Near != "":
		return fmt.Sprintf("unknown setting %q (did you mean %q?)", e.Key, e.Near)
	}
	return fmt.Sprintf("unknown setting %q", e.Key)
}

// unknown is the error for a key.
func unknown(key string) error { return &UnknownError{Key: key, Near: near(key, keys())} }

func keys() []string {
	all := make([]string, len(table))
	for i := range table {
		all[i] = table[i].Key
	}
	return all
}

// renamed are settings of related programs that have another name here.
var renamed = map[string]string{
	"queueMode": "steeringMode", "tools.approvalMode": "approval", "tools.approval": "permissions.allow", "todo.reminders.max": "todo.remindersMax",
}

// near is the key that name is likely a slip of: one that is a few letters away, else the
// only one that begins with it or has the same last part. "" means that none is close.
func near(name string, all []string) string {
	const most = 3
	if now := renamed[name]; now != "" {
		return now
	}
	name = strings.ToLower(name)
	best, least := "", most+1
	var same []string
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, key := range all {
		lower := strings.ToLower(key)
		if d := fuzzy.Distance(name, lower, most); d < least && 3*d < len(name) {
			best, least = key, d
		}
		if lower[strings.LastIndexByte(lower, '.')+1:] == last || strings.HasPrefix(lower, name) {
			same = append(same, key)
		}
	}
	if best == "" && len(same) == 1 {
		return same[0]
	}
	return best
}

// misplaced says which key of the file the parser does not know, as "line:column: what";
// "" if err is about something else.
func misplaced(data []byte, err error) string {
	unknown, ok := errors.AsType[*yaml.UnknownFieldError](err)
	if !ok || unknown.Token == nil {
		return ""
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil || len(tree.Docs) == 0 {
		return ""
	}
	at := unknown.Token.Position
	path := pathTo(tree.Docs[0].Body, at)
	if path == nil {
		return ""
	}
	key := strings.Join(path, ".")
	e := &UnknownError{Key: key, Near: near(key, slices.Concat(keys(), fields(path[:len(path)-1])))}
	if _, ok := Find(key); ok { // "a.b: value"
		e.Near, e.Flat = key, true
	}
	return fmt.Sprintf("%d:%d: %v", at.Line, at.Column, e)
}

// pathTo is the path of the key at a place.
func pathTo(n ast.Node, at *token.Position) []string {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	}
	for _, v := range values {
		key := v.Key.GetToken()
		if key.Position.Line == at.Line && key.Position.Column == at.Column {
			return []string{key.Value}
		}
		if below := pathTo(v.Value, at); below != nil {
			return append([]string{key.Value}, below...)
		}
	}
	return nil
}

// fields are the keys that may stand below a path that ends in an entry of a record.
func fields(path []string) []string {
	t := reflect.TypeFor[Config]()
	for _, part := range path {
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			i := field(t, part)
			if i < 0 {
				return nil
			}
			t = t.Field(i).Type
		default:
			return nil
		}
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); tag != "" && tag != "-" {
			out = append(out, strings.Join(append(slices.Clone(path), tag), "."))
		}
	}
	return out
}
