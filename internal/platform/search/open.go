package search

import (
	"context"
	"io/fs"
	"time"
)

// search is a walk that can be begun: from the roots, or with the list of a cache.
type search struct {
	*source
	fsys  fs.FS
	names []string
	seeds []seed

	cache *Cache
	key   cacheKey
	list  *fileList
	known bool // list was made by an earlier search
}

// openSearch reads the filter, which adjust may change, and opens the roots.
func openSearch(fsys fs.FS, f Filter, adjust func(*filter)) (*search, error) {
	filter, err := newFilter(f)
	if err != nil {
		return nil, err
	}
	if adjust != nil {
		adjust(filter)
	}
	dir := dirOf(fsys)
	s := &search{fsys: fsys, cache: f.Cache}
	if s.names, err = roots(f.Paths, dir); err != nil {
		return nil, err
	}
	if o, ok := fsys.(Owner); ok {
		filter.own = o.IsOwn
		for _, name := range s.names {
			if filter.own(name) {
				return nil, missing(name, fs.ErrPermission)
			}
		}
	}
	if s.source, err = newSource(fsys, filter); err != nil {
		return nil, err
	}
	if s.seeds, err = s.source.seeds(s.names); err != nil {
		s.close()
		return nil, err
	}
	if s.cache == nil || filter.globs != nil || len(s.names) > 1 || s.seeds[0].entry.name != "" {
		s.cache = nil
		return s, nil
	}
	var ok bool
	if s.key, ok = keyOf(fsys, s.names[0], filter); !ok {
		s.cache = nil
		return s, nil
	}
	if s.list = s.cache.get(s.key); s.list != nil {
		s.known = true
		s.drop()
	}
	return s, nil
}

// drop releases the seeds.
func (s *search) drop() {
	for _, seed := range s.seeds {
		seed.at.release()
	}
	s.seeds = nil
}

// fill makes a list for the cache, if there is one and it has none.
func (s *search) fill(ctx context.Context) error {
	if s.cache == nil || s.list != nil {
		return nil
	}
	made, mark := time.Now(), s.cache.mark()
	all := *s.source
	all.filter = &filter{hidden: s.filter.hidden, ignored: s.filter.ignored, modules: true}
	seeds := s.seeds
	s.seeds = nil
	items, notes, err := scan(ctx, &all, seeds)
	if err != nil {
		return err
	}
	s.list = &fileList{items: items, notes: notes, made: made}
	s.cache.put(s.key, s.list, mark)
	return nil
}

// again prepares a search that found nothing for another try, if a list that is no
// longer true may be why.
func (s *search) again(ctx context.Context) (bool, error) {
	if !s.known || time.Since(s.list.made) < cacheRecheck {
		return false, nil
	}
	s.known, s.list = false, nil
	var err error
	if s.seeds, err = s.source.seeds(s.names); err != nil {
		return false, err
	}
	return true, s.fill(ctx)
}

// walkThrough runs w over what s has.
func walkThrough[T any](ctx context.Context, s *search, w *walk[T], take func(T) bool) error {
	if s.list != nil {
		w.stats.notes = append(w.stats.notes, s.list.notes...)
		base := 0
		if s.names[0] != "." {
			base = len(s.names[0]) + 1
		}
		w.plantItems(s.list.items, base)
	} else {
		w.plant(s.seeds)
		s.seeds = nil
	}
	return w.run(ctx, take)
}
