package permission

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/platform/private"
)

// Options of a policy.
type Options struct {
	Mode    Mode   // empty is Ask
	Project string // absolute path of the workspace
	File    string // where lasting grants are kept; empty: nowhere
	Rules   []Rule // from flags and configuration of the user, never from the project
	Now     func() time.Time
	// Extra are further folders that belong to the workspace, absolute.
	Extra []string
	// Scratch are the addresses, such as local://, behind which a session keeps what is its
	// own: in every mode it may read and write there without a question.
	Scratch []string
	// Home is what "~" stands for; empty is the user's home folder.
	Home string
	// Private are the secret places; nil finds those of the home folder.
	Private *private.Places
	// Shell is the program that runs commands; empty is bash. Commands for a shell
	// that is not of bash's or sh's family are all questions.
	Shell string
	// Walled says that rules that refuse files ([Policy.Walls]) are enforced on what
	// commands really open. Otherwise a command whose files are not known before it
	// runs is a question as soon as there is such a rule, in every mode.
	Walled bool
	// Lasts is how long grants for a project or for all projects hold; 0: until they are
	// taken back.
	Lasts time.Duration
}

// Policy decides. It is safe for concurrent use.
type Policy struct {
	now    func() time.Time
	at     command.Place
	store  *store        // nil if nothing lasts
	asking chan struct{} // held by the one question that is being asked
	lasts  time.Duration // of lasting grants; 0: until they are taken back
	walled atomic.Bool

	mu      sync.Mutex
	mode    Mode
	given   []*compiled // from flags and configuration
	session []*compiled
	kept    []*compiled // as the file had it last
	stamp   stamp       // of the file
	problem error       // why the file is not in use
	unkept  error       // why the last grant was not written to it
	recent  []Request   // calls that ran or were asked about, newest last
}

// maxSession is how many rules a session may collect, maxRecent how many calls
// are remembered for examples.
const (
	maxSession = 1000
	maxRecent  = 20
)

// Open reads the lasting grants. A file that cannot be read or understood is an
// error; it is left as it is.
func Open(o Options) (*Policy, error) {
	p := &Policy{now: o.Now, mode: o.Mode, asking: make(chan struct{}, 1), lasts: o.Lasts}
	p.walled.Store(o.Walled)
	if p.now == nil {
		p.now = time.Now
	}
	if p.mode == "" {
		p.mode = Ask
	}
	if _, err := ParseMode(string(p.mode)); err != nil {
		return nil, err
	}
	if err := p.settle(o); err != nil {
		return nil, err
	}
	for _, r := range o.Rules {
		c, err := compile(r, p.at)
		if err != nil {
			return nil, fmt.Errorf("rule %s of %s: %w", r, r.Source, err)
		}
		p.given = append(p.given, c)
	}
	if o.File == "" {
		return p, nil
	}
	if p.at.Root != "" && contains(p.at.Root, o.File) && !contains(p.at.Root, p.at.Home) {
		return nil, fmt.Errorf("%s is in the project itself: lasting grants must be kept outside of it", o.File)
	}
	p.store = &store{path: o.File}
	kept, stamp, err := p.store.read()
	if err != nil {
		return nil, err
	}
	p.stamp = stamp
	return p, p.take(kept)
}

