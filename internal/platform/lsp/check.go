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
	known = len(versions) == 0 || c.settle(ctx, versions, seq) != partly
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
	how := c.settle(ctx, versions, seq)
	l.met(how != partly)
	return c.diagnostics(), how != wholly // what may come of silence is told later, too
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
		late = len(versions) > 0 && c.settle(ctx, versions, seq) == partly
		if why := c.why(); why != nil {
			return why
		}
		all = c.diagnostics(paths...)
		return nil
	})
	return all, late, err
}

// surveyTime is how long a server may take to look at its whole project, surveyStart how long to
// wait for the first word of one that has to tell by itself.
const (
	surveyTime  = 10 * time.Second
	surveyStart = 2 * time.Second
)

// Survey has the server look at all files of its project, where it can: those that can be asked for
// that are asked, others tell by themselves what they find as they start. whole says that the server
// has been asked and has answered; [Link.All] has what it found.
func (l *Link) Survey(ctx context.Context) (whole bool, err error) {
	if l.lints() {
		return false, nil
	}
	err = l.with(ctx, func(c *client) error {
		ctx, stop := context.WithTimeout(ctx, surveyTime)
		defer stop()
		if options, _ := c.caps.Diagnostic.(map[string]any); options["workspaceDiagnostics"] == true {
			var r struct {
				Items []struct {
					URI   string           `json:"uri"`
					Kind  string           `json:"kind"`
					Items []wireDiagnostic `json:"items"`
				} `json:"items"`
			}
			if err := c.patient(ctx, "workspace/diagnostic", map[string]any{"previousResultIds": []string{}}, &r); err != nil {
				if ctx.Err() != nil { // some answer only once something changes
					return nil
				}
				return err
			}
			for _, one := range r.Items {
				if path, err := pathOf(one.URI); err == nil && one.Kind != "unchanged" {
					c.publish(c.pulled, path, -1, one.Items)
				}
			}
			whole = true
			return nil
		}
		c.rest(ctx)
		return nil
	})
	return whole, err
}

// rest waits until the server has no work that it tells of, and is quiet.
func (c *client) rest(ctx context.Context) {
	began := time.Now()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		c.mu.Lock()
		news, said, works := c.news, !c.last.IsZero(), len(c.progress) > 0
		since := time.Since(c.last)
		c.mu.Unlock()
		if !works && (said && since >= 2*quiet || !said && time.Since(began) >= surveyStart) {
			return
		}
		timer.Reset(quiet)
		select {
		case <-news:
		case <-timer.C:
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
	}
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
