package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Plain rewrites a schema of draft 4, 6, 7, 2019-09 or 2020-12 as one of draft
// 2020-12 that every reader understands: each reference is a $ref to a JSON pointer
// in the same document, and $schema, $id, anchors, $dynamicRef and $recursiveRef
// are gone. What a dynamic reference means depends on how it was reached, so a
// schema that is reached in several ways is written once for each. Definitions that
// nothing refers to are dropped. The result accepts the same values.
//
// A schema that names no draft is read as 2020-12, and older spellings in it
// (boolean exclusiveMinimum, a list of items, dependencies) as what they meant.
//
// Most schemas are plain already and come back as the same bytes. An error means
// that the schema cannot be rewritten: it refers to another document, which is
// never fetched, names an unknown draft, or grows beyond 20,000 schemas.
func Plain(raw json.RawMessage) (json.RawMessage, error) {
	if isPlain(raw) {
		return raw, nil
	}
	root, err := parseTree(raw)
	if err != nil {
		return nil, err
	}
	if !root.isObject() {
		return raw, nil
	}
	p := &plainer{
		where: map[*tree]*resource{}, byURI: map[string]*resource{},
		placed: map[placement]string{}, taken: map[string]bool{},
	}
	base := &url.URL{Scheme: "schema", Path: "/"}
	p.index(root, &resource{base: base, draft: draftUnknown})
	out, err := p.document(root)
	if err != nil {
		return nil, err
	}
	return out.bytes(), nil
}

// plainOf is Plain, or raw itself where it cannot be rewritten.
func plainOf(raw json.RawMessage) json.RawMessage {
	if plain, err := Plain(raw); err == nil {
		return plain
	}
	return raw
}

// isPlain reports whether nothing in raw needs rewriting. It may be wrong about a
// schema whose properties only look like keywords, which costs time, not meaning.
func isPlain(raw []byte) bool {
	has := func(key string) bool { return bytes.Contains(raw, []byte(key)) }
	if bytes.IndexByte(raw, '$') >= 0 &&
		(has(`"$schema"`) || has(`"$id"`) || has(`"$anchor"`) || has(`"$dynamic`) || has(`"$recursive`) || has(`"$defs"`) && has(`"definitions"`)) {
		return false
	}
	if has(`"additionalItems"`) || has(`"dependencies"`) {
		return false
	}
	for rest := raw; ; { // a list of items, or a boolean bound
		i := bytes.Index(rest, []byte(`"items"`))
		if i < 0 {
			break
		}
		if rest = rest[i+len(`"items"`):]; valueStart(rest) == '[' {
			return false
		}
	}
	for rest := raw; ; {
		i := bytes.Index(rest, []byte(`"exclusiveM`))
		if i < 0 {
			return true
		}
		rest = rest[min(i+len(`"exclusiveMinimum"`)-1, len(rest)):] // Maximum is as long; what is cut is no schema
		if c := valueStart(bytes.TrimPrefix(rest, []byte(`"`))); c == 't' || c == 'f' {
			return false
		}
	}
}

