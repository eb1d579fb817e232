package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// Pushing is what a browser needs to subscribe, and the subscriptions there are.
type Pushing struct {
	Key           string            `json:"key"` // applicationServerKey, in base64url
	Subscriptions []push.Subscribed `json:"subscriptions"`
}

// errPushOff means that the server sends no notifications.
var errPushOff = errors.New("notifications are off: an admin can set server.push and start the server again")

// pushRoutes are the operations about notifications of somebody's browsers.
func (s accounts) pushRoutes() []route {
	return []route{
		about(s, "GET", "/v1/me/push", "Lists the browsers that get notifications, and gives the key to subscribe one with.", s.pushing),
		about(s, "POST", "/v1/me/push", "Has this browser get notifications; the body is its PushSubscription.", func(_ http.ResponseWriter, r *http.Request, in push.Subscription) (push.Subscribed, error) {
			if s.push == nil {
				return push.Subscribed{}, errPushOff
			}
			who := sender(r)
			return s.push.Subscribe(r.Context(), who.Person, who.Device, site(r), in)
		}),
		about(s, "POST", "/v1/me/push/{id}/test", "Sends a notification to a browser, and says what the push service answers.", s.onSubscription((*push.Store).Test)),
		about(s, "POST", "/v1/me/push/{id}/remove", "Has a browser get no more notifications.", s.onSubscription((*push.Store).Remove)),
	}
}

func (s accounts) pushing(_ http.ResponseWriter, r *http.Request, _ nothing) (p Pushing, err error) {
	if s.push == nil {
		return p, errPushOff
	}
	who := sender(r)
	if p.Key, err = s.push.Key(r.Context()); err == nil {
		p.Subscriptions, err = s.push.List(r.Context(), who.Person, who.Device)
	}
	return p, err
}

func (s accounts) onSubscription(do func(p *push.Store, ctx context.Context, person, id string) error) func(w http.ResponseWriter, r *http.Request, _ nothing) (nothing, error) {
	return func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
		if s.push == nil {
			return none, errPushOff
		}
		return none, do(s.push, r.Context(), person(r), r.PathValue("id"))
	}
}

// statusOfPush is the status for an error of package push; 0 is that it is none.
func statusOfPush(err error) (status int, code string) {
	_, wait := errors.AsType[push.WaitError](err)
	_, service := errors.AsType[push.ServiceError](err)
	switch {
	case errors.Is(err, errPushOff), errors.Is(err, push.ErrUnknown):
		return http.StatusNotFound, ""
	case wait:
		return http.StatusTooManyRequests, "wait"
	case errors.Is(err, push.ErrGone):
		return http.StatusGone, "gone"
	case service:
		return http.StatusBadGateway, "push"
	case errors.Is(err, vault.ErrLocked):
		return http.StatusLocked, "locked"
	}
	return 0, ""
}
