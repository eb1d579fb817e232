package tool

import (
	"context"
	"encoding/json"
)

// Func makes a tool from a Go function whose arguments are a struct, as in [Definition]. A
// string result is what the model reads; any other result is sent as JSON. An error becomes a
// result that the model can act on.
//
//	weather := tool.Func("weather", "The weather in a city.", tool.Network,
//		func(ctx context.Context, in struct{ City string `json:"city"` }) (Report, error) { … })
//
// effects say what its calls may do; permission goes by them. A call that writes, executes or
// uses the network needs permission or an answer.
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

// SchemaOf returns the JSON schema of a struct, by the rules of [Definition], for results that
// a model must hand over. It panics if T has no schema.
func SchemaOf[T any]() json.RawMessage { return parameters[T]("schema", nil) }
