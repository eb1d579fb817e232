package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// permission answers the questions of a session: which calls may run, and what the model
// wants to know.
func permission(ctx context.Context, out io.Writer) error {
	ask := func(_ context.Context, q session.Question) (session.Reply, error) {
		switch q.Kind {
		case session.AskPermission:
			call := q.Permission.Request.String()
			fmt.Fprintln(out, "may it run?", call)
			if strings.HasPrefix(call, "mkdir ") {
				return session.Allow(), nil
			}
			return session.Refuse("only folders are made here"), nil
		case session.AskChoice:
			r := session.Reply{}
			for _, c := range q.Choices {
				r.Choices = append(r.Choices, session.Chosen{Selected: c.Options[:1]})
			}
			return r, nil
		}
		return session.Reply{Dismissed: true}, nil
	}
	s, err := burin.New(ctx, burin.Options{NoSession: true, Approval: "ask", Ask: ask})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Make a folder for the photos, then remove everything."))
	fmt.Fprintln(out, outcome.Text())
	return outcome.Err
}