// valueStart is the first byte of the value whose key ends where rest begins.
func valueStart(rest []byte) byte {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
	if rest = bytes.TrimLeft(rest, " \t\r\n"); !ok || len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// Drafts. A schema without $schema is of the latest.
const (
	draftUnknown = 0
	draft4       = 4
	draft6       = 6
	draft7       = 7
	draft2019    = 2019
	draft2020    = 2020
)

var errDraft = errors.New("unknown $schema")

func draftOf(uri string) (int, error) {
	uri = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://"), "#")
	switch uri {
	case "json-schema.org/draft-04/schema":
		return draft4, nil
	case "json-schema.org/draft-06/schema":
		return draft6, nil
	case "json-schema.org/draft-07/schema":
		return draft7, nil
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, nil
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft2020, nil
	}
	return 0, fmt.Errorf("%w %q", errDraft, uri)
}

// resource is a schema with an identifier, or the whole document.
type resource struct {
	node    *tree
	base    *url.URL
	draft   int
	anchors map[string]*tree
	dynamic map[string]*tree // those among them that a dynamic reference looks for
}

// recursive is the name under which a resource with $recursiveAnchor is found. No
// anchor is called so.
const recursive = "#"

// before reports whether the resource is of a draft before another.
func (r *resource) before(draft int) bool { return r.draft != draftUnknown && r.draft < draft }

// keywords that hold schemas.
var (
	holdsOne  = []string{"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "propertyNames", "contains", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	holdsList = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	holdsMap  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

// since says in which draft a keyword began to mean something.
var since = map[string]int{
	"const": draft6, "contains": draft6, "propertyNames": draft6,
	"if": draft7, "then": draft7, "else": draft7,
	"dependentRequired": draft2019, "dependentSchemas": draft2019, "minContains": draft2019, "maxContains": draft2019,
	"unevaluatedItems": draft2019, "unevaluatedProperties": draft2019,
	"prefixItems": draft2020,
}

// annotations stand beside a $ref without changing what is valid.
var annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "format"}

type plainer struct {
	where   map[*tree]*resource // of every schema
	byURI   map[string]*resource
	dynamic bool // some resource has a dynamic anchor
	err     error

	placed map[placement]string // where a schema has been written
	wanted []reference          // references whose place is not known yet
	taken  map[string]bool      // names of definitions
	nodes  int
}

// scope says for each dynamic anchor which schema it names; nil is the empty one.
// Scopes with the same content have the same key.
type scope struct {
	key   string
	names map[string]*tree
}

// placement is a schema as it is seen from a scope.
type placement struct {
	node  *tree
	scope string
}

// reference is a $ref that has been written and leads nowhere yet.
type reference struct {
	out    *tree
	target *tree
	scope  *scope
	name   string // that its definition can have
}

// index finds the resources and anchors in n, which lies in res.
func (p *plainer) index(n *tree, res *resource) {
	if !n.isObject() || p.where[n] != nil {
		return
	}
	draft := res.draft
	if uri, ok := n.get("$schema").text(); ok && (res.node == nil || n.get("$id") != nil || n.get("id") != nil) {
		d, err := draftOf(uri)
		if err != nil {
			p.err = err
		}
		draft = d
	}
	key := "$id"
	if draft == draft4 {
		key = "id"
	}
	id, named := n.get(key).text()
	_, referring := n.get("$ref").text()
	if referring && draft != draftUnknown && draft <= draft7 {
		named = false
	}
	anchor := ""
	if named && strings.HasPrefix(id, "#") {
		anchor, named = id[1:], false
	}
	if res.node == nil || named {
		base := res.base
		if u, err := url.Parse(id); named && err == nil {
			base = base.ResolveReference(u)
		}
		next := &resource{node: n, base: base, draft: draft, anchors: map[string]*tree{}, dynamic: map[string]*tree{}}
		uris := []string{uriOf(base)}
		if res.node == nil {
			uris = append(uris, uriOf(res.base)) // without its name the document is found, too
		}
		for _, uri := range uris {
			if p.byURI[uri] == nil {
				p.byURI[uri] = next
			}
		}
		res = next
	}
	p.where[n] = res
	if anchor != "" {
		res.anchors[anchor] = n
	}
	if !res.before(draft2019) {
		if name, ok := n.get("$anchor").text(); ok {
			res.anchors[name] = n
		}
	}
	if !res.before(draft2020) {
		if name, ok := n.get("$dynamicAnchor").text(); ok {
			res.anchors[name], res.dynamic[name] = n, n
			p.dynamic = true
		}
	}
	if n.get("$recursiveAnchor").isTrue() && n == res.node && (res.draft == draft2019 || res.draft == draftUnknown) {
		res.dynamic[recursive] = n
		p.dynamic = true
	}
	for _, f := range n.fields {
		if slices.Contains(holdsOne, f.key) {
			p.index(f.value, res)
		}
		if slices.Contains(holdsList, f.key) && f.value.isArray() {
			for _, item := range f.value.items {
				p.index(item, res)
			}
		}
		if slices.Contains(holdsMap, f.key) && f.value.isObject() {
			for _, item := range f.value.fields {
				p.index(item.value, res)
			}
		}
	}
}

// uriOf is a URI without its fragment.
func uriOf(u *url.URL) string {
	bare := *u
	bare.Fragment, bare.RawFragment = "", ""
	return bare.String()
}

// document writes the schema with the definitions that it needs.
func (p *plainer) document(root *tree) (*tree, error) {
	in := p.enter(nil, p.where[root])
	p.placed[placement{root, in.id()}] = "#"
	// A document that is only a reference becomes what it refers to: providers
	// want an object at the top.
	start := root
	for range maxDepth {
		ref, ok := start.get("$ref").text()
		if !ok || !p.only(start) {
			break
		}
		target, _, err := p.resolve(ref, p.where[start])
		if err != nil || !target.isObject() {
			break
		}
		start, in = target, p.enter(in, p.where[target])
		p.placed[placement{start, in.id()}] = "#"
	}
	out := p.write(start, in, "#")
	defs := object()
	for i := 0; i < len(p.wanted) && p.err == nil; i++ { // writing one may want more
		r := p.wanted[i]
		at := placement{r.target, r.scope.id()}
		pointer, ok := p.placed[at]
		if !ok {
			name := p.name(r.name)
			pointer = "#/$defs/" + name
			p.placed[at] = pointer
			defs.set(name, p.write(r.target, r.scope, pointer))
		}
		r.out.set("$ref", scalar(pointer))
	}
	if p.err != nil {
		return nil, p.err
	}
	if len(defs.fields) > 0 {
		out.set("$defs", defs)
	}
	return out, nil
}

// only reports whether a schema with a $ref says nothing else.
func (p *plainer) only(n *tree) bool {
	if p.where[n].before(draft2019) {
		return true
	}
	return !slices.ContainsFunc(n.fields, func(f field) bool {
		return !slices.Contains(annotations, f.key) && !slices.Contains([]string{"$ref", "$schema", "$id", "$defs", "definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"}, f.key)
	})
}

// name gives a definition a name that no other has.
func (p *plainer) name(wish string) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, wish)
	if base == "" {
		base = "schema"
	}
	name := base
	for i := 2; p.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	p.taken[name] = true
	return name
}

