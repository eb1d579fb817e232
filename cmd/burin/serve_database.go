package main

import (
	"context"
	"path/filepath"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/place"
)

// serverParts are the tables of all rooms that keep something in the server's database.
func serverParts() []store.Part {
	return []store.Part{people.Part(), project.Part, vfs.Part, gremlin.Part, vault.Part(), attachment.Part(), search.Part(), push.Part(), quota.Part(), private.Part()}
}

// databasePlace is where the server's database is: server.db, unless the settings name another.
func databasePlace(paths config.Paths, settings *config.Config) string {
	switch at := settings.Server.Database; {
	case at == "":
		return filepath.Join(paths.Data, "server.db")
	case pgstore.IsAddress(at):
		return at
	default:
		return archive.HomePath(at)
	}
}

// serverDatabase opens the server's database. The caller closes it.
func serverDatabase(ctx context.Context, p *program, paths config.Paths, settings *config.Config) (*store.DB, error) {
	return store.Open(ctx, databasePlace(paths, settings), p.getenv(place.PasswordVariable), serverParts()...)
}
