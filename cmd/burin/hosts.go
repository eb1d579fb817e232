package main

import (
	"context"
	"sync"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/words"
)

// hosts are what is around the sessions of many folders: each folder has a host of its own,
// with the commands and settings that hold there.
type hosts struct {
	program *program
	ask     askFlags

	mu  sync.Mutex
	all map[string]*host.Host
}

func newHosts(p *program, a askFlags) *hosts {
	return &hosts{program: p, ask: a, all: map[string]*host.Host{}}
}

// in gives the host of a folder.
func (e *hosts) in(dir string) (*host.Host, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.all[dir]; h != nil {
		return h, nil
	}
	h, err := e.program.hostIn(&e.ask, dir, func(line string) { e.program.warn(words.Line(line)) })
	if err == nil {
		e.all[dir] = h
	}
	return h, err
}

func (e *hosts) close(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.all {
		e.program.closeHost(ctx, h)
	}
}