func (s *scope) id() string {
	if s == nil {
		return ""
	}
	return s.key
}

// enter returns the scope in a resource: of each dynamic anchor the outermost counts.
func (p *plainer) enter(s *scope, res *resource) *scope {
	if !p.dynamic || res == nil {
		return s
	}
	var fresh []string
	for name := range res.dynamic {
		if s == nil || s.names[name] == nil {
			fresh = append(fresh, name)
		}
	}
	if fresh == nil {
		return s
	}
	next := &scope{names: map[string]*tree{}}
	if s != nil {
		for name, n := range s.names {
			next.names[name] = n
		}
	}
	for _, name := range fresh {
		next.names[name] = res.dynamic[name]
	}
	var parts []string
	for name, n := range next.names {
		parts = append(parts, fmt.Sprintf("%q %p", name, n))
	}
	slices.Sort(parts)
	next.key = strings.Join(parts, " ")
	return next
}

// resolve finds the schema that a reference in res names, and the anchor that it
// was named by.
func (p *plainer) resolve(ref string, res *resource) (target *tree, anchor string, err error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, "", fmt.Errorf("$ref %q: %w", ref, err)
	}
	full := res.base.ResolveReference(u)
	to := p.byURI[uriOf(full)]
	if strings.HasPrefix(ref, "#") {
		to = res
	}
	if to == nil {
		return nil, "", fmt.Errorf("$ref %q leads out of the schema", ref)
	}
	fragment := full.Fragment
	if fragment != "" && fragment[0] != '/' {
		anchor = fragment
		target = to.anchors[fragment]
	} else {
		target = to.node.at("#" + full.EscapedFragment())
	}
	if target == nil {
		return nil, "", fmt.Errorf("$ref %q leads nowhere", ref)
	}
	p.index(target, to) // it may lie where no schema was expected
	return target, anchor, nil
}

// refer writes a reference to out.
func (p *plainer) refer(out *tree, ref string, in *scope, res *resource, dynamic string) {
	target, anchor, err := p.resolve(ref, res)
	if err != nil {
		p.err = err
		return
	}
	if dynamic == "$recursiveRef" {
		anchor = recursive
	}
	if dynamic != "" && anchor != "" && target.isObject() && p.where[target].dynamic[anchor] == target && in != nil && in.names[anchor] != nil {
		target = in.names[anchor]
	}
	wish := ref[strings.LastIndexAny(ref, "/#")+1:]
	if !target.isObject() { // true or false
		out.set("allOf", array(append(listOf(out.get("allOf")), target)...))
		return
	}
	at := out
	if out.get("$ref") != nil {
		at = object()
		out.set("allOf", array(append(listOf(out.get("allOf")), at)...))
	}
	at.set("$ref", scalar(""))
	p.wanted = append(p.wanted, reference{at, target, p.enter(in, p.where[target]), wish})
}

