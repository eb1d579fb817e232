package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
)

func retryOf(c *config.Config) session.Retry {
	r := session.Retry{Off: c.Retry.Enabled != nil && !*c.Retry.Enabled}
	if n := c.Retry.MaxRetries; n != nil {
		r.Max, r.Off = *n, r.Off || *n == 0
	}
	if n := c.Retry.BaseDelayMS; n != nil {
		r.Base = time.Duration(*n) * time.Millisecond
	}
	if n := c.Retry.MaxDelayMS; n != nil {
		r.Limit = time.Duration(*n) * time.Millisecond
	}
	return r
}

func compactionOf(c *config.Config) compact.Settings {
	s, own := compact.Defaults(), c.Compaction
	set(&s.Enabled, own.Enabled)
	if own.Strategy != "" {
		s.Strategy = compact.Strategy(own.Strategy)
	}
	set(&s.ReserveTokens, own.ReserveTokens)
	set(&s.KeepRecentTokens, own.KeepRecentTokens)
	set(&s.ThresholdPercent, own.ThresholdPercent)
	set(&s.ThresholdTokens, own.ThresholdTokens)
	set(&s.SupersedeReads, own.SupersedeReads)
	s.RemoteEndpoint = own.RemoteEndpoint
	s.IdleEnabled = own.IdleEnabled
	set(&s.IdleThresholdTokens, own.IdleThresholdTokens)
	if own.IdleTimeoutSeconds != nil {
		s.IdleTimeout = time.Duration(*own.IdleTimeoutSeconds) * time.Second
	}
	s.BranchEnabled = c.BranchSummary.Enabled
	set(&s.BranchReserveTokens, c.BranchSummary.ReserveTokens)
	return s
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// loadSecrets reads secrets.yml of the folders, the most specific first.
func loadSecrets(dirs ...string) ([]secret.Entry, error) {
	var all []secret.Entry
	for _, dir := range dirs {
		path := filepath.Join(dir, "secrets.yml")
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the secrets: %w", err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var entries []secret.Entry
		if err := yaml.UnmarshalWithOptions(data, &entries, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s:%s", path, config.OneLine(err))
		}
		for i, e := range entries {
			if err := e.Validate(); err != nil {
				return nil, fmt.Errorf("%s: entry %d: %w", path, i+1, err)
			}
		}
		all = append(all, entries...)
	}
	return all, nil
}
