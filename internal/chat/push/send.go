package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/outbound"
)

const (
	lifetime  = 24 * time.Hour   // of a message, here and at the push service
	trialFor  = time.Minute      // of a test
	trialGap  = 10 * time.Second // between tests of a subscription
	sendTime  = 15 * time.Second // for one request
	endTime   = 2 * time.Second  // for those under way when the server ends
	firstWait = 10 * time.Second // after a failure; it doubles with each
	lastWait  = time.Hour
	lookEvery = time.Minute // for what a server has left that died
	tidyEvery = time.Hour
	maxAnswer = 4 << 10 // bytes of an answer that are read
	atOnce    = 32      // requests
	maxBatch  = 1000
)

// errUnwanted means that a message is not for a browser.
var errUnwanted = errors.New("the message is not for this browser")

// waiting is a message that waits.
type waiting struct {
	subscription, chat string
	kind               Kind
	created            int64
}

// Tend sends what waits, and removes the subscriptions of browsers in which nobody is signed in any
// more, until ctx ends. failed is told what went wrong here; it is tried again later.
func (s *Store) Tend(ctx context.Context, failed func(error)) {
	o := &sender{s: s, ctx: ctx, places: make(chan struct{}, atOnce), busy: map[string]bool{}, failed: func(err error) {
		if err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("send notifications: %w", err))
		}
	}}
	defer o.work.Wait()
	tidied := time.Time{}
	for ctx.Err() == nil {
		if now := time.Now(); now.Sub(tidied) >= tidyEvery {
			o.failed(s.tidy(ctx))
			tidied = now
		}
		wait, err := o.sendDue()
		o.failed(err)
		select {
		case <-ctx.Done():
		case <-s.kick:
		case <-time.After(wait):
		}
	}
}

// sender sends messages side by side, and those to one browser one after the other.
type sender struct {
	s      *Store
	ctx    context.Context
	places chan struct{}
	failed func(error)
	work   sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool // subscriptions
}

// sendDue begins to send what may be sent now, and says when to look again.
func (o *sender) sendDue() (wait time.Duration, err error) {
	now := o.s.now().UnixMilli()
	due, err := o.s.due(o.ctx, now)
	if err != nil {
		return lookEvery, err
	}
	for _, w := range due {
		o.mu.Lock()
		free := !o.busy[w.subscription]
		o.busy[w.subscription] = true
		o.mu.Unlock()
		if !free {
			continue
		}
		select {
		case o.places <- struct{}{}:
		case <-o.ctx.Done():
			return lookEvery, nil
		}
		o.work.Go(func() {
			err := o.s.take(o.ctx, w)
			o.mu.Lock()
			delete(o.busy, w.subscription)
			o.mu.Unlock()
			<-o.places
			if o.failed(err); err == nil { // else it is looked at later
				o.s.Wake()
			}
		})
	}
	var later *int64
	err = o.s.db.QueryRow(o.ctx, `SELECT min(s.later) FROM {push_waiting} w JOIN {push_subscriptions} s ON s.id = w.subscription WHERE s.later > ?1`, now).Scan(&later)
	if err != nil || later == nil {
		return lookEvery, err
	}
	return min(max(0, time.Duration(*later-now)*time.Millisecond), lookEvery), nil
}

func (s *Store) due(ctx context.Context, now int64) (all []waiting, err error) {
	rows, err := s.db.Query(ctx, `SELECT w.subscription, w.chat, w.kind, w.created FROM {push_waiting} w JOIN {push_subscriptions} s ON s.id = w.subscription
		WHERE s.later <= ?1 ORDER BY w.created LIMIT ?2`, now, maxBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var w waiting
		if err := rows.Scan(&w.subscription, &w.chat, &w.kind, &w.created); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, rows.Err()
}

// take sends a message that waits, unless another server does.
func (s *Store) take(ctx context.Context, w waiting) error {
	n, err := s.db.Exec(ctx, `DELETE FROM {push_waiting} WHERE subscription = ?1 AND chat = ?2 AND kind = ?3 AND created = ?4`, w.subscription, w.chat, string(w.kind), w.created)
	if err != nil || n == 0 {
		return err
	}
	left := time.UnixMilli(w.created).Add(lifetime).Sub(s.now())
	if left <= 0 {
		return nil // nobody wants to hear it any more
	}
	r, err := s.rowOf(ctx, w.subscription)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endTime, cancel) })()
	if err == nil {
		err = s.deliver(sending, r, w, left)
	}
	return s.settle(context.WithoutCancel(ctx), w, err)
}

