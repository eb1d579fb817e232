package split

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

const (
	maxFiles  = 2000    // that are changed
	maxPieces = 3000    // files then are one piece each
	maxText   = 1 << 20 // bytes of a file that is compared line by line
	around    = 3       // lines of context; changes with more between them are pieces of their own
)

// Piece is a part of the changes that is in one commit or in none.
type Piece struct {
	ID      string // "3", or "3.2" for the second part of the third file
	Path    string
	What    string // "new file", "lines 12-20", "renamed from a.go"
	Added   int    // lines
	Removed int
	Text    string // a diff; "" where there are no lines to show
	Secret  bool   // an untracked file that usually holds keys or passwords, by its name
	// Bulk is a file that a program has written: its lines say little.
	Bulk bool

	file *file
	hunk []udiff.Edit // nil: the whole file
}

// Changes is what differs from HEAD.
type Changes struct {
	Staged bool // what is staged, not the working tree
	Pieces []Piece
	Notes  []string // what is left alone, for people

	head, ref string // commit, "" before the first one, and the ref that moves
	base      string // tree of head
	target    string // tree with all changes
	index     string // sum of the index as it was read
	files     []*file
}

// file is what belongs together of a tree: one file, both names of a renamed one, or a folder
// in the place of a file.
type file struct {
	path   string
	ops    []op
	old    string // content, where the file is divided into pieces
	pieces int
}

// op is an entry of the index.
type op struct{ mode, object, path string }

const gone = "000000" // the mode of what does not exist

// ErrClean reports that nothing differs from HEAD.
var ErrClean = errors.New("nothing to commit: the working tree is clean")

// Read reads the changes: those that are staged if there are any or staged is set, or else
// all of the working tree but what git ignores.
func (r *Repo) Read(ctx context.Context, staged bool) (*Changes, error) {
	if err := r.idle(); err != nil {
		return nil, err
	}
	c := &Changes{}
	var err error
	if c.ref, err = r.branch(ctx); err != nil {
		return nil, err
	}
	if c.head, err = r.commit(ctx, "HEAD"); err != nil {
		return nil, err
	}
	if c.base, err = r.tree(ctx, c.head); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "burin-commit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	index := filepath.Join(tmp, "index")
	if err := r.copyIndex(index); err != nil {
		return nil, err
	}
	if c.index, err = r.git(ctx, command{index: index}, "ls-files", "--stage", "-z"); err != nil {
		return nil, err
	}
	status, err := r.git(ctx, command{index: index}, "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return nil, err
	}
	changed, untracked, anyStaged, err := c.status(status)
	if err != nil {
		return nil, err
	}
	c.Staged = staged || anyStaged
	if !c.Staged {
		if len(changed) > maxFiles {
			return nil, fmt.Errorf("%d files have changed, more than %d: stage a part of them first", len(changed), maxFiles)
		}
		if len(changed) > 0 {
			if _, err := r.git(ctx, command{index: index, input: strings.Join(changed, "\x00") + "\x00"}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
				return nil, err
			}
		}
	}
	tree, err := r.git(ctx, command{index: index}, "write-tree")
	if err != nil {
		return nil, err
	}
	c.target = strings.TrimSpace(tree)
	if c.target == c.base {
		if staged {
			return nil, errors.New("nothing is staged: git add names what to commit")
		}
		return nil, ErrClean
	}
	if err := r.compare(ctx, c, untracked); err != nil {
		return nil, err
	}
	return c, nil
}

// status reads what `git status` says: the files that differ from the index, which of them are
// untracked, and whether the index differs from HEAD.
func (c *Changes) status(out string) (changed []string, untracked map[string]bool, staged bool, err error) {
	untracked = map[string]bool{}
	for record := range strings.SplitSeq(out, "\x00") {
		kind, rest, _ := strings.Cut(record, " ")
		switch kind {
		case "?":
			if strings.HasSuffix(rest, "/") {
				c.Notes = append(c.Notes, rest+" is a repository of its own and is left out")
				continue
			}
			changed = append(changed, rest)
			untracked[rest] = true
		case "u":
			return nil, nil, false, errors.New("there are conflicts: resolve them and git add the files first")
		case "1":
			fields := strings.SplitN(rest, " ", 8)
			if len(fields) < 8 {
				continue
			}
			x, name := fields[0], fields[7]
			if x[0] != '.' {
				staged = true
			}
			if x[1] != '.' {
				changed = append(changed, name)
			}
			if x == ".A" { // git add -N
				untracked[name] = true
			}
		}
	}
	return changed, untracked, staged, nil
}