// contains reports whether a path is in a folder, or is the folder.
func contains(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// settle finds out where the workspace and the home folder are.
func (p *Policy) settle(o Options) error {
	p.at = command.Place{Root: o.Project, Extra: slices.Clone(o.Extra), Scratch: o.Scratch, Home: o.Home, Shell: o.Shell, Exported: exported}
	if p.at.Home == "" {
		p.at.Home, _ = os.UserHomeDir() // without one, "~" is simply not known
	}
	if p.at.Private = o.Private; p.at.Private == nil {
		p.at.Private = private.Find(p.at.Home, os.Getenv)
	}
	if o.Project == "" {
		return nil
	}
	if !filepath.IsAbs(o.Project) {
		return fmt.Errorf("the project's path %q is not absolute", o.Project)
	}
	p.at.Root = filepath.Clean(o.Project)
	if real, err := filepath.EvalSymlinks(p.at.Root); err == nil && real != p.at.Root {
		p.at.Extra = append(p.at.Extra, p.at.Root)
		p.at.Root = real
	}
	return nil
}

// take replaces the rules of the file by those of this project and of the user.
func (p *Policy) take(kept []keptRule) error {
	var out []*compiled
	for _, k := range kept {
		r, err := k.rule()
		if err != nil {
			return fmt.Errorf("%s: rule %s: %w", p.store.path, k.ID, err)
		}
		if r.Scope == Project && k.Project != p.at.Root {
			continue
		}
		c, err := compile(r, p.at)
		if err != nil {
			return fmt.Errorf("%s: rule %s: %w", p.store.path, k.ID, err)
		}
		out = append(out, c)
	}
	p.kept = out
	return nil
}

// Mode is the mode now.
func (p *Policy) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// SetMode changes the mode, also for calls that wait for an answer. A mode that
// does not exist changes nothing.
func (p *Policy) SetMode(m Mode) {
	switch m {
	case Plan, Ask, AutoEdit, Full:
		p.mu.Lock()
		p.mode = m
		p.mu.Unlock()
	}
}

// SetWalled says whether rules that refuse files are enforced below from now on; see
// Options.
func (p *Policy) SetWalled(walled bool) { p.walled.Store(walled) }

// Problem is what is wrong with the file of lasting grants since it was opened,
// or nil: it can no longer be read, and nothing that it allowed is allowed, or a
// grant could not be written to it and holds for the session only.
func (p *Policy) Problem() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.problem != nil {
		return p.problem
	}
	return p.unkept
}

// rules are the rules that hold, most decisive first. It notices what other
// processes wrote.
func (p *Policy) rules() []*compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	now := p.now()
	all := make([]*compiled, 0, len(p.given)+len(p.session)+len(p.kept))
	for _, list := range [][]*compiled{p.given, p.session, p.kept} {
		for _, c := range list {
			if holds(&c.Rule, now) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *compiled) int {
		if x := order(a.Verdict) - order(b.Verdict); x != 0 {
			return x
		}
		return b.rank - a.rank
	})
	return all
}

func order(v Verdict) int {
	switch v {
	case Deny:
		return 0
	case Question:
		return 1
	}
	return 2
}

// refresh reads the file again if it has changed. If that fails, what it refused
// stays refused and what it allowed is no longer allowed.
func (p *Policy) refresh() {
	if p.store == nil {
		return
	}
	s := p.store.stamp()
	if s.same(p.stamp) {
		return
	}
	kept, s, err := p.store.read()
	if err == nil {
		err = p.take(kept)
	}
	p.stamp, p.problem = s, err
	if err != nil {
		p.kept = slices.DeleteFunc(p.kept, func(c *compiled) bool { return order(c.Verdict) == 2 })
	}
}

// Grant adds a rule and, by its scope, keeps it. It returns the rule with its id.
// A rule without a verdict allows, one without a scope is for the session.
func (p *Policy) Grant(r Rule) (Rule, error) {
	if r.Verdict == "" {
		r.Verdict = Allow
	}
	if r.Scope == "" {
		r.Scope = Session
	}
	if !toolName().MatchString(r.Tool) {
		return Rule{}, fmt.Errorf("grant: no tool %q", r.Tool)
	}
	c, err := compile(r, p.at)
	if err != nil {
		return Rule{}, fmt.Errorf("grant %s: %w", r, err)
	}
	if !holds(&r, p.now()) {
		return Rule{}, fmt.Errorf("grant %s: it would have expired already", r)
	}
	c.ID = newID()
	c.Source = "you, " + p.now().Format("2 Jan 2006")
	switch c.Scope {
	case Once, Session:
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.session) >= maxSession {
			return Rule{}, fmt.Errorf("grant %s: there are %d rules in this session already", r, maxSession)
		}
		p.session = append(p.session, c)
		return c.Rule, nil
	case Project, User:
		return c.Rule, p.keep(c.Rule)
	}
	return Rule{}, fmt.Errorf("grant %s: the scope must be once, session, project or user, not %q", r, r.Scope)
}