// settle notes what became of a message, which waits again if that may help.
func (s *Store) settle(ctx context.Context, w waiting, err error) error {
	now := s.now()
	refused, isRefused := errors.AsType[refusal](err)
	switch {
	case err == nil:
		_, err = s.db.Exec(ctx, `UPDATE {push_subscriptions} SET sent = ?2, later = 0, failures = 0, failure = '' WHERE id = ?1`, w.subscription, now.UnixMilli())
		return err
	case errors.Is(err, errUnwanted):
		return nil
	case errors.Is(err, ErrGone):
		_, err = s.db.Exec(ctx, `DELETE FROM {push_subscriptions} WHERE id = ?1`, w.subscription)
		return err
	case isRefused && !refused.again:
		_, err = s.db.Exec(ctx, `UPDATE {push_subscriptions} SET failure = ?2 WHERE id = ?1`, w.subscription, refused.Error())
		return err
	}
	why := "" // what is wrong here is for the log
	if isRefused {
		why, err = refused.Error(), nil
	}
	return errors.Join(err, s.db.Update(ctx, func(q store.Querier) error {
		var failures int
		e := q.QueryRow(ctx, `UPDATE {push_subscriptions} SET failures = failures + 1, failure = ?2 WHERE id = ?1 RETURNING failures`, w.subscription, why).Scan(&failures)
		if e != nil {
			return e
		}
		wait := max(min(firstWait<<min(failures-1, 20), lastWait), min(refused.after, lifetime))
		_, e = q.Exec(ctx, `UPDATE {push_subscriptions} SET later = ?2 WHERE id = ?1`, w.subscription, now.Add(wait).UnixMilli())
		if e == nil { // a newer one may be there
			_, e = q.Exec(ctx, `INSERT INTO {push_waiting} (subscription, chat, kind, created) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (subscription, chat) DO NOTHING`,
				w.subscription, w.chat, string(w.kind), w.created)
		}
		return e
	}))
}

// refusal is why a push service did not take a message.
type refusal struct {
	ServiceError
	again bool          // it may take it later
	after time.Duration // at the earliest; 0 is that it didn't say
}