// compare fills in the pieces.
func (r *Repo) compare(ctx context.Context, c *Changes, untracked map[string]bool) error {
	out, err := r.git(ctx, command{}, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", "--no-ext-diff", c.base, c.target)
	if err != nil {
		return err
	}
	list := parseRaw(out)
	if len(list) > maxFiles {
		return fmt.Errorf("%d files have changed, more than %d: stage a part of them first", len(list), maxFiles)
	}
	var objects []string
	for _, d := range list {
		for _, e := range []op{d.from, d.to} {
			if regular(e.mode) {
				objects = append(objects, e.object)
			}
		}
	}
	blobs, err := r.blobs(ctx, objects)
	if err != nil {
		return err
	}
	divide := true
	for {
		c.Pieces, c.files = nil, nil
		for _, d := range joined(list) {
			c.add(d, blobs, divide)
		}
		if len(c.Pieces) <= maxPieces || !divide {
			break
		}
		divide = false
	}
	for i := range c.Pieces {
		p := &c.Pieces[i]
		p.Secret = untracked[p.Path] && private.Named(p.Path)
	}
	return nil
}

// delta is a line of `git diff-tree --raw`.
type delta struct {
	from, to op
	more     []delta // that can only come with it
}

func parseRaw(out string) (all []delta) {
	parts := strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		f := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(f) != 5 {
			break
		}
		d := delta{from: op{f[0], f[2], parts[i+1]}, to: op{f[1], f[3], parts[i+1]}}
		if f[4][0] == 'R' && i+2 < len(parts) {
			i++
			d.to.path = parts[i+1]
		}
		all = append(all, d)
	}
	return all
}

// joined puts together what cannot be in the same tree: a file and a folder of its name.
func joined(list []delta) []delta {
	at := map[string]int{}
	for i, d := range list {
		at[d.from.path], at[d.to.path] = i, i
	}
	into := make([]int, len(list))
	root := func(i int) int {
		for into[i] != i {
			i = into[i]
		}
		return i
	}
	for i := range into {
		into[i] = i
	}
	for i, d := range list {
		for _, name := range []string{d.from.path, d.to.path} {
			for up := path.Dir(name); up != "."; up = path.Dir(up) {
				if j, ok := at[up]; ok {
					a, b := root(i), root(j)
					into[max(a, b)] = min(a, b)
				}
			}
		}
	}
	var out []delta
	place := map[int]int{}
	for i, d := range list {
		if to := root(i); to != i {
			out[place[to]].more = append(out[place[to]].more, d)
			continue
		}
		place[i] = len(out)
		out = append(out, d)
	}
	return out
}

func regular(mode string) bool { return mode == "100644" || mode == "100755" }

// add adds a file and its pieces.
func (c *Changes) add(d delta, blobs map[string]blob, divide bool) {
	f := &file{path: d.to.path}
	for _, x := range append([]delta{d}, d.more...) {
		if x.from.path != x.to.path {
			f.ops = append(f.ops, op{gone, x.from.object, x.from.path})
		}
		f.ops = append(f.ops, x.to)
	}
	sorting.Stable(f.ops, func(a, b op) int { // what goes makes room for what comes
		return strings.Compare(boolKey(a.mode != gone), boolKey(b.mode != gone))
	})
	c.files = append(c.files, f)
	id := strconv.Itoa(len(c.files))
	before, after := blobs[d.from.object], blobs[d.to.object]
	whole := Piece{ID: id, Path: f.path, What: d.what(before, after), file: f}
	text := (d.from.mode == gone || before.text && regular(d.from.mode)) && (d.to.mode == gone || after.text && regular(d.to.mode))
	if len(d.more) > 0 {
		whole.What += fmt.Sprintf(", with %s", prose.Count(len(d.more), "file"))
	}
	if text {
		whole.Bulk = Bulk(f.path, after.content)
		edits := udiff.Lines(before.content, after.content)
		groups := grouped(before.content, edits)
		if divide && len(d.more) == 0 && d.from.path == d.to.path && d.from.mode == d.to.mode && len(groups) > 1 && !whole.Bulk {
			f.old, f.pieces = before.content, len(groups)
			for i, g := range groups {
				p := Piece{ID: id + "." + strconv.Itoa(i+1), Path: f.path, file: f, hunk: g}
				p.show(before.content, g)
				first := strings.Count(before.content[:g[0].Start], "\n") + 1
				last := max(first, strings.Count(before.content[:g[len(g)-1].End], "\n"))
				p.What = fmt.Sprintf("line %d", first)
				if last > first {
					p.What = fmt.Sprintf("lines %d-%d", first, last)
				}
				c.Pieces = append(c.Pieces, p)
			}
			return
		}
		whole.show(before.content, edits)
	}
	f.pieces = 1
	c.Pieces = append(c.Pieces, whole)
}

