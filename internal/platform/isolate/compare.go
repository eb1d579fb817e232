package isolate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/platform/git"
)

// Limits of what is held in memory. A larger file is a change without contents, which
// [Merge] names as a conflict; [Folder.WritePatch] has all of it.
const (
	MaxFile  = 32 << 20  // of one file
	MaxTotal = 256 << 20 // of all contents of Changes, and of a Patch
)

// Change is a file that was changed in the folder.
type Change struct {
	// Path is that of the file in the workspace, with slashes. One outside of the workspace
	// begins with "../".
	Path string
	// Base and Theirs are the contents at the beginning and now, of a link its target. They
	// are nil where there was no file, never where it was empty.
	Base, Theirs         []byte
	BaseMode, TheirsMode fs.FileMode // 0o644, 0o755, or fs.ModeSymlink; 0: no file
	Binary               bool        // one of both is no text to git
	Large                bool        // over the limit: Base and Theirs are nil
	Repo                 string      // the repository inside of the repository that holds it, from the root; ""

	name, old, fresh string // in the repository; objects
}

// now writes the tree of the files as they are.
func (f *Folder) now(ctx context.Context) (string, error) {
	index := filepath.Join(f.own.dir, "now")
	if err := git.CopyIndex(f.index(), index); err != nil {
		return "", err
	}
	out, err := f.ours(ctx, index, nil, "diff-files", "--name-status", "--no-renames", "-z")
	if err != nil {
		return "", err
	}
	var changed, gone []string
	known := lines(out)
	for i := 0; i+1 < len(known); i += 2 {
		if known[i] == "D" {
			gone = append(gone, "0 "+strings.Repeat("0", len(f.base))+"\t"+known[i+1])
		} else {
			changed = append(changed, known[i+1])
		}
	}
	if out, err = f.ours(ctx, index, nil, "ls-files", "--others", "--exclude-standard", "-z"); err != nil {
		return "", err
	}
	for _, name := range lines(out) {
		if dir, ok := strings.CutSuffix(name, "/"); ok { // the agent made a repository there
			inside, err := f.walk(dir)
			if err != nil {
				return "", err
			}
			changed = append(changed, inside...)
		} else {
			changed = append(changed, name)
		}
	}
	added, err := f.added(ctx)
	if err != nil {
		return "", err
	}
	if len(gone) > 0 {
		if _, err := f.ours(ctx, index, join(gone), "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	if err := f.add(ctx, index, append(changed, added...)); err != nil {
		return "", err
	}
	return f.writeTree(ctx, index)
}

// added are the files that the agent gave to git itself, so they count though git ignores
// them. A repository that the agent has broken has none.
func (f *Folder) added(ctx context.Context) ([]string, error) {
	out, err := f.theirs(ctx, nil, "ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
	if err != nil {
		return nil, ctx.Err()
	}
	root, err := os.OpenRoot(f.tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := copier{from: root, dirs: map[string]bool{".": true}}
	var all []string
	for _, name := range lines(out) {
		if !fs.ValidPath(name) || !c.real(path.Dir(name)) {
			continue
		}
		if info, err := root.Lstat(filepath.FromSlash(name)); err == nil && !info.IsDir() {
			all = append(all, name)
		}
	}
	return all, nil
}

// walk lists the files of a folder that is a repository.
func (f *Folder) walk(dir string) (all []string, err error) {
	err = filepath.WalkDir(filepath.Join(f.tree, filepath.FromSlash(dir)), func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			return filepath.SkipDir
		case d.Name() == ".git" || d.IsDir() || !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return nil
		}
		rel, err := filepath.Rel(f.tree, at)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	return all, err
}

// errTooLarge ends a patch.
var errTooLarge = fmt.Errorf("the patch is larger than %d MiB", MaxTotal>>20)

// Patch is what was changed since the beginning, as one patch for git apply in the root of
// the repository; empty if nothing was. Over [MaxTotal] it is an error: see
// [Folder.WritePatch].
func (f *Folder) Patch(ctx context.Context) ([]byte, error) {
	var b limited
	err := f.WritePatch(ctx, &b)
	if b.over {
		return nil, errTooLarge
	}
	return b.Bytes(), err
}

// limited takes MaxTotal bytes.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = l.over || l.Len()+len(p) > MaxTotal; l.over {
		return 0, errTooLarge
	}
	return l.Buffer.Write(p)
}

// WritePatch writes the patch, of any size.
func (f *Folder) WritePatch(ctx context.Context, w io.Writer) error {
	now, err := f.now(ctx)
	if err != nil || now == f.base {
		return err
	}
	if _, err := f.differ(ctx, now); err != nil {
		return err
	}
	_, err = f.own.git(ctx, order{output: w},
		"diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--src-prefix=a/", "--dst-prefix=b/", f.base, now)
	return err
}

// differ lists what differs in a tree from the beginning, without contents.
func (f *Folder) differ(ctx context.Context, now string) (all []Change, err error) {
	out, err := f.own.git(ctx, order{}, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", f.base, now)
	if err != nil {
		return nil, err
	}
	records := lines(out)
	for i := 0; i+1 < len(records); i += 2 {
		fields := strings.Fields(strings.TrimPrefix(records[i], ":"))
		if len(fields) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected record %q", records[i])
		}
		name := records[i+1]
		if fields[1] == gitlink {
			return nil, fmt.Errorf("%s is a repository now in the place of a file: its changes can't be brought back", name)
		}
		c := Change{Path: f.user.at(name), name: name, BaseMode: fileMode(fields[0]), TheirsMode: fileMode(fields[1]), old: fields[2], fresh: fields[3]}
		for _, n := range f.from {
			if strings.HasPrefix(name, n.path+"/") && len(n.path) > len(c.Repo) {
				c.Repo = n.path
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// fileMode is the mode that git has a number for.
func fileMode(octal string) fs.FileMode {
	switch octal {
	case "000000":
		return 0
	case "100755":
		return 0o755
	case "120000":
		return fs.ModeSymlink
	}
	return 0o644
}

// Changes are the files that were changed since the beginning, by their paths.
func (f *Folder) Changes(ctx context.Context) ([]Change, error) {
	now, err := f.now(ctx)
	if err != nil || now == f.base {
		return nil, err
	}
	all, err := f.differ(ctx, now)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range all {
		for _, side := range []struct {
			mode   fs.FileMode
			object string
		}{{c.BaseMode, c.old}, {c.TheirsMode, c.fresh}} {
			if side.mode != 0 {
				names = append(names, side.object)
			}
		}
	}
	sizes, err := f.sizes(ctx, names)
	if err != nil {
		return nil, err
	}
	var wanted []string
	total := int64(0)
	for i := range all {
		c := &all[i]
		size := sizes[c.old] + sizes[c.fresh]
		if c.Large = sizes[c.old] > MaxFile || sizes[c.fresh] > MaxFile || total+size > MaxTotal; c.Large {
			continue
		}
		total += size
		if c.BaseMode != 0 {
			wanted = append(wanted, c.old)
		}
		if c.TheirsMode != 0 {
			wanted = append(wanted, c.fresh)
		}
	}
	contents, err := f.contents(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if c := &all[i]; !c.Large {
			c.Base, c.Theirs = contents[c.old], contents[c.fresh]
			c.Binary = binary(c.Base) || binary(c.Theirs)
		}
	}
	return all, nil
}

// sizes are those of objects.
func (f *Folder) sizes(ctx context.Context, objects []string) (map[string]int64, error) {
	out, err := f.own.git(ctx, order{input: []byte(strings.Join(objects, "\n") + "\n")}, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	all := make(map[string]int64, len(objects))
	for line := range strings.Lines(string(out)) {
		object, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if all[object], err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, fmt.Errorf("git cat-file: %q", line)
		}
	}
	return all, nil
}

// contents are those of objects.
func (f *Folder) contents(ctx context.Context, objects []string) (map[string][]byte, error) {
	all := make(map[string][]byte, len(objects))
	if len(objects) == 0 {
		return all, nil
	}
	out, err := f.own.git(ctx, order{input: []byte(strings.Join(objects, "\n") + "\n")}, "cat-file", "--batch=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	for r := bufio.NewReader(bytes.NewReader(out)); ; {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		object, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %q", line)
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, err
		}
		if _, err := r.ReadByte(); err != nil {
			return nil, err
		}
		all[object] = data
	}
}

// binary says what git takes for no text.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }
