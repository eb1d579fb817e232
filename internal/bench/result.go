package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// newResult is the tool with which the model hands over a result of a schema. A
// tool works with every vendor and beside other tools, which a schema for the
// answer itself does not. A schema that is not of an object is wrapped in one.
func newResult(raw json.RawMessage) (*tool.Tool, error) {
	params, err := tool.PlainSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("schema of the result: %w", err)
	}
	var s struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(params, &s); err != nil {
		return nil, fmt.Errorf("schema of the result: %w", err)
	}
	if s.Type != "object" {
		return nil, errors.New(`schema of the result: its type must be "object"`)
	}
	return &tool.Tool{
		Name: session.ResultTool, Label: "Result", Parameters: params,
		Description: "Hand over the result of the work, once, when everything else is done. It ends the work.",
		Access:      func(json.RawMessage) ([]tool.Access, error) { return nil, nil },
		Together:    func(json.RawMessage) bool { return false },
		Run: func(_ context.Context, c tool.Call) (*tool.Result, error) {
			r := tool.Text("Accepted.")
			r.Details = c.Arguments // as they were made to fit the schema, for [session.Result]
			r.Final = true
			return r, nil
		},
	}, nil
}
