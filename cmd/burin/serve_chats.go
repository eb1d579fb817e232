package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/chats"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// ownerPerson is whose machine it is.
const ownerPerson = people.OwnerID

// cutAgent parts the id of an agent's session: that of the session it works for, a dot, and its own.
func cutAgent(id string) (session, agent string) {
	session, agent, _ = strings.Cut(id, ".")
	return session, agent
}

// may says why somebody has no access to a session.
func (k *kept) may(ctx context.Context, who server.Who, id string) error {
	id, _ = cutAgent(id)
	person, err := k.projects.PersonOf(ctx, id)
	switch {
	case errors.Is(err, project.ErrUnknown) && who.Role == people.Admin:
		return nil // a session of this machine, if there is one
	case errors.Is(err, project.ErrUnknown) && !who.Peer: // neither does it say whether there is one
		return fmt.Errorf("%w: you have no such chat, and sessions of this machine are for admins", session.ErrDenied)
	case err != nil && !errors.Is(err, project.ErrUnknown):
		return err
	case err != nil || person != who.Person && !who.Peer:
		return fmt.Errorf("%w %q", server.ErrUnknown, id)
	case who.Peer:
		return nil
	}
	_, err = k.vault.Ring(ctx, person) // a turn may run with locked keys
	return err
}

// faceOf opens or joins a session of this machine, a chat, or an agent of one.
func (k *kept) faceOf(ctx context.Context, who server.Who, id string, v chats.Visit) (session.Handle, error) {
	id, agent := cutAgent(id)
	h, err := k.sessionFace(ctx, who, id, v)
	if err != nil || agent == "" {
		return h, err
	}
	of, err := h.Agents().Open(ctx, agent, v.Name, v.Answers)
	if err != nil {
		_ = h.Close() // it only leaves
		return nil, err
	}
	return &agentFace{of, h}, nil
}

// agentFace is a handle of an agent, which keeps the session that it works for open.
type agentFace struct {
	session.Handle
	above session.Handle
}

// Close implements [session.Handle].
func (a *agentFace) Close() error { return errors.Join(a.Handle.Close(), a.above.Close()) }

func (k *kept) sessionFace(ctx context.Context, who server.Who, id string, v chats.Visit) (session.Handle, error) {
	if who.Peer {
		return k.chats.Here(ctx, id, v)
	}
	person, err := k.projects.PersonOf(ctx, id)
	if errors.Is(err, project.ErrUnknown) {
		of, agent, ok := strings.Cut(id, server.AgentSign)
		var h session.Handle
		if ok {
			h, err = k.agentFace(ctx, of, agent, v.Name, v.Answers)
		} else {
			h, err = k.face(ctx, id, v.Name, v.Answers)
		}
		if err != nil || !v.Watches {
			return h, err
		}
		return k.looking.at(of, h), nil
	}
	if err != nil {
		return nil, err
	}
	return k.chats.Face(ctx, person, id, v)
}

// dialPeer joins a chat that another server has.
func (k *kept) dialPeer(ctx context.Context, address, id string, v chats.Visit) (session.Handle, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	paths, err := config.FindPaths(k.program.getenv)
	if err != nil {
		return nil, err
	}
	client, err := attachClient(paths)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath("v1/sessions", id, "attach")
	if !v.Watches {
		u.RawQuery = "watching=false"
	}
	ws, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Authorization": {"Bearer " + k.vault.PeerToken()}},
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // the protocol has limits of its own
	conn := websocket.NetConn(context.WithoutCancel(ctx), ws, websocket.MessageText)
	h, err := remote.Connect(ctx, conn, v.Name, remote.Own)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return h, nil
}

// moved reports whether a chat is at another server.
func (k *kept) moved(ctx context.Context, id string) bool {
	_, err := k.projects.PersonOf(ctx, id)
	return err == nil && k.chats.Moved(ctx, id)
}

// used is what a person uses of their limits.
func (k *kept) used(ctx context.Context, person string) (quota.Used, error) {
	is, err := k.quotas.Used(ctx, person)
	if err == nil {
		is.Turns, err = project.Running(ctx, k.projects, person)
	}
	return is, err
}

// models are those that a person may use.
func (k *kept) models(ctx context.Context, person string) ([]host.Usable, error) {
	is, err := k.people.Limits(ctx, person)
	if err != nil {
		return nil, err
	}
	return host.UsableModels(ctx, k.here, is.Models)
}

// mayUse says why a person may not use the model of a selector.
func (k *kept) mayUse(ctx context.Context, person, selector string) error {
	is, err := k.people.Limits(ctx, person)
	if err != nil || len(is.Models) == 0 {
		return err
	}
	return host.MayUse(ctx, k.here, selector, is.Models)
}