func boolKey(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// what says what has become of a file.
func (d *delta) what(before, after blob) string {
	kind := func(mode string) string {
		switch mode {
		case "120000":
			return "symbolic link"
		case "160000":
			return "submodule"
		}
		return "file"
	}
	var words []string
	switch {
	case d.from.mode == gone:
		words = append(words, "new "+kind(d.to.mode))
	case d.to.mode == gone:
		words = append(words, "deleted "+kind(d.from.mode))
	case kind(d.from.mode) != kind(d.to.mode):
		words = append(words, kind(d.from.mode)+" becomes "+kind(d.to.mode))
	case d.from.path != d.to.path:
		words = append(words, "renamed from "+d.from.path)
	case d.from.mode == d.to.mode || d.from.object != d.to.object:
		words = append(words, "changed "+kind(d.to.mode))
	}
	if regular(d.from.mode) && d.from.mode != d.to.mode && regular(d.to.mode) {
		words = append(words, map[string]string{"100755": "made executable", "100644": "no longer executable"}[d.to.mode])
	}
	if (regular(d.from.mode) && !before.text) || (regular(d.to.mode) && !after.text) {
		size := fmt.Sprintf("%d → %d", before.size, after.size)
		switch gone {
		case d.from.mode:
			size = strconv.Itoa(after.size)
		case d.to.mode:
			size = strconv.Itoa(before.size)
		}
		words = append(words, "not text, "+size+" bytes")
	}
	return strings.Join(words, ", ")
}

// show fills in the diff.
func (p *Piece) show(before string, edits []udiff.Edit) {
	u, err := udiff.ToUnifiedDiff("", "", before, edits, around)
	if err != nil {
		return // they are in order: they come from the comparison
	}
	var b strings.Builder
	for _, h := range u.Hunks {
		fmt.Fprintf(&b, "@@ line %d @@\n", h.FromLine)
		for _, l := range h.Lines {
			sign := " "
			switch l.Kind {
			case udiff.Delete:
				sign = "-"
				p.Removed++
			case udiff.Insert:
				sign = "+"
				p.Added++
			case udiff.Equal:
			}
			b.WriteString(sign + strings.TrimSuffix(l.Content, "\n"))
			if !strings.HasSuffix(l.Content, "\n") {
				b.WriteString("\n\\ No newline at end of file")
			}
			b.WriteByte('\n')
		}
	}
	p.Text = b.String()
}

// grouped puts edits together that have few lines between them.
func grouped(before string, edits []udiff.Edit) (groups [][]udiff.Edit) {
	last := 0
	for _, e := range edits {
		if len(groups) > 0 && strings.Count(before[last:e.Start], "\n") <= 2*around {
			groups[len(groups)-1] = append(groups[len(groups)-1], e)
		} else {
			groups = append(groups, []udiff.Edit{e})
		}
		last = e.End
	}
	return groups
}

// lock reports whether a file is a package manager's record of versions.
func lock(name string) bool {
	switch base := path.Base(name); base {
	case "go.sum", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json", "go.work.sum":
		return true
	default:
		return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".lockb") || strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".min.css") || strings.HasSuffix(base, ".map")
	}
}

// blob is a file's content, as far as it is compared.
type blob struct {
	size    int
	text    bool
	content string
}

// blobs reads the files that are text.
func (r *Repo) blobs(ctx context.Context, objects []string) (map[string]blob, error) {
	all := map[string]blob{}
	slices.Sort(objects)
	objects = slices.Compact(objects)
	if len(objects) == 0 {
		return all, nil
	}
	out, err := r.git(ctx, command{input: strings.Join(objects, "\n") + "\n"}, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	var small []string
	for line := range strings.Lines(out) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, fmt.Errorf("git has no object %s", name)
		}
		all[name] = blob{size: n}
		if n <= maxText {
			small = append(small, name)
		}
	}
	// A few at a time: all of them together might not fit.
	for batch := range slices.Chunk(small, 64) {
		out, err := r.git(ctx, command{input: strings.Join(batch, "\n") + "\n"}, "cat-file", "--batch")
		if err != nil {
			return nil, err
		}
		for _, name := range batch {
			_, rest, ok := strings.Cut(out, "\n")
			n := all[name].size
			if !ok || len(rest) < n+1 {
				return nil, fmt.Errorf("git gave less than object %s", name)
			}
			content := rest[:n]
			out = rest[n+1:]
			if !strings.Contains(content, "\x00") {
				all[name] = blob{size: n, text: true, content: content}
			}
		}
	}
	return all, nil
}

// copyIndex copies the index, if there is one.
func (r *Repo) copyIndex(to string) error {
	err := git.CopyIndex(filepath.Join(r.dir, "index"), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Clean reports whether git has a file and it doesn't differ from what is committed.
func (r *Repo) Clean(ctx context.Context, path string) (bool, error) {
	known, err := r.git(ctx, command{}, "ls-files", "--", path)
	if err != nil || known == "" {
		return false, err
	}
	out, err := r.git(ctx, command{}, "status", "--porcelain", "--", path)
	return out == "", err
}
