// Package eval holds the tools that compute: calc, exact arithmetic.
package eval

import (
	"context"
	_ "embed"
	"strings"

	"github.com/burin-dev/burin/tool"
)

//go:embed calc.md
var calcDescription string

// New makes the tools.
func New() []*tool.Tool {
	return []*tool.Tool{tool.New(tool.Definition[calcArgs]{
		Name: "calc", Label: "Calculate", Description: calcDescription, Strict: true,
		Access: func(calcArgs) []tool.Access { return nil },
		Run: func(ctx context.Context, _ tool.Call, a calcArgs) (*tool.Result, error) {
			var b strings.Builder
			failed := false
			for _, e := range a.Expressions {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				v, err := Calculate(e)
				if err != nil {
					failed = true
					v = err.Error()
				}
				b.WriteString(strings.TrimSpace(e) + " = " + v + "\n")
			}
			r := tool.Text(strings.TrimSuffix(b.String(), "\n"))
			r.IsError = failed
			return r, nil
		},
	})}
}

type calcArgs struct {
	Expressions []string `json:"expressions"`
}