// keep writes a rule to the file.
func (p *Policy) keep(r Rule) error {
	if p.store == nil {
		return fmt.Errorf("grant %s: no file to store it in; grant it for the session", r)
	}
	if r.Scope == Project && p.at.Root == "" {
		return fmt.Errorf("grant %s: no project", r)
	}
	k := keptRule{ID: r.ID, Rule: r.String(), Granted: p.now().UTC().Truncate(time.Second)}
	if r.Scope == Project {
		k.Project = p.at.Root
	}
	if !r.Expires.IsZero() {
		e := r.Expires.UTC()
		k.Expires = &e
	}
	err := p.store.change(func(list []keptRule) ([]keptRule, error) {
		list = slices.DeleteFunc(list, func(o keptRule) bool {
			return o.Expires != nil && !p.now().Before(*o.Expires) || o.Rule == k.Rule && o.Project == k.Project
		})
		return append(list, k), nil
	})
	if err != nil {
		return fmt.Errorf("grant %s: %w", r, err)
	}
	return nil
}

// Revoke takes a rule back. Rules of flags and configuration have no id: they are
// taken back where they stand.
func (p *Policy) Revoke(id string) error {
	if id == "" {
		return errors.New("revoke: a rule without an id comes from a flag or from the configuration: remove it there")
	}
	p.mu.Lock()
	n := len(p.session)
	p.session = slices.DeleteFunc(p.session, func(c *compiled) bool { return c.ID == id })
	found := len(p.session) < n
	p.mu.Unlock()
	if found {
		return nil
	}
	if p.store == nil {
		return fmt.Errorf("revoke: no rule with id %q", id)
	}
	return p.store.change(func(list []keptRule) ([]keptRule, error) {
		n := len(list)
		list = slices.DeleteFunc(list, func(k keptRule) bool { return k.ID == id })
		if len(list) == n {
			return nil, fmt.Errorf("revoke: no rule with id %q", id)
		}
		return list, nil
	})
}

// Rules are all rules that hold, in the order they are looked at.
func (p *Policy) Rules() []Rule {
	var out []Rule
	for _, c := range p.rules() {
		out = append(out, c.Rule)
	}
	return out
}

// Trial is what becomes of a call without rules and with them.
type Trial struct{ Without, With Decision }

// Changed reports whether the rules make a difference to the call.
func (t Trial) Changed() bool { return t.Without.Verdict != t.With.Verdict }

// DryRun says what would become of past calls if rules held, and if they did not: also
// rules that hold already can be tried.
func (p *Policy) DryRun(past []Request, tried ...Rule) []Trial {
	with, err := p.rules(), error(nil)
	without := slices.Clone(with)
	for _, r := range tried {
		if r.Verdict == "" {
			r.Verdict = Allow
		}
		without = slices.DeleteFunc(without, func(c *compiled) bool { return c.String() == r.String() })
		c, e := compile(r, p.at)
		if e != nil {
			err = e
			break
		}
		with = withRule(with, c)
	}
	mode := p.Mode()
	before, after := newJudge(p.at, mode, p.walled.Load(), without), newJudge(p.at, mode, p.walled.Load(), with)
	out := make([]Trial, len(past))
	for i, q := range past {
		d := before.decide(q)
		out[i] = Trial{Without: d, With: d}
		if err != nil {
			out[i].With = Decision{Verdict: Question, Reason: "the rule is not valid: " + err.Error()}
			continue
		}
		out[i].With = after.decide(q)
	}
	return out
}

// withRule adds a rule where it belongs.
func withRule(rules []*compiled, c *compiled) []*compiled {
	i, _ := slices.BinarySearchFunc(rules, c, func(a, b *compiled) int {
		if x := order(a.Verdict) - order(b.Verdict); x != 0 {
			return x
		}
		return b.rank - a.rank
	})
	return slices.Insert(slices.Clone(rules), i, c)
}

// Decide judges a request. It asks nobody.
func (p *Policy) Decide(r Request) Decision {
	d, _ := p.decide(r)
	return d
}

func (p *Policy) decide(r Request) (Decision, *judge) {
	j := newJudge(p.at, p.Mode(), p.walled.Load(), p.rules())
	d := j.decide(r)
	if d.Verdict != Question {
		return d, j
	}
	d.Offers = j.offers(r, p.seen(), p.store != nil)
	if p.lasts > 0 {
		for i := range d.Offers {
			d.Offers[i].Expires = p.now().Add(p.lasts)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.problem != nil {
		d.Reason += " (lasting grants are not in use: " + p.problem.Error() + ")"
	}
	return d, j
}

// seen are the calls that examples are taken from.
func (p *Policy) seen() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.recent)
}

func exported(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
