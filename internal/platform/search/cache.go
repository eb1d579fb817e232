package search

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what a [Cache] trusts and keeps.
const (
	cacheTTL     = time.Second            // a list of files is not used for longer
	cacheRecheck = 200 * time.Millisecond // nor, from then on, to say that there is nothing
	cacheLists   = 16                     // the oldest goes first
	cacheFiles   = 1 << 20                // entries of all lists together, some 60 MB
)

// Cache remembers for a second which files are where, so that searches that
// follow each other closely, as when somebody types, walk the tree once. Ignore
// rules are applied to what it holds; names and contents are looked at anew.
//
// Whoever changes files calls [Cache.Invalidate]. What others change is seen a
// second later at the latest, and 200 ms later if the search would otherwise find
// nothing. A Cache is safe for concurrent use; the zero value is not usable.
type Cache struct {
	mu    sync.Mutex
	lists map[cacheKey]*fileList
	files int // entries of all lists
	reset int // how often something was invalidated
}

type cacheKey struct {
	root    any // the directory, or the file system that has none
	path    string
	hidden  bool
	ignored bool
}

// fileList is what a walk found, in order. It never changes.
type fileList struct {
	items []item
	notes []string
	made  time.Time
}

// item is an entry of a folder.
type item struct {
	dir string
	entry
}

// NewCache makes an empty cache.
func NewCache() *Cache { return &Cache{lists: map[cacheKey]*fileList{}} }

// Invalidate forgets what a change to path, absolute or relative to any root, may
// have made wrong; "" forgets everything.
func (c *Cache) Invalidate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset++
	name = filepath.ToSlash(name)
	for key, list := range c.lists {
		if name == "" || key.concerns(name) {
			c.drop(key, list)
		}
	}
}

// concerns reports whether name may be in the list, or the list in it.
func (k cacheKey) concerns(name string) bool {
	inside := func(name, folder string) bool {
		return folder == "." || name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
	}
	name, at := path.Clean(name), k.path
	if isAbs(name) && !isAbs(at) {
		dir, ok := k.root.(string)
		if !ok {
			return true // nobody knows
		}
		at = path.Join(filepath.ToSlash(dir), at)
	}
	return inside(name, at) || inside(at, name)
}

// isAbs reports whether a name does not begin at the root of the file system.
func isAbs(name string) bool { return path.IsAbs(name) || filepath.IsAbs(name) }

func (c *Cache) drop(key cacheKey, list *fileList) {
	delete(c.lists, key)
	c.files -= len(list.items)
}

// get gives the list for key if it is young enough.
func (c *Cache) get(key cacheKey) *fileList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.lists[key]
	if list == nil || time.Since(list.made) >= cacheTTL {
		return nil
	}
	return list
}

// mark tells how often something has been invalidated.
func (c *Cache) mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reset
}

// put keeps a list until its time is over, unless something was invalidated since
// mark.
func (c *Cache) put(key cacheKey, list *fileList, mark int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reset != mark || len(list.items) > cacheFiles {
		return
	}
	if old := c.lists[key]; old != nil {
		c.drop(key, old)
	}
	for len(c.lists) >= cacheLists || c.files+len(list.items) > cacheFiles {
		var oldest cacheKey
		var found *fileList
		for k, l := range c.lists {
			if found == nil || l.made.Before(found.made) {
				oldest, found = k, l
			}
		}
		c.drop(oldest, found)
	}
	c.lists[key] = list
	c.files += len(list.items)
	time.AfterFunc(cacheTTL, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lists[key] == list {
			c.drop(key, list)
		}
	})
}

// keyOf is where the list for a path of a file system is kept; ok is false if the
// file system cannot be told from others.
func keyOf(fsys fs.FS, name string, f *filter) (key cacheKey, ok bool) {
	key = cacheKey{path: name, hidden: f.hidden, ignored: f.ignored}
	if r, is := fsys.(Rooted); is {
		key.root = r.Dir()
		return key, true
	}
	if dirOf(fsys) != "" { // what lies over a directory isn't told of changes to it
		return key, false
	}
	key.root = fsys
	return key, reflect.ValueOf(fsys).Comparable()
}

// collector lists entries for a cache.
type collector struct{}

func (collector) visit(p *place, e entry, out *results[item]) {
	out.add(item{p.path, e})
}

// scan walks from seeds and lists everything.
func scan(ctx context.Context, s *source, seeds []seed) ([]item, []string, error) {
	w := &walk[item]{
		source:  s,
		stop:    new(atomic.Bool),
		want:    func(entry) bool { return true },
		cost:    func(i item) int { return 64 + len(i.name) },
		visitor: func() visitor[item] { return collector{} },
	}
	w.plant(seeds)
	var items []item
	err := w.run(ctx, func(i item) bool {
		items = append(items, i)
		return true
	})
	return items, w.stats.notes, err
}
