package chats

import (
	"context"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/chat/kit"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// minions are the agents of a chat with these tools; nil if its project wants none.
func (c *Chats) minions(h *held, p project.Project, chat project.Chat, tree *vfs.Tree) *host.Minions {
	o := p.Tools.Minion
	if o == nil {
		return nil
	}
	keep := minionKeeper{project.MinionsOf(c.o.Store, h.person, chat), h}
	returns := &kit.Returning{Deferred: o.Return == "deferred"}
	if o.Return == "none" {
		returns = nil
	}
	return &host.Minions{
		Keep: keep, Model: o.Model, Concurrency: o.Concurrency,
		Log: func(id string, lo transcript.Options) (*transcript.Log, error) {
			return keep.Open(h.with(c.ctx), id, lo)
		},
		Personas: func() (all []host.Persona, err error) {
			found := []kit.Persona{{Name: kit.DefaultPersona, Description: "does any task", Prompt: o.Instructions}}
			if o.Personas {
				found, err = kit.Personas(h.with(c.ctx), tree, o.Instructions)
			}
			for _, p := range found {
				all = append(all, host.Persona(p))
			}
			return all, err
		},
		Desk: func(id, persona string) (desk host.MinionDesk, err error) {
			own := tree
			if o.Personas {
				if own, err = kit.Namespace(tree, persona); err != nil {
					return desk, err
				}
			}
			tools := kit.New(kit.Options{Tools: p.Tools.OfMinions(), Tree: own, Chat: chat.ID + "." + id, Return: returns, Engine: c.engine, Library: c.library, Project: p.ID, Temperature: p.Temperature})
			return host.MinionDesk{Files: tools.Tree.Files(c.ctx), Without: tools.Without, Extra: tools.Tools, Chains: tools.Chains}, nil
		},
		Result: func(out agent.Outcome) string { return kit.Returned(out.Messages) },
	}
}

// minionKeeper keeps agents with the keys that the chat's turn holds.
type minionKeeper struct {
	*project.Minions
	held *held
}

// Note implements crew.Keeper.
func (k minionKeeper) Note(ctx context.Context, id string, facts []byte) error {
	return k.Minions.Note(k.held.with(ctx), id, facts)
}

// Notes implements crew.Keeper.
func (k minionKeeper) Notes(ctx context.Context) ([][]byte, error) {
	return k.Minions.Notes(k.held.with(ctx))
}

// View implements crew.Keeper.
func (k minionKeeper) View(ctx context.Context, id string) (*transcript.Log, error) {
	return k.Minions.View(k.held.with(ctx), id)
}

// settleMinions says that a turn is over which a person began with an agent of a chat, while nothing is done in the chat itself.
func (c *Chats) settleMinions(id string, h *held, s *session.Session) error {
	n := h.accepted.Load()
	if n <= h.settled.Load() || s.Facts().Working {
		return nil
	}
	all, err := s.Face("notes", false).Agents().List(c.ctx)
	for _, a := range all {
		if a.Active() {
			return err
		}
	}
	if err == nil {
		err = c.o.Store.Settle(c.ctx, id, h.holder, n, nil)
	}
	if err == nil {
		h.settled.Store(n)
		h.let(n)
	}
	return err
}
