package status

import (
	"context"
	"sync"

	"github.com/burin-dev/burin/internal/platform/git"
)

// Repo keeps the facts of the repository that a folder is in. It asks when it is told
// to and at no other time; one look is under way at most.
type Repo struct {
	dir    string
	report func(git.Status)
	ctx    context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	running bool
	again   bool

	last git.Status // that was reported; of the one goroutine that looks
}

// NewRepo makes a Repo whose news go to report, which is called in a goroutine of
// Repo's: the face gives its own by Env.Post.
func NewRepo(dir string, report func(git.Status)) *Repo {
	ctx, stop := context.WithCancel(context.Background())
	return &Repo{dir: dir, report: report, ctx: ctx, stop: stop}
}

// Refresh asks again. It does not wait. What changed is reported: another branch at
// once, numbers when git has counted. While git is asked, further calls join to one
// more look.
func (r *Repo) Refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	if r.running {
		r.again = true
		return
	}
	r.running = true
	go r.look()
}

// Close ends what is running; nothing is reported after it but what is on its way.
func (r *Repo) Close() { r.stop() }

func (r *Repo) look() {
	for {
		if head := git.Head(r.dir); head.Branch != r.last.Branch || head.Branch == "" && head.Commit != r.last.Commit {
			r.tell(head)
		}
		r.tell(git.Look(r.ctx, r.dir))
		r.mu.Lock()
		if !r.again || r.ctx.Err() != nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.again = false
		r.mu.Unlock()
	}
}

func (r *Repo) tell(s git.Status) {
	if r.ctx.Err() == nil && s != r.last {
		r.last = s
		r.report(s)
	}
}
