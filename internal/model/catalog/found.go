package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/llm"
)

// discoveries is what servers said, by provider; the content of the cache file.
type discoveries struct {
	Providers map[string]*server `json:"providers"`
}

type server struct {
	BaseURL string       `json:"baseUrl"` // asked there; what another address has is another matter
	Time    time.Time    `json:"time"`
	Models  []foundModel `json:"models"`
}

// foundModel is what a server says of a model. Zero is "does not say".
type foundModel struct {
	ID       string      `json:"id"`
	Name     string      `json:"name,omitempty"`
	Context  int         `json:"context,omitempty"`
	Output   int         `json:"output,omitempty"`
	Image    bool        `json:"image,omitempty"`
	Thinking bool        `json:"thinking,omitempty"`
	Free     bool        `json:"free,omitempty"` // runs on the user's own machine
	Price    *foundPrice `json:"price,omitempty"`
}

// foundPrice is in dollars per million tokens.
type foundPrice struct {
	Input      *float64 `json:"input,omitempty"`
	Output     *float64 `json:"output,omitempty"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
}

const discoveredFile = "discovered.json"

// answers keep what servers said, in memory and in a file of the cache.
type answers struct {
	sources *sources
	file    string // "" = none

	mu  sync.Mutex
	all *discoveries // nil = the file has not been read; replaced, never changed
}

// get is what servers have said so far; the file is read on first use.
func (a *answers) get() *discoveries {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.locked()
}

// locked is get for who holds the lock.
func (a *answers) locked() *discoveries {
	if a.all != nil {
		return a.all
	}
	d := &discoveries{}
	if a.file != "" {
		if text, err := smallfile.Read(a.file, smallfile.Table); err == nil && json.Unmarshal(text, d) != nil {
			d = &discoveries{} // a torn cache is no cache
		}
	}
	for id, s := range d.Providers {
		if s == nil || !a.sources.current(id, s) {
			delete(d.Providers, id)
		}
	}
	a.all = d
	return d
}

func (d *discoveries) model(provider, id string) (foundModel, bool) {
	if s := d.Providers[provider]; s != nil {
		for _, m := range s.Models {
			if m.ID == id {
				return m, true
			}
		}
	}
	return foundModel{}, false
}

// add takes over what servers said and writes the file. A failure to write costs
// the next start a question, no more.
func (a *answers) add(found map[string]*server) error {
	a.mu.Lock()
	all := &discoveries{Providers: merged(a.locked().Providers, found)}
	a.all = all
	a.mu.Unlock()
	if a.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", a.file, err)
	}
	return writeFile(a.file, text)
}

// writeFile replaces a file of the cache as a whole.
func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	if err := smallfile.Replace(file, text); err != nil {
		return fmt.Errorf("write the cache: %w", err)
	}
	return nil
}

// refresh lays what the server says over a model that was known already. Only
// what changes often is taken: the window and the price.
func (f foundModel) refresh(m *Model) {
	if f.Context > 0 {
		m.ContextWindow = f.Context
	}
	if p := f.price(); p.Known() {
		if !p.CacheRead.Known() {
			p.CacheRead = m.Price.CacheRead
		}
		if !p.CacheWrite.Known() {
			p.CacheWrite = m.Price.CacheWrite
		}
		m.Price = p
	}
}

func (f foundModel) price() llm.Price {
	if f.Free {
		return free()
	}
	var p llm.Price
	if f.Price == nil {
		return p
	}
	for _, x := range []struct {
		to   *llm.Rate
		from *float64
	}{
		{&p.Input, f.Price.Input},
		{&p.Output, f.Price.Output},
		{&p.CacheRead, f.Price.CacheRead},
		{&p.CacheWrite, f.Price.CacheWrite},
	} {
		if x.from != nil && *x.from >= 0 {
			*x.to = llm.PerMillion(math.Round(*x.from*1e6) / 1e6) // 3e-06 dollars a token are 3 a million, not 2.9999…
		}
	}
	return p
}
