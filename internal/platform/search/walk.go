package search

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// walk goes through a tree with several workers and hands out what they find in
// the order of paths, while they go on.
//
// The work is a list of jobs in that order. A job lists a folder, and is then
// followed by jobs for what is in it, or looks at some files of a folder. Workers
// always take the first that waits, so the first that is not finished is one that
// somebody works on; it alone may go on when too many results wait to be taken.
type walk[T any] struct {
	*source
	visitor func() visitor[T] // one for each worker
	want    func(e entry) bool
	cost    func(T) int // of a result that waits, in bytes

	mu      sync.Mutex
	work    sync.Cond // there may be work, or room
	ready   sync.Cond // the first job has results, or there are no more jobs
	first   *job[T]   // the first that is not finished and taken
	taking  bool      // its results are being handed out
	waiting []*job[T] // not begun, the first in order last
	running int
	idle    int // workers that wait
	held    int // cost of all results that wait
	stop    *atomic.Bool
	stats   stats
}

// visitor looks at entries for one worker.
type visitor[T any] interface {
	visit(p *place, e entry, out *results[T])
}

// stats are counted over finished jobs.
type stats struct {
	searched int
	withheld int
	notes    []string
}

// job is a step of a walk.
type job[T any] struct {
	next    *job[T]
	root    int    // index of the root that led here
	key     string // of its first path, for the order within a root
	at      *place // of the entries, or what the folder to list is in
	list    bool   // list the folder name
	name    string // "" is the folder at itself
	entries []entry
	done    bool
	out     []T
	stats   stats
}

// place is an open folder that jobs share. The last to release it closes it.
type place struct {
	tree  tree
	path  string // "." for the root
	base  int    // length of what comes before paths relative to the root of the walk
	full  string // from the root of the repository, with "/" behind it
	scope *scope
	once  sync.Once
	dir   folder
	err   error
	refs  atomic.Int32
}

// open opens the folder if nobody has.
func (p *place) open() (folder, error) {
	p.once.Do(func() {
		if p.dir == nil && p.err == nil {
			p.dir, p.err = p.tree.open(p.path)
		}
	})
	return p.dir, p.err
}

func (p *place) hold() *place {
	p.refs.Add(1)
	return p
}

func (p *place) release() {
	if p.refs.Add(-1) == 0 && p.dir != nil {
		p.dir.close()
	}
}

// join is the path of an entry.
func (p *place) join(name string) string {
	if p.path == "." {
		return name
	}
	return p.path + "/" + name
}

// results are what a worker has found and not yet delivered.
type results[T any] struct {
	walk  *walk[T]
	job   *job[T]
	items []T
	cost  int
	stats stats
}

// Bounds of what waits to be taken: of one worker, and of all.
const (
	maxUndelivered = 64 << 10
	maxHeld        = 8 << 20
	maxNotes       = 20
	batchFiles     = 48 // entries of a job
)

func (r *results[T]) add(item T) {
	r.items = append(r.items, item)
	if r.cost += r.walk.cost(item); r.cost > maxUndelivered {
		r.deliver()
	}
}

// note tells the user about something that could not be read.
func (r *results[T]) note(path, why string) {
	if len(r.stats.notes) < maxNotes {
		r.stats.notes = append(r.stats.notes, path+": "+why)
	}
}

// deliver hands over what has been found so far. It waits while there is too much
// already, unless it is what will be taken next.
func (r *results[T]) deliver() {
	w := r.walk
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.held > maxHeld && (r.job != w.first || len(r.job.out) > 0) && !w.stop.Load() {
		w.wait()
	}
	r.hand()
}

// hand moves the results to the job. w.mu is held.
func (r *results[T]) hand() {
	r.job.out = append(r.job.out, r.items...)
	r.walk.held += r.cost
	clear(r.items)
	r.items, r.cost = r.items[:0], 0
	if r.job == r.walk.first && len(r.job.out) > 0 {
		r.walk.ready.Signal()
	}
}

func (w *walk[T]) wait() {
	w.idle++
	w.work.Wait()
	w.idle--
}

func (w *walk[T]) wake() {
	if w.idle > 0 {
		w.work.Broadcast()
	}
}

// run walks until all is done, take returns false or ctx ends. It calls take from
// the goroutine that called it, and returns when all workers have ended.
func (w *walk[T]) run(ctx context.Context, take func(T) bool) error {
	w.work.L, w.ready.L = &w.mu, &w.mu
	unhook := context.AfterFunc(ctx, w.cancel)
	defer unhook()
	if err := ctx.Err(); err != nil {
		w.cancel()
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		workers.Go(w.worker)
	}
	defer func() { // also if take panics
		w.cancel()
		workers.Wait()
		for _, j := range w.waiting {
			j.at.release()
		}
	}()
	for {
		out, ok := w.results()
		if !ok {
			return ctx.Err()
		}
		cost := 0
		for i := range out {
			cost += w.cost(out[i])
			if w.stop.Load() || !take(out[i]) {
				return ctx.Err()
			}
		}
		w.taken(cost)
	}
}

// maxWorkers is how many workers still make a search of a tree faster.
const maxWorkers = 12

func (w *walk[T]) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop.Store(true)
	w.work.Broadcast()
	w.ready.Broadcast()
}

// results waits for results of the first job; ok is false when there are no more.
func (w *walk[T]) results() (out []T, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.first != nil && len(w.first.out) == 0 && !w.stop.Load() {
		w.ready.Wait()
	}
	if w.first == nil || w.stop.Load() {
		return nil, false
	}
	out, w.first.out = w.first.out, nil
	w.taking = true
	return out, true
}

