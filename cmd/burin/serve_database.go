package main

import (
	"context"
	"path/filepath"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
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
	return []store.Part{people.Part(), project.Part, vfs.Part, gremlin.Part, vault.Part(), attachment.Part(), search.Part()}
}

// serverDatabase opens the server's database: server.db, unless the settings name another. The
// caller closes it.
func serverDatabase(ctx context.Context, p *program, paths config.Paths, settings *config.Config) (*store.DB, error) {
	at := settings.Server.Database
	switch {
	case at == "":
		at = filepath.Join(paths.Data, "server.db")
	case !pgstore.IsAddress(at):
		at = archive.HomePath(at)
	}
	return store.Open(ctx, at, p.getenv(place.PasswordVariable), serverParts()...)
}
