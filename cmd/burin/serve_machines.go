package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/llm/wire"
)

const (
	maxMachines   = 20
	machineTime   = 5 * time.Second // that another server may take
	machineAnswer = 4 << 20         // bytes of its list
	// How many sessions of one are listed, whatever it answers.
	machineSessions = 100
	machineList     = "/v1/sessions?limit=100"
)

// machines are servers of other machines, whose sessions are listed here.
type machines struct {
	all    []otherMachine
	client func() (*http.Client, error)
}

type otherMachine struct{ name, address, token string }

// machinesOf are those of the setting server.machines.
func machinesOf(set map[string]config.Machine, getenv func(string) string) (*machines, error) {
	wrong := func(name, format string, args ...any) error {
		return fmt.Errorf("config.yml: server.machines.%s: %s", name, fmt.Sprintf(format, args...))
	}
	m := &machines{client: sync.OnceValues(func() (*http.Client, error) {
		with := wire.OptionsFromEnv(getenv)
		with.ClientCert, with.ClientKey = "", "" // for the servers of models
		c, err := wire.NewClient(with)
		if err == nil {
			c.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("it leads elsewhere") }
		}
		return c, err
	})}
	if len(set) > maxMachines {
		return nil, fmt.Errorf("config.yml: server.machines: at most %d, not %d", maxMachines, len(set))
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		is := set[name]
		u, err := url.Parse(is.Address)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return nil, wrong(name, "address: %.200q is not one like https://desk.local:4647", is.Address)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())) {
			return nil, wrong(name, "address: it must begin with https://, as a token is sent there")
		}
		one := otherMachine{name, u.Scheme + "://" + u.Host, getenv(is.TokenEnv)}
		switch {
		case is.TokenEnv == "":
			return nil, wrong(name, "tokenEnv: it names no variable with a token of that server")
		case one.token == "":
			return nil, wrong(name, "tokenEnv: the variable %s is not set", is.TokenEnv)
		}
		m.all = append(m.all, one)
	}
	return m, nil
}

// list asks all of them at once. One that doesn't answer as it should has a problem in place of sessions.
func (m *machines) list(ctx context.Context) []server.Machine {
	all := make([]server.Machine, len(m.all))
	var group sync.WaitGroup
	for i, one := range m.all {
		group.Go(func() {
			is := server.Machine{Name: one.name, Address: one.address, Sessions: []server.Listed{}}
			if err := m.ask(ctx, one, &is.Sessions); err != nil {
				is.Sessions, is.Problem = []server.Listed{}, err.Error()
			}
			all[i] = is
		})
	}
	group.Wait()
	return all
}

func (m *machines) ask(ctx context.Context, one otherMachine, to *[]server.Listed) error {
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	client, err := m.client()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, one.address+machineList, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+one.token)
	answer, err := client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.New("no answer within 5 seconds")
		}
		return fmt.Errorf("not reached: %w", err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return errors.New("it refuses the token: it must be one of an admin there")
	default:
		return fmt.Errorf("it answers %d", answer.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, machineAnswer)).Decode(to); err != nil || *to == nil {
		return errors.New("it is not a burin server, or one of another version")
	}
	all, seen := (*to)[:0], map[string]bool{"": true}
	for i := range *to {
		if s := &(*to)[i]; !seen[s.ID] && len(all) < machineSessions {
			seen[s.ID] = true
			all = append(all, *s)
		}
	}
	*to = all
	return nil
}
