package burin_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update", false, "write testdata/api.txt anew")

// public reports whether a package is for other programs.
func public(path string) bool {
	if strings.Contains(path, "internal/") || strings.HasSuffix(path, "test") || strings.Contains(path, "test/") {
		return false
	}
	switch first, _, _ := strings.Cut(path, "/"); first {
	case "", "session", "agent", "transcript", "tool", "llm":
		return true
	}
	return false
}

// What other programs can use is written down, so that nobody changes it unseen. Run the
// test with -update where the change is meant, and say in CHANGELOG.md what they have to do.
func TestPublicAPI(t *testing.T) {
	packages, _ := checked(t, "internal/mode/tui")
	var paths []string
	for path := range packages {
		if public(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var b bytes.Buffer
	for _, path := range paths {
		surface(&b, packages[path])
	}
	const golden = "testdata/api.txt"
	if *updateAPI {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			t.Errorf("new: %s", line)
		}
	}
	if t.Failed() {
		t.Log("go test . -run TestPublicAPI -update writes it down")
	}
}

// surface writes what a package has for others, a line each: its names, the fields of its
// structs, and the methods of its types.
func surface(b *bytes.Buffer, p *types.Package) {
	name := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	short := strings.TrimPrefix(strings.TrimPrefix(p.Path(), module), "/")
	if short == "" {
		short = p.Name()
	}
	for _, n := range p.Scope().Names() {
		o := p.Scope().Lookup(n)
		if !o.Exported() {
			continue
		}
		tn, ok := o.(*types.TypeName)
		if !ok || tn.IsAlias() {
			fmt.Fprintf(b, "%s: %s\n", short, types.ObjectString(o, name))
			continue
		}
		kind := types.TypeString(o.Type().Underlying(), name)
		switch u := o.Type().Underlying().(type) {
		case *types.Struct:
			kind = "struct"
			for f := range u.Fields() {
				if f.Exported() {
					fmt.Fprintf(b, "%s: field %s.%s %s\n", short, n, f.Name(), types.TypeString(f.Type(), name))
				}
			}
		case *types.Interface:
			kind = "interface"
		}
		fmt.Fprintf(b, "%s: type %s %s\n", short, n, kind)
		recv := o.Type()
		if !types.IsInterface(recv) {
			recv = types.NewPointer(recv)
		}
		for s := range types.NewMethodSet(recv).Methods() {
			if s.Obj().Exported() {
				fmt.Fprintf(b, "%s: method %s.%s%s\n", short, n, s.Obj().Name(), strings.TrimPrefix(types.TypeString(s.Obj().Type(), name), "func"))
			}
		}
	}
}
