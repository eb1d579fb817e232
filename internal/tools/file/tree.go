package file

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

// Tree is the files behind the addresses of a scheme, such as skill://name/path.
type Tree interface {
	// Path is the file or folder on disk that an address stands for; "" is none. With a slash
	// at its end the address means a folder.
	Path(address string) string
	// Open gives the files to use, and the name in them of what the address stands for.
	Open(address string, use func(files fs.FS, name string) error) error
}

// reads is the access of a call that reads a path or an address. Behind an address is either
// a file of the workspace, for which its rules hold, or something that was made to be read.
func reads(f *files, written string) []tool.Access {
	scheme, _, ok := splitURL(written)
	if !ok || f.Workspace.Mounted(written) {
		return f.access(tool.AccessRead, orRoot(written))
	}
	if tree := f.Trees[scheme]; tree != nil {
		if at := tree.Path(strings.TrimRight(written, "/")); inside(f, at) {
			return f.access(tool.AccessRead, at)
		}
	}
	all := []tool.Access{{Kind: tool.AccessRead, Target: written}}
	if target := f.Targets[scheme]; target != nil {
		all = append(all, tool.Access{Kind: tool.AccessNetwork, Target: target(written)})
	}
	if call := f.Calls[scheme]; call != nil {
		if target := call(written); target != "" {
			all = append(all, tool.Access{Kind: tool.AccessServer, Target: target})
		}
	}
	return all
}

func inside(f *files, real string) bool {
	if real == "" {
		return false
	}
	_, err := f.Workspace.Resolve(real)
	return err == nil
}

// at gives the files in which a search looks for a path or an address, and its path there.
func at(ctx context.Context, f *files, written string, use func(f *files, path string) (*tool.Result, error)) (r *tool.Result, err error) {
	f = f.in(ctx)
	scheme, _, ok := splitURL(written)
	if !ok {
		return use(f, written)
	}
	if f.Workspace.Mounted(written) {
		return mounted(f, written, use)
	}
	tree := f.Trees[scheme]
	if tree == nil {
		return single(ctx, f, scheme, written, use)
	}
	if real := tree.Path(strings.TrimRight(written, "/") + "/"); inside(f, real) {
		return use(f, real)
	}
	err = tree.Open(written, func(below fs.FS, name string) (err error) {
		seen := among(f, below)
		seen.prefix = prefixOf(scheme, written, name)
		r, err = use(seen, name)
		return err
	})
	return r, err
}

// prefixOf is what makes addresses of the paths of a tree, in which an address is name.
func prefixOf(scheme, written, name string) string {
	at := strings.TrimRight(written, "/")
	if at == scheme+":" {
		return scheme + "://"
	}
	if before, ok := strings.CutSuffix(at, "/"+name); ok {
		return before + "/"
	}
	return at + "/"
}

// single is at for an address behind which is one text.
func single(ctx context.Context, f *files, scheme, written string, use func(f *files, path string) (*tool.Result, error)) (*tool.Result, error) {
	text, err := behind(ctx, f, scheme, written)
	if err != nil {
		return nil, err
	}
	name := strings.Trim(strings.TrimPrefix(written, scheme+"://"), "/")
	if !fs.ValidPath(name) || name == "." {
		name = "list"
	}
	below := workspace.NewMemory()
	if err := below.WriteFile(name, []byte(text), 0o644); err != nil {
		return nil, err
	}
	f.Learn(text)
	seen := among(f, below)
	seen.prefix, seen.Withheld = scheme+"://", nil
	return use(seen, name)
}

// among are the tools' files where there are no others than these.
func among(f *files, below fs.FS) *files {
	seen := *f
	seen.Workspace = workspace.New(workspace.NewOverlay(below))
	seen.fs, seen.Cache = seen.Workspace.Files(), nil
	seen.Withheld = func(string) func(string) bool { return private.Named }
	return &seen
}

// mounted is at for the address of a mount.
func mounted(f *files, written string, use func(f *files, path string) (*tool.Result, error)) (*tool.Result, error) {
	name, err := f.Workspace.Resolve(written)
	if err != nil {
		return nil, err
	}
	below, rel, err := f.Workspace.Below(name)
	if err != nil {
		return nil, err
	}
	seen := among(f, below)
	seen.prefix = strings.TrimSuffix(name, strings.TrimPrefix(rel, "."))
	return use(seen, rel)
}

// refusesSecret is the error for an address of a file that usually holds keys or passwords:
// nobody was asked about it.
func refusesSecret(f *files, scheme, address string) error {
	if f.Trees[scheme] != nil && private.Named(path.Base(address)) {
		return fmt.Errorf("%s usually holds keys or passwords: let the user show what is needed of it", address)
	}
	return nil
}
