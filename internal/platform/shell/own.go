package shell

import (
	"context"
	"time"
)

// Own runs a person's own command, in the shell that Options.Own names. It is not confined and has no limit of time; ctx
// ends it. It runs in a shell of its own, which begins with a copy of the folder and the
// exported variables and ends with the command, with all it left in the background. Of
// what it changed there the folder is brought back ("cd"), unless a command of the
// persistent shell runs just then or the command ended its shell ("exit"); variables
// are not, because nothing tells those apart that the model's commands have set since.
// Output and errors are those of Run.
func (s *Shells) Own(ctx context.Context, line string, onOutput func(string)) (*Outcome, error) {
	r, err := s.check(Command{Line: line})
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.wg.Done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.place(&r); err != nil {
		return nil, err
	}
	named := s.named(Command{Line: line})
	defer named()
	if s.person.args != nil {
		return s.visit(ctx, r, onOutput)
	}
	st := s.current()
	rc, err := s.startupText(ctx, s.person.kind)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	p, err := startSession(ctx, s.closing, sessionOptions{
		kind: s.person.kind, path: s.person.path, dir: st.dir, startup: rc, env: s.shellEnv(st, confinement{}),
	})
	if err != nil {
		return nil, err
	}
	defer p.close()
	out := s.capture(onOutput)
	o := &Outcome{}
	t := p.begin(r, out)
	s.supervise(ctx.Done(), t, o, start)
	o.Elapsed = time.Since(start)
	if left := t.result(); !left.ended && !o.Cancelled {
		s.bringBack(left.state.dir)
	}
	o.Dir = s.current().dir
	conclude(o, t.result(), out, nil)
	return o, nil
}

// bringBack makes dir the folder of the commands to come.
func (s *Shells) bringBack(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := s.busy && s.starting == nil
	if dir == "" || dir == s.state.dir || busy || !isDir(dir) {
		return
	}
	s.state.dir, s.state.away, s.state.lost = dir, true, false
}
