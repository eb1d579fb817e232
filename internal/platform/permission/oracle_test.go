package permission_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// forbidden is a program that no rule of the tests allows.
const forbidden = "forbidden"

// oracle runs a script in an interpreter that touches nothing, and records the
// programs that it really starts.
type oracle struct {
	mu      sync.Mutex
	started []string
	depth   int
}

// runs reports whether a script starts the forbidden program. It is true at most
// when it does: what is not emulated starts nothing.
func runs(t testing.TB, script string) bool {
	o := &oracle{}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	o.script(ctx, script)
	o.mu.Lock() // what still runs in the background does not count
	defer o.mu.Unlock()
	for _, s := range o.started {
		if path.Base(s) == forbidden {
			return true
		}
	}
	return false
}

func (o *oracle) script(ctx context.Context, script string) {
	if o.depth > 4 {
		return
	}
	o.depth++
	defer func() { o.depth-- }()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return
	}
	unpipe(f)
	r, err := interp.New(
		interp.StdIO(strings.NewReader(""), io.Discard, io.Discard),
		interp.Env(expand.ListEnviron("HOME=/home/me", "PATH=/bin", "PWD=/")),
		interp.Dir("/"),
		interp.CallHandler(func(_ context.Context, args []string) ([]string, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.started = append(o.started, args[0])
			switch args[0] {
			case "exec", "command", "builtin", "eval", "cd", "echo", "printf", "read", "set", "shift", "test", "[", "true", "false", ":", "exit", "return", "break", "continue", "wait", "pwd", "type", "export", "unset", "trap":
			default:
				if interp.IsBuiltin(args[0]) { // some that the interpreter does not have end it
					return []string{"true"}, nil
				}
			}
			return args, nil
		}),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return o.exec }),
		interp.OpenHandler(func(context.Context, string, int, os.FileMode) (io.ReadWriteCloser, error) { return nothing{}, nil }),
		interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, nil }),
	)
	if err == nil {
		_ = r.Run(ctx, f) // how it ends does not matter
	}
}

// unpipe takes process substitutions out of words and runs them before, as the
// interpreter would open real pipes for them.
func unpipe(f *syntax.File) {
	var first []*syntax.Stmt
	syntax.Walk(f, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok {
			for i, part := range word.Parts {
				if p, ok := part.(*syntax.ProcSubst); ok {
					first = append(first, p.Stmts...)
					word.Parts[i] = &syntax.Lit{Value: "pipe"}
				}
			}
		}
		return true
	})
	f.Stmts = append(first, f.Stmts...)
}

// exec stands for the programs that start others.
func (o *oracle) exec(ctx context.Context, args []string) error {
	o.mu.Lock()
	o.started = append(o.started, args[0])
	o.mu.Unlock()
	inner := args[1:]
	skip := func(options string) {
		for len(inner) > 0 && strings.HasPrefix(inner[0], "-") && len(inner[0]) > 1 {
			value := len(inner[0]) == 2 && strings.Contains(options, inner[0][1:])
			inner = inner[1:]
			if value && len(inner) > 0 {
				inner = inner[1:]
			}
		}
	}
	switch path.Base(args[0]) {
	case "bash", "sh":
		for i, a := range inner {
			if !strings.HasPrefix(a, "-") {
				return nil
			}
			if strings.Contains(a, "c") && i+1 < len(inner) {
				o.script(ctx, inner[i+1])
				return nil
			}
		}
		return nil
	case "env":
		skip("u")
		for len(inner) > 0 && strings.Contains(inner[0], "=") {
			inner = inner[1:]
		}
	case "timeout":
		skip("ks")
		if len(inner) > 0 {
			inner = inner[1:]
		}
	case "nice":
		skip("n")
	case "xargs":
		skip("nPILdsE")
	case "watch":
		skip("n")
		o.script(ctx, strings.Join(inner, " "))
		return nil
	case "nohup", "setsid", "sudo":
		skip("")
	case "find":
		for i, a := range inner {
			if a == "-exec" || a == "-execdir" || a == "-ok" || a == "-okdir" {
				_ = o.exec(ctx, append(inner[i+1:len(inner):len(inner)], ";"))
			}
		}
		return nil
	default:
		return nil
	}
	if len(inner) > 0 && o.depth < 4 {
		o.depth++
		defer func() { o.depth-- }()
		return o.exec(ctx, inner)
	}
	return nil
}

// nothing is a file that is empty and keeps nothing.
type nothing struct{}

func (nothing) Read([]byte) (int, error)    { return 0, io.EOF }
func (nothing) Write(b []byte) (int, error) { return len(b), nil }
func (nothing) Close() error                { return nil }
