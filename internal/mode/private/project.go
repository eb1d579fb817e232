package private

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Settings are what a person has set for a project. They are sealed.
type Settings struct {
	Name         string     `json:"name,omitempty"`
	Icon         string     `json:"icon,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
	Model        string     `json:"model,omitempty"` // PROVIDER/MODEL; "" is the first one that a provider names
	Thinking     string     `json:"thinking,omitempty"`
	Providers    []Provider `json:"providers,omitempty"`
}

// Project is a private project as the page sees it.
type Project struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"`
	Mode     string    `json:"mode"`   // private
	Locked   bool      `json:"locked"` // nothing of the settings is known
	Connect  []string  `json:"connect"`
	Settings
}

// rawProject is one as the server has it.
type rawProject struct {
	Project
	Keys []byte `json:"keys"`
	Data []byte `json:"data"`
}

// project is an unlocked one.
type project struct {
	id       string
	ring     *vault.Ring
	mu       sync.Mutex
	settings Settings // as they were read last
}

// now are the settings as they were read last.
func (p *project) now() Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Open implements [session.Opener] with the providers that the project has now.
func (p *project) Open(ctx context.Context, selector string) (session.Opened, error) {
	return providers(p.now().Providers).Open(ctx, selector)
}

// Larger implements [session.Opener].
func (p *project) Larger(*llm.Model) string { return "" }

var _ session.Opener = (*project)(nil)

// What is sealed is bound to the project, to what it is, and to its revision.
func projectPlace(id string, revision int64) string {
	return fmt.Sprintf("private/%s/project/%d", id, revision)
}

func chatPlace(project, id string, revision int64) string {
	return fmt.Sprintf("private/%s/chat/%s/%d", project, id, revision)
}

func keyPlace(id string) string { return "private/" + id + "/key" }

func newID() string { return strings.ToLower(rand.Text()) }

// connects are the origins of providers.
func connects(all []Provider) ([]string, error) {
	origins := []string{}
	for i := range all {
		at, err := all[i].origins()
		if err != nil {
			return nil, err
		}
		origins = append(origins, at...)
	}
	return origins, nil
}

// put seals the settings for the next revision and keeps them, with the keys where they are new.
func (l *Loop) put(ctx context.Context, p *project, revision int64, s Settings, keys *vault.Wrapped) (Project, error) {
	if s.Name == "" {
		return Project{}, problem(http.StatusBadRequest, "", "name: it is missing")
	}
	connect, err := connects(s.Providers)
	if err != nil {
		return Project{}, err
	}
	data, err := json.Marshal(s)
	if err == nil {
		data, err = p.ring.Seal(projectPlace(p.id, revision+1), data)
	}
	if err != nil {
		return Project{}, err
	}
	change := map[string]any{"revision": revision, "connect": connect, "data": data}
	if keys != nil {
		wrapped, err := json.Marshal(keys)
		if err != nil {
			return Project{}, err
		}
		change["keys"] = wrapped
	}
	var raw rawProject
	if err := l.server.do(ctx, http.MethodPut, "/projects/"+p.id, change, &raw); err != nil {
		return Project{}, err
	}
	return p.open(raw)
}

