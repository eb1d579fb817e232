package tui

import (
	"context"

	"github.com/burin-dev/burin/internal/mode/tui/servers"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// ServerDesk knows the MCP servers and changes them.
type ServerDesk interface {
	servers.Desk
	// Login logs in to a server and connects to it, and says so.
	Login(ctx context.Context, id string, ui oauth.UI) (said string, err error)
}

// serverPanel is the command about MCP servers.
type serverPanel struct {
	*base
	*current
	panes *panes
	login func(name string, run func(context.Context, oauth.UI) (said string, err error))
	desk  ServerDesk
}

// open shows the servers, or the one that is named.
func (sp *serverPanel) open(name string) {
	var p *servers.Panel
	p = servers.New(sp.env, servers.Options{
		Desk: sp.desk, Open: name, Remote: sp.session != nil && !sp.session.Owns(),
		OnClose: func() { sp.panes.remove(p) },
		OnLogin: func(id, name string) {
			sp.panes.remove(p)
			sp.login(name, func(ctx context.Context, ui oauth.UI) (string, error) { return sp.desk.Login(ctx, id, ui) })
		},
	})
	sp.panes.push(p)
}
