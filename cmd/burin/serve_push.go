package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/customize/config"
)

// pushOff is the value of server.push that turns notifications off.
const pushOff = "off"

// openPush makes what tells people's browsers what happened; nil is that nobody is told.
func (k *kept) openPush(settings *config.Config) error {
	contact := settings.Server.Push
	if contact == pushOff {
		return nil
	}
	if u, err := url.Parse(contact); contact != "" && (err != nil || u.Scheme != "https" && u.Scheme != "mailto" || u.Scheme == "https" && u.Host == "" || u.Scheme == "mailto" && !strings.Contains(u.Opaque, "@")) {
		return fmt.Errorf("server.push: %q is neither off nor an address at which you are reached, such as mailto:you@example.org or https://example.org", contact)
	}
	k.subscribed = make(chan struct{}, 1)
	k.push = push.New(k.db, k.vault, push.Options{
		Subscribed: func() {
			select {
			case k.subscribed <- struct{}{}:
			default:
			}
		},
		Contact: contact, Hosts: settings.Server.PushHosts,
		Devices: func(ctx context.Context, person string) ([]people.Device, error) {
			return k.people.Devices(ctx, person, "")
		},
		Title: func(ctx context.Context, person, id string) (string, error) {
			chat, err := k.projects.Chat(ctx, person, id)
			if errors.Is(err, project.ErrUnknown) { // it was removed meanwhile
				err = nil
			}
			return chat.Title, err
		},
		SessionTitle: k.sessionTitle,
	})
	return nil
}