// open opens the settings of a project.
func (p *project) open(raw rawProject) (Project, error) {
	raw.Mode = "private"
	data, err := p.ring.Open(projectPlace(p.id, raw.Revision), raw.Data)
	if err != nil || raw.ID != p.id {
		return raw.Project, errAltered
	}
	if err := json.Unmarshal(data, &raw.Settings); err != nil {
		return raw.Project, errAltered
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = raw.Settings
	return raw.Project, nil
}

// NewProject is a project to make.
type NewProject struct {
	Settings
	Passphrase string `json:"passphrase"`
}

// MadeProject is a new project, or one with a new pass phrase.
type MadeProject struct {
	Project  Project `json:"project"`
	Recovery string  `json:"recovery"` // opens the project where the pass phrase is forgotten; nobody can show it again
}

func (l *Loop) newProject(ctx context.Context, n NewProject) (m MadeProject, err error) {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	p := &project{id: newID()}
	if p.ring, err = vault.NewRing(map[uint32][]byte{1: key}); err != nil {
		return m, err
	}
	keys, recovery, err := vault.Wrap(keyPlace(p.id), key, n.Passphrase)
	clear(key)
	if err != nil {
		return m, phrase(err)
	}
	if m.Project, err = l.put(ctx, p, 0, n.Settings, &keys); err != nil {
		return m, err
	}
	m.Recovery = recovery
	l.mu.Lock()
	defer l.mu.Unlock()
	l.projects[p.id] = p
	return m, nil
}

// phrase says what is wrong with a pass phrase.
func phrase(err error) error {
	switch {
	case errors.Is(err, vault.ErrPassphrase):
		return problem(http.StatusForbidden, "passphrase", "passphrase: %v", err)
	case errors.Is(err, vault.ErrWeak):
		return problem(http.StatusBadRequest, "", "passphrase: %v", err)
	}
	return err
}

// Unlock has what opens a project.
type Unlock struct {
	Passphrase string `json:"passphrase"`    // or the recovery key
	New        string `json:"new,omitempty"` // the one from now on
}

// unlock opens a project.
func (l *Loop) unlock(ctx context.Context, id string, u Unlock) (Project, error) {
	p, raw, _, err := l.openProject(ctx, id, u.Passphrase)
	if err != nil {
		return Project{}, err
	}
	is, err := p.open(raw)
	if err != nil {
		return Project{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.projects[id] == nil { // chats may be open with that one
		l.projects[id] = p
	}
	return is, nil
}

// openProject gives the key of a project, which the caller clears.
func (l *Loop) openProject(ctx context.Context, id, typed string) (p *project, raw rawProject, key []byte, err error) {
	if err := l.server.do(ctx, http.MethodGet, "/projects/"+id, nil, &raw); err != nil {
		return nil, raw, nil, err
	}
	var keys vault.Wrapped
	if err := json.Unmarshal(raw.Keys, &keys); err != nil {
		return nil, raw, nil, errAltered
	}
	if key, err = keys.Open(keyPlace(id), typed); err != nil {
		return nil, raw, nil, phrase(err)
	}
	p = &project{id: id}
	p.ring, err = vault.NewRing(map[uint32][]byte{1: key})
	return p, raw, key, err
}

// rewrap gives a project another pass phrase and recovery key. The key stays: who has an old state of
// the server's data and the old pass phrase can still read what they have.
func (l *Loop) rewrap(ctx context.Context, id string, u Unlock) (m MadeProject, err error) {
	p, raw, key, err := l.openProject(ctx, id, u.Passphrase)
	if err != nil {
		return m, err
	}
	defer clear(key)
	was, err := p.open(raw)
	if err != nil {
		return m, err
	}
	keys, recovery, err := vault.Wrap(keyPlace(id), key, u.New)
	if err != nil {
		return m, phrase(err)
	}
	m.Recovery = recovery
	m.Project, err = l.put(ctx, p, was.Revision, was.Settings, &keys)
	return m, err
}

// listed are the projects, those that are locked without what is sealed.
func (l *Loop) listed(ctx context.Context) ([]Project, error) {
	var raw []rawProject
	if err := l.server.do(ctx, http.MethodGet, "/projects", nil, &raw); err != nil {
		return nil, err
	}
	all := make([]Project, len(raw))
	for i := range raw {
		var err error
		if all[i], err = l.seen(raw[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (l *Loop) seen(raw rawProject) (Project, error) {
	l.mu.Lock()
	p := l.projects[raw.ID]
	l.mu.Unlock()
	if p != nil {
		return p.open(raw)
	}
	raw.Mode, raw.Locked = "private", true
	return raw.Project, nil
}

func (l *Loop) one(ctx context.Context, id string) (Project, error) {
	var raw rawProject
	if err := l.server.do(ctx, http.MethodGet, "/projects/"+id, nil, &raw); err != nil {
		return Project{}, err
	}
	return l.seen(raw)
}

// unlocked gives a project that is open.
func (l *Loop) unlocked(id string) (*project, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.projects[id]; p != nil {
		return p, nil
	}
	return nil, problem(http.StatusLocked, "locked", "the project is locked: unlock it with its pass phrase")
}

// change lays what a body says over the settings of a project.
func (l *Loop) change(ctx context.Context, id string, body json.RawMessage) (Project, error) {
	p, err := l.unlocked(id)
	if err != nil {
		return Project{}, err
	}
	is, err := l.one(ctx, id)
	if err != nil {
		return is, err
	}
	var wanted struct{ Revision int64 }
	if err := cmp.Or(json.Unmarshal(body, &wanted), json.Unmarshal(body, &is.Settings)); err != nil {
		return is, problem(http.StatusBadRequest, "", "read the request: %v", err)
	}
	if wanted.Revision != 0 && wanted.Revision != is.Revision {
		return is, problem(http.StatusConflict, "changed", "it was changed meanwhile: read it again")
	}
	return l.put(ctx, p, is.Revision, is.Settings, nil)
}