// taken says that the results have been taken, which cost so much.
func (w *walk[T]) taken(cost int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taking = false
	w.held -= cost
	w.advance()
	w.wake()
}

// advance passes the jobs that have nothing left to give. w.mu is held.
func (w *walk[T]) advance() {
	if w.taking {
		return
	}
	before := w.first
	for w.first != nil && w.first.done && len(w.first.out) == 0 {
		w.stats.add(w.first.stats)
		w.first = w.first.next
	}
	if w.first == nil || len(w.first.out) > 0 {
		w.ready.Signal()
	}
	if w.first != before && w.held > maxHeld {
		w.wake()
	}
}

func (s *stats) add(more stats) {
	s.searched += more.searched
	s.withheld += more.withheld
	s.notes = append(s.notes, more.notes[:min(len(more.notes), maxNotes-len(s.notes))]...)
}

func (w *walk[T]) worker() {
	v := w.visitor()
	s := &scratch{}
	r := &results[T]{walk: w}
	for {
		j := w.begin()
		if j == nil {
			return
		}
		r.job, r.stats = j, stats{}
		var below []*job[T]
		if j.list {
			below = w.list(j, s, r)
		} else {
			w.look(j, v, r)
		}
		w.finish(j, below, r)
	}
}

// begin takes the next job; nil when there are no more.
func (w *walk[T]) begin() *job[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		n := len(w.waiting)
		switch {
		case w.stop.Load(), n == 0 && w.running == 0:
			w.wake()
			return nil
		case n > 0 && (w.held <= maxHeld || w.waiting[n-1] == w.first):
			j := w.waiting[n-1]
			w.waiting = w.waiting[:n-1]
			w.running++
			return j
		}
		w.wait()
	}
}

// finish hands over the last results of j and puts what is below it behind it.
func (w *walk[T]) finish(j *job[T], below []*job[T], r *results[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.hand()
	j.done, j.stats = true, r.stats
	if len(below) > 0 {
		below[len(below)-1].next = j.next
		j.next = below[0]
		w.queue(below)
	}
	w.running--
	w.advance()
	if len(below) > 1 || w.running == 0 {
		w.wake()
	}
}

// queue adds jobs that follow each other.
func (w *walk[T]) queue(jobs []*job[T]) {
	first := jobs[0]
	at, _ := slices.BinarySearchFunc(w.waiting, first, func(a, b *job[T]) int {
		if a.root != b.root {
			return b.root - a.root
		}
		return strings.Compare(b.key, a.key)
	})
	w.waiting = slices.Insert(w.waiting, at, jobs...)
	slices.Reverse(w.waiting[at : at+len(jobs)])
	for i := range jobs[:len(jobs)-1] {
		jobs[i].next = jobs[i+1]
	}
}

// plant makes the seeds the first jobs.
func (w *walk[T]) plant(seeds []seed) {
	jobs := make([]*job[T], len(seeds))
	for i, s := range seeds {
		jobs[i] = &job[T]{root: i, at: s.at, list: s.entry.name == ""}
		if !jobs[i].list {
			jobs[i].entries = []entry{s.entry}
		}
	}
	w.begins(jobs)
}

// plantItems makes jobs of entries that are known, in their order.
func (w *walk[T]) plantItems(items []item, base int) {
	var jobs []*job[T]
	for _, i := range items {
		if !w.want(i.entry) || w.filter.narrows(i) {
			continue
		}
		last := len(jobs) - 1
		if last < 0 || jobs[last].at.path != i.dir || len(jobs[last].entries) == batchFiles {
			p := &place{tree: w.tree(i.dir), path: i.dir, base: base}
			jobs = append(jobs, &job[T]{at: p.hold()})
			last++
		}
		jobs[last].entries = append(jobs[last].entries, i.entry)
	}
	w.begins(jobs)
}

func (w *walk[T]) begins(jobs []*job[T]) {
	if len(jobs) == 0 {
		return
	}
	w.first = jobs[0]
	w.queue(jobs)
}

// look visits the entries of a job.
func (w *walk[T]) look(j *job[T], v visitor[T], r *results[T]) {
	defer j.at.release()
	for _, e := range j.entries {
		if w.stop.Load() {
			return
		}
		v.visit(j.at, e, r)
	}
}

// list opens and lists the folder of a job and gives the jobs for what is in it.
func (w *walk[T]) list(j *job[T], s *scratch, r *results[T]) []*job[T] {
	p, entries, err := w.enter(j.at, j.name, s)
	j.at.release()
	defer p.release()
	if err != nil {
		if !gone(err) {
			r.note(p.path, reason(err))
		}
		return nil
	}
	var jobs []*job[T]
	var batch *job[T]
	for _, e := range entries {
		if w.want(e) {
			if batch == nil || len(batch.entries) == batchFiles {
				batch = &job[T]{root: j.root, key: p.join(e.name), at: p.hold(), entries: make([]entry, 0, min(len(entries), batchFiles))}
				jobs = append(jobs, batch)
			}
			batch.entries = append(batch.entries, e)
		}
		if e.kind == kindFolder {
			batch = nil
			jobs = append(jobs, &job[T]{root: j.root, key: p.join(e.name) + "/", at: p.hold(), list: true, name: e.name})
		}
	}
	return jobs
}
