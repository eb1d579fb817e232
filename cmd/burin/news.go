package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
)

// news looks once a day for a newer release, where it may; nil is never.
func (p *program) news(a askFlags, settings *config.Config, paths config.Paths) func(context.Context) string {
	if a.offline || !settings.Bool("startup.checkUpdate") || p.getenv("CI") != "" || p.getenv("BURIN_OFFLINE") != "" {
		return nil
	}
	return func(ctx context.Context) string {
		u, err := p.updater()
		if err != nil {
			return ""
		}
		return u.Hint(ctx, filepath.Join(paths.State, "update-check"), time.Now())
	}
}
