package lsp

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Document is a file as burin has it: its absolute path, and its text; a nil Data is no file.
type Document struct {
	Path string
	Data []byte
}

// Deadlines of looks at diagnostics around an edit. The first look may have to start the server.
const (
	beforeEdit = 1500 * time.Millisecond
	slowServer = 200 * time.Millisecond // for one that missed its last deadlines
)

// patience is how long to wait for a server that may have missed deadlines.
func (l *Link) patience(usual time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missed >= 2 {
		return min(usual, slowServer)
	}
	return usual
}

// Before is called before an edit with the files as they are. It makes sure that the server has
// them, and gives all its diagnostics. known is false if it has not said yet what it thinks of
// these files; a server that can't be started costs no time.
func (l *Link) Before(ctx context.Context, docs []Document) (all []Diagnostic, known bool) {
	if !l.Ready() {
		return nil, false
	}
	if l.lints() {
		ctx, stop := context.WithTimeout(ctx, l.patience(beforeEdit))
		defer stop()
		late, _ := l.await(ctx, docs)
		return l.judged(), !late
	}
	l.enter()
	defer l.leave()
	if l.running() == nil && l.started() { // it has ended: the edit does not wait for the next process
		go func() { _, _ = l.start() }()
		return nil, false
	}
	ctx, stop := context.WithTimeout(ctx, l.patience(beforeEdit))
	defer stop()
	c, err := l.connect(ctx)
	if err != nil {
		return nil, false
	}
	seq := c.sequence()
	versions := map[string]int{}
	for _, d := range docs {
		if d.Data == nil || len(d.Data) > MaxFile {
			continue
		}
		if v, fresh := c.sync(d.Path, d.Data); fresh || has(c.caps.Diagnostic) {
			versions[d.Path] = v
		}
	}
	known = len(versions) == 0 || c.settle(ctx, versions, seq)
	return c.diagnostics(), known
}

// startsFirst reports whether the program is being started for the first time: that is worth a wait.
func (l *Link) startsFirst() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starting && l.starts == 1
}

// started reports whether the program was ever started.
func (l *Link) started() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts > 0
}

// sequence is the number of the latest publication.
func (c *client) sequence() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq
}

// After is called after an edit with the files as they are now, and waits at most so long for
// what the server thinks of them. It gives all its diagnostics; late is true if it may not have
// said all yet.
func (l *Link) After(ctx context.Context, docs []Document, wait time.Duration) (all []Diagnostic, late bool) {
	if l.lints() {
		return l.judgeAfter(ctx, docs, wait)
	}
	c := l.running()
	if c == nil && !l.startsFirst() {
		return nil, true
	}
	ctx, stop := context.WithTimeout(ctx, l.patience(wait))
	defer stop()
	l.enter()
	defer l.leave()
	if c == nil {
		var err error
		if c, err = l.connect(ctx); err != nil {
			l.met(false)
			return nil, true
		}
	}
	seq := c.sequence()
	versions := map[string]int{}
	for _, d := range docs {
		if d.Data == nil || len(d.Data) > MaxFile {
			continue
		}
		if v, fresh := c.sync(d.Path, d.Data); fresh || has(c.caps.Diagnostic) {
			versions[d.Path] = v
		}
	}
	c.scan(false) // what was created, moved or removed, too
	for _, d := range docs {
		c.saved(d.Path)
	}
	late = !c.settle(ctx, versions, seq)
	l.met(!late)
	return c.diagnostics(), late
}

// met notes whether a deadline was met.
func (l *Link) met(met bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if met {
		l.missed, l.failures = 0, 0
	} else {
		l.missed++
	}
}

// judgeAfter is After for a program that is run for each file.
func (l *Link) judgeAfter(ctx context.Context, docs []Document, wait time.Duration) (all []Diagnostic, late bool) {
	ctx, stop := context.WithTimeout(ctx, l.patience(wait))
	defer stop()
	late, err := l.await(ctx, docs)
	if err == nil {
		l.met(!late)
	}
	return l.judged(), late
}

// Diagnose gives what the server has to say of files, once it has looked at them.
func (l *Link) Diagnose(ctx context.Context, docs []Document) (all []Diagnostic, late bool, err error) {
	if l.lints() {
		paths := []string{}
		for _, d := range docs {
			paths = append(paths, d.Path)
		}
		if late, err = l.await(ctx, docs); err != nil {
			return nil, true, fmt.Errorf("%s: %w", l.server.Name, err)
		}
		return l.judged(paths...), late, nil
	}
	err = l.with(ctx, func(c *client) error {
		seq := c.sequence()
		versions := map[string]int{}
		paths := []string{}
		for _, d := range docs {
			paths = append(paths, d.Path)
			if v, fresh := c.sync(d.Path, d.Data); fresh || has(c.caps.Diagnostic) {
				versions[d.Path] = v
			}
		}
		late = len(versions) > 0 && !c.settle(ctx, versions, seq)
		if why := c.why(); why != nil {
			return why
		}
		all = c.diagnostics(paths...)
		return nil
	})
	return all, late, err
}

// All gives what the server has said of all files so far.
func (l *Link) All() []Diagnostic {
	if l.lints() {
		return l.judged()
	}
	if c := l.running(); c != nil {
		return c.diagnostics()
	}
	return nil
}

// Each runs f for each link at the same time.
func Each(links []*Link, f func(i int, l *Link)) {
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() { f(i, l) })
	}
	all.Wait()
}
