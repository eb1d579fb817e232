package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/schema"
)

// ArgumentsError says why a call did not run. Its text is for the model: what is wrong and
// where, what was expected, and the nearest valid arguments.
type ArgumentsError struct {
	Tool     string
	Defect   llm.Defect      // of a call that arrived damaged
	Problems []string        // one line each, with the path of the property
	Example  json.RawMessage // valid arguments near those given; nil if unknown
}

func (e *ArgumentsError) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		fmt.Fprintf(&b, "%s did not run: %s", e.Tool, e.Problems[0])
	} else {
		fmt.Fprintf(&b, "%s did not run. Its arguments have %d problems:", e.Tool, len(e.Problems))
		for _, p := range e.Problems {
			b.WriteString("\n- " + p)
		}
	}
	if e.Example != nil {
		fmt.Fprintf(&b, "\nArguments of this shape are valid: %s", e.Example)
	}
	return b.String()
}

// Validate reads the arguments of a call of t and holds them against the schema.
// What it returns may run; an error is an [*ArgumentsError].
//
// Arguments that do not fit as they are may be changed where the meaning cannot
// change, and are then held against the schema again:
//
//   - null for a property that is optional and takes no null is left out; with
//     Strict, providers make the model write those;
//   - a string that holds exactly a number, true or false becomes that, and a
//     string that holds a JSON array or object becomes it, where the schema
//     wants it and takes no string;
//   - a single string or object where a list of them is wanted becomes the list.
//
// Names are never corrected, only suggested. Schemas of draft 4 and later are
// understood, with identifiers, anchors and dynamic references. A schema that
// cannot be resolved, because it refers to another document or is of a draft of its
// own, validates nothing: the arguments are then as the model wrote them, an object.
func (t *Tool) Validate(call llm.ToolCall) (json.RawMessage, error) {
	v := t.validator()
	args, _, err := call.Object()
	if err != nil {
		return nil, &ArgumentsError{
			Tool: t.Name, Defect: call.Defect, Problems: []string{err.Error()}, Example: v.example(nil),
		}
	}
	if t.Strict {
		args = schema.DropNulls(args, v.params)
	}
	if v.valid(args) {
		return args, nil
	}
	coerced := v.coerce(schema.DropNulls(args, v.params))
	if v.valid(coerced) {
		return coerced, nil
	}
	return nil, &ArgumentsError{Tool: t.Name, Problems: v.problems(coerced), Example: v.example(coerced)}
}

// validator has a tool's schema, ready for use. It is made when the first call needs it. The
// zero value accepts everything.
type validator struct {
	root     *Schema
	resolved *jsonschema.Resolved
	params   json.RawMessage // the schema, in plain form if possible
	branch   int             // largest number of schemas that look at the same value
}

func (t *Tool) validator() *validator {
	v := t.checked.Load()
	if v == nil {
		v, _ = newValidator(t.Parameters) // two at a time may both do it
		t.checked.Store(v)
	}
	return v
}

// plain returns the schema as [schema.Plain] writes it, or unchanged if Plain can't.
func (t *Tool) plain() json.RawMessage {
	if plain, err := schema.Plain(t.Parameters); err == nil {
		return plain
	}
	return t.Parameters
}

// PlainSchema returns the plain form of a schema ([schema.Plain]) for validating arguments.
// The error says why it can't be used.
func PlainSchema(raw json.RawMessage) (json.RawMessage, error) {
	v, err := newValidator(raw)
	return v.params, err
}

// newValidator resolves a schema. The schema comes from the tool's author, so nothing about it
// is trusted. With an error the validator accepts everything.
func newValidator(params json.RawMessage) (v *validator, err error) {
	none := &validator{params: params}
	defer func() {
		if r := recover(); r != nil {
			v, err = none, fmt.Errorf("%v", r)
		}
	}()
	if !modest(params) {
		return none, errors.New("not an object, or larger than 1 MB, or more than 100 deep")
	}
	plain, err := schema.Plain(params)
	if err != nil {
		return none, err
	}
	none.params = plain
	s := new(Schema)
	if err := json.Unmarshal(plain, s); err != nil {
		return none, err
	}
	branch, ok := survey(s)
	if !ok {
		return none, errors.New("a $ref leads out of the schema, nowhere or in a circle, or the schema is too large")
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return none, err
	}
	return &validator{root: s, resolved: resolved, params: plain, branch: branch}, nil
}

// Limits of schemas: reading costs the square of the depth.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 100
)

// modest reports whether params is an object within these limits.
func modest(params []byte) bool {
	params = bytes.TrimSpace(params)
	if len(params) > maxSchemaBytes || !bytes.HasPrefix(params, []byte("{")) {
		return false
	}
	deep := 0
	for _, b := range params { // brackets in strings may make it look deeper
		switch b {
		case '{', '[':
			deep++
		case '}', ']':
			deep--
		}
		if deep > maxSchemaDepth {
			return false
		}
	}
	return true
}

// maxWork is how many schemas may be tried on one call's arguments.
const maxWork = 1_000_000

// valid reports whether args match the schema, or that can't be determined.
func (v *validator) valid(args json.RawMessage) (ok bool) {
	if v.resolved == nil {
		return true
	}
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return false // a number that no type can hold
	}
	if work := 1; v.branch > 1 {
		for range depth(value) {
			if work *= v.branch; work > maxWork {
				return true
			}
		}
	}
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	return v.resolved.Validate(value) == nil
}

// depth returns how deeply containers are nested.
func depth(value any) int {
	deepest := 0
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			deepest = max(deepest, depth(v))
		}
	case []any:
		for _, v := range value {
			deepest = max(deepest, depth(v))
		}
	default:
		return 0
	}
	return deepest + 1
}
