package acp

import (
	"context"
	"encoding/json"
	"errors"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
)

// EventMethod is the notification that carries a raw event to clients that ask for them.
const EventMethod = "_burin/event"

// Ways to authenticate.
const (
	authKey   = "burin-key"
	authLogin = "burin-login"
)

// burinMeta is what a client says in its capabilities under "_meta"."burin".
type burinMeta struct {
	Events bool `json:"events"`
}

// initialize agrees on a version: a client with a newer one is offered burin's and decides
// whether it can speak that.
func (a *face) initialize(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.InitializeRequest](params)
	if err != nil {
		return nil, err
	}
	switch {
	case p.ProtocolVersion == nil:
		return nil, proto.Invalid("protocolVersion is missing")
	case *p.ProtocolVersion < proto.Version:
		return nil, proto.Invalid("protocol version %d is older than %d, the oldest that burin speaks: update the client", *p.ProtocolVersion, proto.Version)
	}
	a.mu.Lock()
	a.client = p
	a.mu.Unlock()
	return func(context.Context) (any, error) {
		return proto.InitializeResponse{
			ProtocolVersion: proto.Version, AgentCapabilities: capabilities(), AuthMethods: a.authMethods(p),
			AgentInfo: proto.Implementation{Name: "burin", Title: "burin", Version: a.o.Version},
		}, nil
	}, nil
}

// capabilities come from the list of methods, besides what a prompt may contain.
func capabilities() proto.AgentCapabilities {
	c := proto.AgentCapabilities{
		PromptCapabilities: proto.PromptCapabilities{Image: true, Audio: true, EmbeddedContext: true},
		MCPCapabilities:    proto.MCPCapabilities{HTTP: true, SSE: true}, // programs need no word
		Meta:               map[string]any{"burin": map[string]any{"events": true}},
	}
	c.SessionCapabilities.AdditionalDirectories = &proto.Empty{}
	for _, m := range methods() {
		if m.offered != nil {
			m.offered(&c)
		}
	}
	return c
}

// authMethods are the ways to get a key: set one and let burin look again, or, if the client
// can start burin in a terminal, log in there.
func (a *face) authMethods(p *proto.InitializeRequest) []proto.AuthMethod {
	all := []proto.AuthMethod{{
		ID: authKey, Name: "Use an API key or a login",
		Description: "Set a variable such as ANTHROPIC_API_KEY, or run burin login PROVIDER or burin keys add PROVIDER in a terminal, and try again.",
	}}
	if p.ClientCapabilities.Auth.Terminal {
		all = append(all, proto.AuthMethod{
			Type: "terminal", ID: authLogin, Name: "Log in with burin", Description: "Choose a provider in a terminal.", Env: a.o.Login,
		})
	}
	return all
}

// authenticate looks for a key again.
func (a *face) authenticate(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.AuthenticateRequest](params)
	if err != nil {
		return nil, err
	}
	if p.MethodID != authKey {
		return nil, proto.Invalid("unknown authentication method %q: use %q", p.MethodID, authKey)
	}
	return func(ctx context.Context) (any, error) {
		f, err := a.o.Folder(a.o.Dir)
		if err != nil {
			return nil, err
		}
		models, err := f.Models()
		if err != nil {
			return nil, err
		}
		if _, err := models.Choose(ctx, catalog.Wish{}); err != nil {
			return nil, proto.Errorf(proto.CodeAuthRequired, "%s", err)
		}
		return proto.Empty{}, nil
	}, nil
}

// keyless turns a missing key into the error code that clients know.
func keyless(err error) error {
	if none, ok := errors.AsType[*credential.NotFoundError](err); ok {
		return proto.Errorf(proto.CodeAuthRequired, "%s", none)
	}
	return err
}
