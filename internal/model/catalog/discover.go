package catalog

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

// KeyFunc gives the key of a provider, or "" where it has none.
type KeyFunc func(ctx context.Context, provider string) (string, error)

// Report says how asking one provider went.
type Report struct {
	Provider string
	BaseURL  string
	Models   int   // that it has
	New      int   // that were not known
	Err      error // one line
}

// Search says whom to ask.
type Search struct {
	// Local asks the servers on this machine and those that models.yml names
	// with discovery.
	Local bool
	// Remote asks every other provider that can be used.
	Remote bool
	// Providers are asked too.
	Providers []string
}

// Servers are asked which models they have.
type Servers struct {
	sources  *sources
	registry *Registry
	answers  *answers
	client   *http.Client
	key      KeyFunc
}

// Discover asks servers which models they have, all at once: those on this
// machine may take 300 ms, others 15 s. What they say is used from then on and
// kept in the cache. Local servers that are not there are not reported unless
// models.yml or Providers names them.
func (s *Servers) Discover(ctx context.Context, search Search) []Report {
	targets, reports := s.targets(search)
	var mu sync.Mutex
	var wg sync.WaitGroup
	found := map[string]*server{}
	for _, t := range targets {
		wg.Go(func() {
			limited, cancel := context.WithTimeout(ctx, t.limit)
			defer cancel()
			models, err := s.ask(limited, t)
			rep := Report{Provider: t.provider, BaseURL: t.baseURL, Models: len(models), Err: err}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && t.kind != "" && s.sources.provider(t.provider) == nil && !slices.Contains(search.Providers, t.provider) {
				return
			}
			if err == nil {
				found[t.provider] = &server{BaseURL: t.baseURL, Time: time.Now().UTC().Truncate(time.Second), Models: models}
				rep.New = s.countNew(t.provider, models)
			}
			reports = append(reports, rep)
		})
	}
	wg.Wait()
	if len(found) > 0 {
		if err := s.answers.add(found); err != nil {
			reports = append(reports, Report{Provider: "cache", Err: err})
		}
	}
	sorting.Stable(reports, func(a, b Report) int { return strings.Compare(a.Provider, b.Provider) })
	return reports
}

func (s *Servers) countNew(provider string, models []foundModel) int {
	n := 0
	for _, m := range models {
		if _, known := s.registry.Lookup(provider, m.ID); !known {
			n++
		}
	}
	return n
}

// targets lists whom to ask, and reports for those that cannot be asked.
func (s *Servers) targets(search Search) (targets []target, reports []Report) {
	seen := map[string]bool{}
	add := func(provider string, named bool) {
		if seen[provider] || s.registry.disabled[provider] {
			return
		}
		seen[provider] = true
		t, err := s.sources.target(provider)
		switch {
		case err == nil:
			targets = append(targets, t)
		case named:
			if errors.Is(err, errUnknownProvider) {
				err = s.registry.unknownProvider(provider)
			}
			reports = append(reports, Report{Provider: provider, Err: err})
		}
	}
	for _, id := range search.Providers {
		add(id, true)
	}
	if search.Local {
		for id, server := range localServers {
			if server.wanted(s.sources.getenv) || s.sources.provider(id) != nil {
				add(id, false)
			}
		}
		for _, p := range s.sources.config.Providers {
			if p.Discovery != nil {
				add(p.id, true)
			}
		}
	}
	if search.Remote {
		for _, id := range s.registry.Providers() {
			if _, local := localServers[id]; !local && s.registry.usable(id) {
				add(id, false)
			}
		}
	}
	return targets, reports
}
