package vfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

// edit is a tree with changes that nobody else sees yet. One without changes is for looking.
// Its paths are real ones.
type edit struct {
	ctx context.Context // of the operation, which the edit does not outlive
	q   store.Querier
	t   *Tree
	st  *state // whose lock is held for reading

	nodes    map[int64]*node            // as they will be; nil: purged
	names    map[int64]map[string]*node // what of it is new in folders; nil: nothing has that name now
	contents map[int64]content          // new versions, by file
	plain    map[int64][]byte           // the same, as they were written
	dropped  map[int64]int64            // versions of files before these will be gone
	last     int64                      // number of the newest node
	added    int                        // nodes
	grown    int64                      // bytes in the database, once it is written
}

func (t *Tree) look(ctx context.Context, st *state) *edit {
	return &edit{ctx: ctx, q: t.s.db, t: t, st: st, last: st.last}
}

// view looks at the tree as it is now. look must not keep the edit, and not use the tree.
func (t *Tree) view(ctx context.Context, look func(e *edit) error) error {
	if err := allowed(ctx, t, t.s.db, false); err != nil {
		return err
	}
	st, err := t.fresh(ctx, t.s.db, t.s.project(t.rows.project))
	if err != nil {
		return err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	return look(t.look(ctx, st))
}

// change makes what plan does to the tree in one transaction. plan may run several times, each
// time on the tree as it then is, and must not use the tree otherwise.
func (t *Tree) change(ctx context.Context, plan func(e *edit) error) error {
	if err := allowed(ctx, t, t.s.db, true); err != nil {
		return err
	}
	p := t.s.project(t.rows.project)
	select { // those of this process come one after the other, as all would change what the others stand on
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var first *edit
	var planned int64
	err := again(func() error {
		st, err := t.fresh(ctx, t.s.db, p)
		if err == nil {
			first, planned, err = t.plan(ctx, t.s.db, st, plan)
		}
		return err
	})
	if err != nil || first.empty() {
		return err
	}
	e, revision := first, planned
	err = t.s.db.Update(ctx, func(q store.Querier) error {
		e, revision = first, planned
		if err := t.rows.serve(ctx, q); err != nil {
			return err
		}
		ok, err := t.rows.step(ctx, q, revision)
		if err != nil {
			return err
		}
		if !ok { // another process came between: once more, with the tree locked
			if err := t.rows.lock(ctx, q); err != nil {
				return err
			}
			st, err := t.fresh(ctx, q, p)
			if err != nil {
				return err
			}
			if e, revision, err = t.plan(ctx, q, st, plan); err != nil || e.empty() {
				return err
			}
			if ok, err = t.rows.step(ctx, q, revision); err != nil || !ok {
				return errors.Join(err, errors.New("the files of the project changed while they were locked"))
			}
		}
		if err := allowed(ctx, t, q, true); err != nil {
			return err
		}
		if err := e.write(ctx, q, revision+1); err != nil || t.fits == nil || e.grown <= 0 {
			return err
		}
		return t.fits(ctx, q)
	})
	if err != nil || e.empty() {
		return err
	}
	e.st.mu.Lock()
	if e.st.revision == revision { // else somebody has read it from the database already
		e.apply()
	}
	e.st.mu.Unlock()
	if e.added > 0 {
		t.s.trim()
	}
	if t.changed != nil {
		t.changed()
	}
	return nil
}

func (t *Tree) plan(ctx context.Context, q store.Querier, st *state, plan func(e *edit) error) (*edit, int64, error) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	e := t.look(ctx, st)
	e.q = q
	e.nodes, e.names = map[int64]*node{}, map[int64]map[string]*node{}
	e.contents, e.plain, e.dropped = map[int64]content{}, map[int64][]byte{}, map[int64]int64{}
	if err := plan(e); err != nil {
		return nil, 0, err
	}
	if most := t.s.limits.Nodes; e.added > 0 && len(st.nodes)+e.added > most {
		trash := 0
		for id, n := range st.nodes {
			if now, changed := e.nodes[id]; n.parent == nowhere || n.deleted || changed && now != nil && now.deleted {
				trash++
			}
		}
		return nil, 0, fmt.Errorf("%w: a project has at most %d files and folders, and %d of these are deleted: purge them, or remove some", Limit, most, trash)
	}
	if most := t.s.limits.Bytes; len(e.contents) > 0 && st.bytes+e.size() > most {
		return nil, 0, fmt.Errorf("%w: the files of a project take at most %d MB: purge what is deleted, drop old versions, or remove some", Limit, most>>20)
	}
	return e, st.revision, nil
}

func (e *edit) empty() bool { return len(e.nodes) == 0 }

func (e *edit) size() (bytes int64) {
	for _, c := range e.contents {
		bytes += c.size()
	}
	return bytes
}

// write writes the changes.
func (e *edit) write(ctx context.Context, q store.Querier, revision int64) error {
	e.grown = e.size()
	generation, purged := int64(e.t.rows.ring.Newest()), false
	for id, before := range e.dropped {
		var freed int64
		if err := q.QueryRow(ctx, `SELECT COALESCE(SUM(size), 0) FROM {vfs_contents} WHERE project = ?1 AND node = ?2 AND version < ?3`,
			e.t.rows.project, id, before).Scan(&freed); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM {vfs_contents} WHERE project = ?1 AND node = ?2 AND version < ?3`, e.t.rows.project, id, before); err != nil {
			return err
		}
		e.grown -= freed
	}
	for id, n := range e.nodes {
		if n == nil {
			purged = true
			if _, err := q.Exec(ctx, `DELETE FROM {vfs_nodes} WHERE project = ?1 AND node = ?2`, e.t.rows.project, id); err != nil {
				return err
			}
			continue
		}
		sealed, err := e.t.rows.ring.Seal(n.place(e.t.rows.project), n.record())
		if err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `INSERT INTO {vfs_nodes} (project, node, parent, version, oldest, deleted, revision, generation, sealed)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
			ON CONFLICT (project, node) DO UPDATE SET parent = excluded.parent, version = excluded.version, oldest = excluded.oldest,
			deleted = excluded.deleted, revision = excluded.revision, generation = excluded.generation, sealed = excluded.sealed`,
			e.t.rows.project, id, n.parent, n.version, n.oldest, truth(n.deleted), revision, generation, sealed); err != nil {
			return err
		}
	}
	for _, c := range e.contents {
		if _, err := q.Exec(ctx, `INSERT INTO {vfs_contents} (project, node, version, size, generation, facts, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			e.t.rows.project, c.node, c.version, c.size(), generation, c.facts, c.data); err != nil {
			return err
		}
	}
	set := `UPDATE {vfs_projects} SET last = ?2, bytes = bytes + ?3 WHERE project = ?1`
	if purged {
		set = `UPDATE {vfs_projects} SET last = ?2, bytes = bytes + ?3, purged = revision WHERE project = ?1`
	}
	_, err := q.Exec(ctx, set, e.t.rows.project, e.last, e.grown)
	return err
}

// apply makes the tree in memory what the database has now. Its lock is held.
func (e *edit) apply() {
	e.st.revision++
	e.st.last = e.last
	e.st.bytes += e.grown
	for id := range e.nodes { // first, as names pass from one node to another
		e.st.set(id, nil)
	}
	for id, n := range e.nodes {
		if n != nil {
			e.st.set(id, n)
		}
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// node gives a node as it will be; nil: there is none.
func (e *edit) node(id int64) *node {
	if n, ok := e.nodes[id]; ok {
		return n
	}
	return e.st.nodes[id]
}

// child gives what has a name in a folder, deleted or not; nil: nothing.
func (e *edit) child(dir int64, name string) *node {
	if n, ok := e.names[dir][name]; ok {
		return n
	}
	if f := e.st.folders[dir]; f != nil {
		return f.names[name]
	}
	return nil
}

// children are what is in a folder, deleted or not, in no order.
func (e *edit) children(dir int64) []*node {
	var all []*node
	changed := e.names[dir]
	if f := e.st.folders[dir]; f != nil {
		all = make([]*node, 0, len(f.names))
		for name, n := range f.names {
			if _, ok := changed[name]; !ok {
				all = append(all, n)
			}
		}
	}
	for _, n := range changed {
		if n != nil {
			all = append(all, n)
		}
	}
	return all
}

// put sets what becomes of a node.
func (e *edit) put(n *node) {
	e.unname(n.id)
	e.nodes[n.id] = n
	if n.parent != nowhere {
		e.name(n.parent, n.name, n)
	}
}

func (e *edit) unname(id int64) {
	if old := e.node(id); old != nil && old.parent != nowhere && e.child(old.parent, old.name) == old {
		e.name(old.parent, old.name, nil)
	}
}

func (e *edit) name(dir int64, name string, n *node) {
	if e.names[dir] == nil {
		e.names[dir] = map[string]*node{}
	}
	e.names[dir][name] = n
}

// add makes a new node.
func (e *edit) add(n node) *node {
	e.last++
	e.added++
	n.id = e.last
	e.put(&n)
	return &n
}

var rootNode = &node{id: root, name: "/", dir: true, mode: 0o755}

// find gives what is at a path, if neither it nor a folder above it is deleted.
func (e *edit) find(at string) (*node, error) {
	n, deleted, err := e.findAll(at)
	if err == nil && deleted {
		return nil, Deleted
	}
	return n, err
}

// findAll gives what is at a path, and whether it or a folder above it is deleted.
func (e *edit) findAll(at string) (n *node, deleted bool, err error) {
	n = rootNode
	for rest := at[1:]; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if !n.dir {
			return nil, false, NotFound
		}
		if n = e.child(n.id, name); n == nil {
			return nil, false, NotFound
		}
		deleted = deleted || n.deleted
	}
	return n, deleted, nil
}

// folder makes sure that there is a folder at a path. Folders above it are made, or come back,
// without what is deleted in them.
func (e *edit) folder(at string) (*node, error) {
	n := rootNode
	for rest := at[1:]; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		child := e.child(n.id, name)
		switch {
		case child == nil:
		case child.dir:
			n = e.revive(child)
			continue
		case !child.deleted:
			return nil, NotDir
		default:
			if err := e.orphan(child); err != nil {
				return nil, err
			}
		}
		made, err := e.create(n, name)
		if err != nil {
			return nil, err
		}
		made.dir, made.mode, made.mime = true, 0o755, folderType
		n = e.add(made)
	}
	return n, nil
}

// create begins a new node.
func (e *edit) create(parent *node, name string) (node, error) {
	if most := e.t.s.limits.Name; len(name) > most {
		return node{}, fmt.Errorf("%w, %w: a name has at most %d bytes", InvalidPath, Limit, most)
	}
	now := time.Now().UnixMilli()
	return node{parent: parent.id, name: name, created: now, modified: now}, nil
}

// revive brings a deleted folder back without what is in it.
func (e *edit) revive(n *node) *node {
	if !n.deleted {
		return n
	}
	for _, child := range e.children(n.id) {
		if !child.deleted {
			gone := *child
			gone.deleted = true
			e.put(&gone)
		}
	}
	back := *n
	back.deleted = false
	e.put(&back)
	return &back
}

// pathOf is where a node is.
func (e *edit) pathOf(n *node) string {
	if n.parent == nowhere {
		return n.path
	}
	var parts []string
	for ; n != nil && n.id != root; n = e.node(n.parent) {
		parts = append(parts, n.name)
	}
	slices.Reverse(parts)
	return "/" + strings.Join(parts, "/")
}

// orphan keeps a file without its place, or all files of a folder, which goes.
func (e *edit) orphan(n *node) error {
	if n.dir {
		for _, child := range e.children(n.id) {
			if err := e.orphan(child); err != nil {
				return err
			}
		}
		e.remove(n)
		return nil
	}
	o := *n
	o.path, o.orphaned = e.pathOf(n), time.Now().UnixMilli()
	o.parent, o.deleted = nowhere, false
	e.put(&o)
	return nil
}

// remove purges a node, which has nothing in it.
func (e *edit) remove(n *node) {
	e.unname(n.id)
	e.nodes[n.id] = nil
	if e.st.nodes[n.id] == nil { // made by this change
		delete(e.nodes, n.id)
		e.added--
	} else if !n.dir {
		e.dropped[n.id] = n.version + 1
	}
	delete(e.contents, n.id)
	delete(e.plain, n.id)
}

// purge removes a node with all that is in it.
func (e *edit) purge(n *node) {
	if n.dir {
		for _, child := range e.children(n.id) {
			e.purge(child)
		}
	}
	e.remove(n)
}

// file writes a file. Its mode is kept; a new one has mode.
func (e *edit) file(at string, data []byte, mode fs.FileMode) (*node, error) {
	if most := e.t.s.limits.File; int64(len(data)) > most {
		return nil, fmt.Errorf("%w: a file has at most %d bytes", Limit, most)
	}
	if at == "/" {
		return nil, NotFile
	}
	dir, err := e.folder(path.Dir(at))
	if err != nil {
		return nil, err
	}
	name, mime := path.Base(at), typeOf(data)
	old := e.child(dir.id, name)
	switch {
	case old == nil:
	case old.deleted, !old.dir && old.mime != mime:
		if !old.deleted {
			mode = old.mode
		}
		if err := e.orphan(old); err != nil {
			return nil, err
		}
		old = nil
	case old.dir:
		return nil, NotFile
	}
	var n node
	if old == nil {
		if n, err = e.create(dir, name); err != nil {
			return nil, err
		}
		n.mode, n.mime, n.version, n.oldest = mode.Perm(), mime, 1, 1
		n.id = e.add(n).id
	} else {
		n = *old
		n.modified = time.Now().UnixMilli()
		if _, again := e.contents[n.id]; !again { // a change makes one version
			n.version++
		}
		if oldest := n.version - int64(e.t.s.limits.Versions) + 1; oldest > n.oldest {
			n.oldest = oldest
			e.dropped[n.id] = oldest
		}
	}
	n.size = int64(len(data))
	e.put(&n)
	if e.contents[n.id], err = seal(e.t.rows.ring, e.t.rows.project, &n, data, e.t.author); err != nil {
		return nil, err
	}
	e.plain[n.id] = data
	return &n, nil
}

// again repeats what a change of somebody else came into.
func again(do func() error) error {
	for range 5 {
		if err := do(); !errors.Is(err, errGone) {
			return err
		}
	}
	return fmt.Errorf("%w: the content of a file is missing", ErrUnreadable)
}

// content reads the current version of a file.
func (e *edit) content(n *node) ([]byte, error) {
	if n.dir {
		return nil, NotFile
	}
	if data, ok := e.plain[n.id]; ok {
		return data, nil
	}
	return e.t.rows.content(e.ctx, e.q, n, n.version)
}

// list gives what isn't deleted in a folder, by name. The caller must not change it.
func (e *edit) list(dir int64) []*node {
	if len(e.names[dir]) == 0 {
		if f := e.st.folders[dir]; f != nil {
			return f.list()
		}
		return nil
	}
	all := slices.DeleteFunc(e.children(dir), func(n *node) bool { return n.deleted })
	slices.SortFunc(all, byName)
	return all
}
