package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// tools gives the model a function: its argument is a struct, whose tags describe it.
func tools(ctx context.Context, out io.Writer) error {
	type order struct {
		Number int `json:"number" jsonschema:"the order's number"`
	}
	type state struct {
		Shipped bool   `json:"shipped"`
		Carrier string `json:"carrier"`
	}
	lookUp := tool.Func("order_state", "Where an order is.", tool.Reads, func(_ context.Context, in order) (state, error) {
		if in.Number != 17 {
			return state{}, fmt.Errorf("there is no order %d", in.Number)
		}
		return state{Shipped: true, Carrier: "pigeon"}, nil
	})
	s, err := burin.New(ctx, burin.Options{NoSession: true, NoTools: true, ExtraTools: []*tool.Tool{lookUp}})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Where is order 17?"))
	fmt.Fprintln(out, outcome.Text())
	return outcome.Err
}