// deliver sends a message to a subscription.
func (s *Store) deliver(ctx context.Context, r row, w waiting, ttl time.Duration) error {
	devices, err := s.o.Devices(ctx, r.person)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(devices, func(d people.Device) bool { return d.ID == r.device }) {
		return ErrGone // signed out there
	}
	sub, err := s.open(ctx, r)
	if errors.Is(err, vault.ErrLocked) {
		return refusal{ServiceError: ServiceError{"your keys are locked"}, again: true}
	}
	if err != nil {
		return err
	}
	m := message{Kind: w.kind, Chat: w.chat}
	if session, ok := strings.CutPrefix(w.chat, ofSession); ok {
		if s.o.SessionTitle == nil || !sub.Sessions {
			return errUnwanted
		}
		title, may, err := s.o.SessionTitle(ctx, r.person, session)
		if err != nil {
			return err
		}
		if !may {
			return errUnwanted
		}
		m.Chat, m.Session = "", session
		if sub.Title {
			m.Title = title
		}
	} else if sub.Title && w.chat != "" {
		if m.Title, err = s.o.Title(ctx, r.person, w.chat); err != nil {
			return err
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	request, err := s.request(ctx, sub, text, ttl)
	if err != nil {
		return err
	}
	if w.chat != "" {
		request.Header.Set("Topic", topic(sub, w.chat))
	}
	if w.kind == Question || w.kind == Trial {
		request.Header.Set("Urgency", "high")
	}
	answer, err := s.client.Do(request)
	switch {
	case errors.Is(err, outbound.ErrPrivate):
		return refusal{ServiceError: ServiceError{fmt.Sprintf("the push service %s is in this machine's network: server.pushHosts can allow it", request.URL.Host)}}
	case err != nil:
		return refusal{ServiceError: ServiceError{fmt.Sprintf("the push service %s can't be reached", request.URL.Host)}, again: true}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return ErrGone
	default:
		return refusal{
			ServiceError: ServiceError{fmt.Sprintf("the push service %s answers with status %d", request.URL.Host, code)},
			again:        code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500,
			after:        retryAfter(answer.Header.Get("Retry-After"), s.now()),
		}
	}
}

// request makes the request that carries a message.
func (s *Store) request(ctx context.Context, sub sealed, text []byte, ttl time.Duration) (*http.Request, error) {
	to, err := sub.Keys.public()
	if err != nil {
		return nil, err
	}
	auth, err := sub.Keys.secret()
	if err != nil {
		return nil, err
	}
	from, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	body, err := encrypt(text, to, auth, from, salt, padded)
	if err != nil {
		return nil, err
	}
	endpoint, err := url.Parse(sub.Endpoint)
	if err != nil {
		return nil, err
	}
	private, err := s.private(ctx)
	if err != nil {
		return nil, err
	}
	contact := s.o.Contact
	if contact == "" {
		contact = sub.Site
	}
	proof, err := authorization(private, endpoint, contact, s.now())
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // so that nothing is sent twice by itself
	for name, value := range map[string]string{
		"Authorization": proof, "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
		"TTL": strconv.Itoa(int(ttl / time.Second)), "Urgency": "normal",
	} {
		r.Header.Set(name, value)
	}
	return r, nil
}

// topic names a chat to a push service, which drops an older message about it that it still has. It
// tells nothing, neither which chat it is nor that two browsers are told of the same.
func topic(sub sealed, chat string) string {
	mac := hmac.New(sha256.New, []byte(sub.Keys.Auth))
	mac.Write([]byte(chat))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}

// retryAfter is how long a push service wants to be left alone.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, int(lifetime/time.Second)))*time.Second, lifetime)
	}
	if when, err := http.ParseTime(text); err == nil {
		return max(0, when.Sub(now))
	}
	return 0
}

// Test sends a message to a subscription of a person, and says what became of it.
func (s *Store) Test(ctx context.Context, person, id string) error {
	r, err := s.rowOf(ctx, id)
	if err == nil && r.person != person {
		err = ErrUnknown
	}
	if err != nil {
		return err
	}
	now := s.now()
	n, err := s.db.Exec(ctx, `UPDATE {push_subscriptions} SET tested = ?2 WHERE id = ?1 AND tested <= ?3`, id, now.UnixMilli(), now.Add(-trialGap).UnixMilli())
	switch {
	case err != nil:
		return err
	case n == 0:
		return WaitError{trialGap}
	}
	err = s.deliver(ctx, r, waiting{subscription: id, kind: Trial}, trialFor)
	refused, isRefused := errors.AsType[refusal](err)
	switch {
	case errors.Is(err, ErrGone):
		return errors.Join(err, s.Remove(ctx, person, id))
	case isRefused:
		return refused.ServiceError
	case err == nil:
		_, err = s.db.Exec(ctx, `UPDATE {push_subscriptions} SET sent = ?2, later = 0, failures = 0, failure = '' WHERE id = ?1`, id, now.UnixMilli())
	}
	return err
}

// tidy removes the subscriptions of browsers in which nobody is signed in.
func (s *Store) tidy(ctx context.Context) error {
	rows, err := s.db.Query(ctx, `SELECT id, person, device FROM {push_subscriptions} ORDER BY person`)
	if err != nil {
		return err
	}
	defer rows.Close()
	of := map[string][]row{}
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.person, &r.device); err != nil {
			return err
		}
		of[r.person] = append(of[r.person], r)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for person, all := range of {
		devices, err := s.o.Devices(ctx, person)
		if err != nil {
			return err
		}
		for _, r := range all {
			if slices.ContainsFunc(devices, func(d people.Device) bool { return d.ID == r.device }) {
				continue
			}
			if _, err := s.db.Exec(ctx, `DELETE FROM {push_subscriptions} WHERE id = ?1`, r.id); err != nil {
				return err
			}
		}
	}
	return nil
}
