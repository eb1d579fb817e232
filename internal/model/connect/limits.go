package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/quota"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
)

const (
	limitsTime = 5 * time.Second // that a provider may take to tell its limits
	limitsSize = 1 << 20         // bytes of what it says
)

// Limits asks the providers with a credential for its plan and limits, all at once. Of others it
// gives what the headers of answers said, since these Models were opened. A provider that fails
// has a report that says so.
//
// A key goes to the provider's own address, or to the one that the person gave for its models,
// and is sent nowhere else: redirects are not followed.
func (m *Models) Limits(ctx context.Context) []quota.Report {
	services := quota.Services()
	asked := make([]*quota.Report, len(services))
	var running sync.WaitGroup
	for i := range services {
		if m.accounts.has(services[i].Provider) {
			running.Go(func() { asked[i] = m.limitsOf(ctx, &services[i]) })
		}
	}
	running.Wait()
	var all []quota.Report
	told := map[string]bool{}
	for _, r := range asked {
		if r != nil {
			all, told[r.Provider] = append(all, *r), true
		}
	}
	for _, r := range m.clients.seen.Reports() {
		if !told[r.Provider] {
			all = append(all, r)
		}
	}
	return all
}

// limitsOf asks one provider; nil: there is nothing to ask it.
func (m *Models) limitsOf(ctx context.Context, s *quota.Service) *quota.Report {
	ctx, cancel := context.WithTimeout(ctx, limitsTime)
	defer cancel()
	address, err := m.limitsAddress(s)
	if err != nil {
		return nil
	}
	key, err := m.accounts.find(ctx, s.Provider, "", anyKey)
	if none := new(credential.NotFoundError); errors.As(err, &none) || err == nil && (key.Secret == "" || s.LoginOnly && key.Kind != credential.KindOAuth) {
		return nil
	}
	if err == nil {
		var r quota.Report
		if r, err = m.askLimits(ctx, s, address, key.Secret.Reveal()); err == nil {
			return &r
		}
	}
	return &quota.Report{Provider: s.Provider, Error: limitsError(ctx, err)}
}

var errElsewhere = errors.New("the models come from a cloud, which has other limits")

// limitsAddress is where a provider tells its limits.
func (m *Models) limitsAddress(s *quota.Service) (string, error) {
	model := m.Catalog.Registry.Cheapest(s.Provider)
	if model == nil {
		return "", catalog.ErrNoModel
	}
	base := model.BaseURL
	if m.clients.redirectable(model) {
		if _, on, err := anthropic.FoundryFromEnv(m.env.get); on || err != nil {
			return "", errElsewhere
		}
		base = cmp.Or(strings.TrimSpace(m.env.get("ANTHROPIC_BASE_URL")), base)
	}
	from := origin(base)
	if from == s.Models || s.Domain != "" && strings.HasSuffix(from, s.Domain) {
		from = s.Origin
	}
	return from + s.Path, nil
}

func (m *Models) askLimits(ctx context.Context, s *quota.Service, address, key string) (quota.Report, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return quota.Report{}, err
	}
	req.Header.Set("Accept", "application/json")
	s.Authorize(req.Header, key)
	resp, err := m.network.late().Do(req)
	if err != nil {
		return quota.Report{}, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return quota.Report{}, fmt.Errorf("HTTP %d: the provider does not accept this key for its limits", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return quota.Report{}, fmt.Errorf("HTTP %d from %s", resp.StatusCode, req.URL.Host)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limitsSize))
	if err != nil {
		return quota.Report{}, err
	}
	return s.Read(b, time.Now())
}

// limitsError puts an error in a few words.
func limitsError(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return fmt.Sprintf("no answer within %s", limitsTime)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// learning is a transport that keeps what the headers of answers say of limits.
type learning struct {
	next     http.RoundTripper
	provider string
	seen     *quota.Seen
}

// RoundTrip sends r.
func (l *learning) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		l.seen.Learn(l.provider, resp.StatusCode, resp.Header, time.Now())
	}
	return resp, err
}
