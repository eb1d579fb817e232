// Command examples shows what programs do with package burin: a function in a file for each
// thing, all of them short.
//
//	go run ./examples          what there is
//	go run ./examples hello    one of them
//
// Those that need a model use the one that burin uses here: set up burin first, or give it
// a key (burin help keys). provider and memory need none.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/burin-dev/burin"
)

// example is one of them.
type example struct {
	name, about string
	run         func(ctx context.Context, out io.Writer) error
}

// examples are all of them, in the order in which to read them.
func examples() []example {
	return []example{
		{"hello", "ask one thing", hello},
		{"stream", "follow the events of a session", stream},
		{"tools", "give the model a Go function as a tool", tools},
		{"permission", "answer the questions of a session", permission},
		{"result", "get a Go value in place of words", result},
		{"memory", "work on files in memory", memory},
		{"provider", "be the model", provider},
		{"budget", "limit what a session spends", budget},
		{"parallel", "run several sessions at once", parallel},
		{"steer", "say something while the model works", steer},
		{"branch", "go back, and go on another way", branch},
	}
}

func main() {
	burin.Main() // a command of the model's has this program as its guard
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	for _, e := range examples() {
		switch {
		case len(args) == 0:
			fmt.Printf("%-12s %s\n", e.name, e.about)
		case e.name == args[0]:
			return e.run(ctx, os.Stdout)
		}
	}
	if len(args) > 0 {
		return fmt.Errorf("no example %q: go run ./examples lists them", args[0])
	}
	return nil
}