func listOf(t *tree) []*tree {
	if t.isArray() {
		return slices.Clone(t.items)
	}
	return nil
}

// write returns the plain form of n, which will be found at pointer.
func (p *plainer) write(n *tree, in *scope, pointer string) *tree {
	p.nodes++
	if p.nodes > strictNodes {
		p.err = errors.New("the schema is too large")
	}
	if !n.isObject() || p.err != nil {
		return n
	}
	res := p.where[n]
	in = p.enter(in, res)
	if at := (placement{n, in.id()}); p.placed[at] == "" {
		p.placed[at] = pointer
	}
	out := object()
	_, referring := n.get("$ref").text()
	alone := referring && res.before(draft2019) // siblings mean nothing then
	tuple := n.get("items").isArray() && (res.draft != draft2020)
	child := func(v *tree, path ...string) *tree {
		at := pointer
		for _, step := range path {
			at += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
		}
		return p.write(v, in, at)
	}
	list := func(v *tree, key string) *tree {
		items := array()
		for i, item := range v.items {
			items.items = append(items.items, child(item, key, strconv.Itoa(i)))
		}
		return items
	}
	for _, f := range n.fields {
		key, v := f.key, f.value
		if key == "$ref" && referring {
			ref, _ := v.text()
			p.refer(out, ref, in, res, "")
			continue
		}
		if alone && !slices.Contains(annotations, key) || res.before(since[key]) {
			continue
		}
		switch key {
		case "$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions", "contentSchema":
		case "id":
			if res.draft != draft4 {
				out.set(key, v)
			}
		case "$dynamicRef", "$recursiveRef":
			ref, ok := v.text()
			if ok && (res.draft == draftUnknown || key == "$dynamicRef" && res.draft == draft2020 || key == "$recursiveRef" && res.draft == draft2019) {
				p.refer(out, ref, in, res, key)
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			if bound := n.get(inclusive(key)); v.isTrue() && bound != nil {
				out.set(key, bound)
			} else if !v.isTrue() && !v.isFalse() {
				out.set(key, v)
			}
		case "minimum", "maximum":
			if !n.get("exclusive" + strings.ToUpper(key[:1]) + key[1:]).isTrue() {
				out.set(key, v)
			}
		case "items":
			if tuple {
				out.set("prefixItems", list(v, "prefixItems"))
			} else {
				out.set(key, child(v, key))
			}
		case "additionalItems":
			if tuple {
				out.set("items", child(v, "items"))
			}
		case "dependencies":
			p.dependencies(out, v, child)
		case "allOf":
			if !v.isArray() {
				out.set(key, v)
				break
			}
			// A reference may have begun the list.
			mine := listOf(out.get(key))
			for _, item := range v.items {
				mine = append(mine, child(item, key, strconv.Itoa(len(mine))))
			}
			out.set(key, array(mine...))
		default:
			switch {
			case slices.Contains(holdsOne, key):
				out.set(key, child(v, key))
			case slices.Contains(holdsList, key) && v.isArray():
				out.set(key, list(v, key))
			case slices.Contains(holdsMap, key) && v.isObject():
				set := out.get(key) // dependencies may have begun it
				if set == nil {
					set = object()
				}
				for _, item := range v.fields {
					set.set(item.key, child(item.value, key, item.key))
				}
				out.set(key, set)
			case key == "dependentRequired" && out.get(key) != nil && v.isObject():
				for _, item := range v.fields {
					out.get(key).set(item.key, item.value)
				}
			default:
				out.set(key, v)
			}
		}
	}
	return out
}

// inclusive is the keyword beside which a bound of draft 4 was exclusive.
func inclusive(key string) string {
	if key == "exclusiveMinimum" {
		return "minimum"
	}
	return "maximum"
}

// dependencies are names in some cases and schemas in others; there are two
// keywords for them since 2019.
func (p *plainer) dependencies(out, v *tree, child func(*tree, ...string) *tree) {
	for _, f := range v.fields {
		key, value := "dependentSchemas", f.value
		switch {
		case value.isArray():
			key = "dependentRequired"
		case value.isObject():
			value = child(value, key, f.key)
		default:
			if name, ok := value.text(); ok { // one name, as draft 3 had it
				key, value = "dependentRequired", array(scalar(name))
			}
		}
		set := out.get(key)
		if set == nil {
			set = object()
			out.set(key, set)
		}
		set.set(f.key, value)
	}
}
