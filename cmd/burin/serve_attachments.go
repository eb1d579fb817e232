package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/llm/awsauth"
)

// serverAttachments opens what keeps the attachments, where the settings say.
func serverAttachments(ctx context.Context, p *program, settings *config.Config, db *store.DB, v *vault.Vault) (*attachment.Store, error) {
	at := settings.Text("server.attachments")
	var place attachment.Place
	switch {
	case at == "database":
	case strings.HasPrefix(at, "s3:"):
		var err error
		if place, err = bucketOf(ctx, p, at); err != nil {
			return nil, err
		}
	default:
		place = attachment.Folder(archive.HomePath(at))
	}
	return attachment.New(ctx, db, v, place)
}

// bucketOf is the bucket at an address s3://BUCKET/PREFIX?region=…&endpoint=…&style=….
func bucketOf(ctx context.Context, p *program, at string) (attachment.Place, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("server.attachments: %q is not in the form s3://BUCKET/PREFIX", at)
	}
	query := u.Query()
	for name := range query {
		if name != "region" && name != "endpoint" && name != "style" {
			return nil, fmt.Errorf("server.attachments: unknown parameter %q: there are region, endpoint and style", name)
		}
	}
	style := query.Get("style")
	if style != "" && style != "path" && style != "host" {
		return nil, fmt.Errorf("server.attachments: style must be path or host, not %q", style)
	}
	auth := awsauth.New(awsauth.Options{Region: query.Get("region"), Getenv: p.getenv})
	endpoint := cmp.Or(query.Get("endpoint"), p.getenv("AWS_ENDPOINT_URL_S3"), p.getenv("AWS_ENDPOINT_URL"))
	place, err := attachment.Bucket(attachment.BucketOptions{
		Bucket: u.Host, Region: auth.Region(ctx), Endpoint: endpoint, Credentials: auth.Credentials,
		PathStyle: style == "path" || style == "" && endpoint != "",
	}, u.Path)
	if err != nil {
		return nil, fmt.Errorf("server.attachments: %w", err)
	}
	return place, nil
}

// tend does what is done in the background: new keys, old attachments, the search index. The
// caller calls stop, which waits for it.
func (k *kept) tend(ctx context.Context, warn func(string)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	failed := func(err error) { warn(words.Error(err)) }
	var work sync.WaitGroup
	subscriptions := push.New(k.db, k.vault, push.Options{}) // also while nothing is sent
	work.Go(func() {
		k.vault.Tend(ctx, failed, k.people, k.projects, k.attachments, k.pieces, k.index, subscriptions)
	})
	if k.push != nil {
		work.Go(func() { k.push.Tend(ctx, failed) })
		work.Go(func() { k.watchSessions(ctx, failed) })
	}
	work.Go(func() { k.lockSignedOut(ctx, failed) })
	work.Go(func() { k.attachments.Tend(ctx, failed) })
	work.Go(func() { k.pieces.Tend(ctx, failed) })
	work.Go(func() { k.forgetRemoved(ctx, failed) })
	work.Go(func() { k.emptyTrash(ctx, failed) })
	work.Go(func() { k.index.Tend(ctx, failed) })
	work.Go(func() { k.finder.Tend(ctx, failed) })
	return func() {
		cancel()
		work.Wait()
	}
}

// openRooms opens the rooms of the server's database. On an error nothing stays open.
func (k *kept) openRooms(ctx context.Context, p *program, paths config.Paths, settings *config.Config) (err error) {
	if k.db, err = serverDatabase(ctx, p, paths, settings); err != nil {
		return err
	}
	if k.vault, err = serverVault(ctx, p, paths, settings, k.db); err == nil {
		k.pieces, err = serverAttachments(ctx, p, settings, k.db, k.vault)
	}
	if err != nil {
		_ = k.db.Close() // nothing is written any more
		return err
	}
	k.index = search.New(k.db, k.vault, 0)
	return nil
}
