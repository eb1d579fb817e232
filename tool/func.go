package tool

import (
	"context"
	"encoding/json"
)

// Func makes a tool of a plain function. Its arguments are a struct, as in [Definition]. A
// string that it returns is what the model reads; of anything else it reads the JSON. An
// error is a result that the model can act on.
//
//	weather := tool.Func("weather", "The weather in a city.", tool.Network,
//		func(ctx context.Context, in struct{ City string `json:"city"` }) (Report, error) { … })
//
// effects say what its calls may do, by which permission judges them: where nobody allows
// it, a call that writes, executes or uses the network is a question.
func Func[A, R any](name, description string, effects Effects, f func(ctx context.Context, args A) (R, error)) *Tool {
	return New(Definition[A]{
		Name: name, Label: name, Description: description, Effects: effects,
		Run: func(ctx context.Context, _ Call, args A) (*Result, error) {
			out, err := f(ctx, args)
			if err != nil {
				return nil, err
			}
			if text, ok := any(out).(string); ok {
				return Text(text), nil
			}
			raw, err := json.Marshal(out)
			if err != nil {
				return nil, err
			}
			return Text(string(raw)).WithDetails(out), nil
		},
	})
}

// SchemaOf is the JSON schema of a struct, by the rules of [Definition]: for results that a
// model is to hand over. It panics if T has none.
func SchemaOf[T any]() json.RawMessage { return parameters[T]("schema", nil) }
