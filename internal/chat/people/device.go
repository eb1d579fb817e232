package people

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	idleFor     = 30 * 24 * time.Hour  // a device that wasn't seen for so long is signed out
	signedInFor = 180 * 24 * time.Hour // and each one after this
	rotateEvery = 24 * time.Hour       // a device gets a new secret
	grace       = time.Minute          // for which requests under way may have the old one
)

// SecretFor is how long the secret of a device may be kept by a browser.
const SecretFor = signedInFor

// Device is a browser in which somebody is signed in.
type Device struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // such as "Firefox on Linux"
	Address string    `json:"from"` // where it was seen first
	Created time.Time `json:"created"`
	Seen    time.Time `json:"seen"`              // last, to the minute
	Current bool      `json:"current,omitempty"` // it is the one that asks
}

// From is where somebody signs in.
type From struct {
	Address string // of the network
	Agent   string // the browser's User-Agent
	Device  string // the id of the device that was signed in here before; "" is none
}

// enter signs a person in on a new device, and returns its secret. A secret that somebody could
// have put into the browser before is worth nothing then.
func (p *People) enter(ctx context.Context, q store.Querier, person string, from From) (secret string, err error) {
	now := p.now()
	secret = rand.Text()
	if _, err = q.Exec(ctx, `DELETE FROM {devices} WHERE id = ?1 OR seen < ?2 OR created < ?3`, from.Device, now.Add(-idleFor).Unix(), now.Add(-signedInFor).Unix()); err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	_, err = q.Exec(ctx, `DELETE FROM {devices} WHERE id IN (SELECT id FROM {devices} WHERE person = ?1 ORDER BY seen DESC LIMIT 1000 OFFSET ?2)`, person, maxDevices-1)
	if err == nil {
		_, err = q.Exec(ctx, `INSERT INTO {devices} (id, person, hash, rotated, confirmed, name, address, created, seen) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?4, ?4)`,
			strings.ToLower(rand.Text()), person, hashed(secret), now.Unix(), deviceName(from.Agent), from.Address)
	}
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return secret, p.note(ctx, q, By{person, from.Address}, "signin", person, deviceName(from.Agent))
}

const whoColumns = `d.id, o.name, o.id, o.role`

func scanWho(who *Who) []any { return []any{&who.Device, &who.Name, &who.Person, &who.Role} }

// Device says who is signed in on the device with a secret. fresh is the secret that the browser
// is to have from now on; "" is that it keeps the one it has. The error is [ErrUnknown] if nobody
// is signed in.
func (p *People) Device(ctx context.Context, secret string) (who Who, fresh string, err error) {
	if secret == "" {
		return Who{}, "", ErrUnknown
	}
	now, sum := p.now(), hashed(secret)
	var hash []byte
	var rotated, confirmed, created, seen int64
	err = p.db.QueryRow(ctx, `SELECT `+whoColumns+`, d.hash, d.rotated, d.confirmed, d.created, d.seen
		FROM {devices} d JOIN {people} o ON o.id = d.person WHERE (d.hash = ?1 OR d.old = ?1) AND o.disabled = 0`, sum).
		Scan(append(scanWho(&who), &hash, &rotated, &confirmed, &created, &seen)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Who{}, "", ErrUnknown
	case err != nil:
		return Who{}, "", fmt.Errorf("look for a device: %w", err)
	case over(now, created, seen):
		return Who{}, "", ErrUnknown
	}
	who.Rights = who.Role.Most()
	current := bytes.Equal(hash, sum)
	// The old secret is good until the browser has shown that it has the new one, and a moment longer.
	if !current && confirmed != 0 && now.Sub(since(confirmed)) > grace {
		return Who{}, "", ErrUnknown
	}
	// Where these can't be written, the secret is good all the same.
	switch turned := now.Sub(since(rotated)); {
	case current && turned >= rotateEvery, !current && confirmed == 0 && turned > grace: // whose new one got lost
		fresh = rand.Text()
		n, err := p.db.Exec(ctx, `UPDATE {devices} SET old = ?2, hash = ?3, rotated = ?4, confirmed = 0, seen = ?4 WHERE id = ?1 AND hash = ?5`,
			who.Device, sum, hashed(fresh), now.Unix(), hash)
		if err != nil || n == 0 { // a request beside this one gets it
			fresh = ""
		}
	case current && confirmed == 0:
		_, _ = p.db.Exec(ctx, `UPDATE {devices} SET confirmed = ?3, seen = ?3 WHERE id = ?1 AND hash = ?2`, who.Device, sum, now.Unix())
	case now.Sub(since(seen)) >= useEvery:
		_, _ = p.db.Exec(ctx, `UPDATE {devices} SET seen = ?2 WHERE id = ?1`, who.Device, now.Unix())
	}
	return who, fresh, nil
}

// over reports whether a device has been signed in, or not been seen, for too long.
func over(now time.Time, created, seen int64) bool {
	return now.Sub(since(created)) >= signedInFor || now.Sub(since(seen)) >= idleFor
}

// onDevice says who is signed in on a device.
func (p *People) onDevice(ctx context.Context, id string) (who Who, err error) {
	var created, seen int64
	err = p.db.QueryRow(ctx, `SELECT `+whoColumns+`, d.created, d.seen FROM {devices} d JOIN {people} o ON o.id = d.person WHERE d.id = ?1 AND o.disabled = 0`, id).
		Scan(append(scanWho(&who), &created, &seen)...)
	now := p.now()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Who{}, ErrUnknown
	case err != nil:
		return Who{}, fmt.Errorf("look for a device: %w", err)
	case over(now, created, seen):
		return Who{}, ErrUnknown
	case now.Sub(since(seen)) >= useEvery: // a stream is a use
		_, _ = p.db.Exec(ctx, `UPDATE {devices} SET seen = ?2 WHERE id = ?1`, id, now.Unix())
	}
	who.Rights = who.Role.Most()
	return who, nil
}

// Devices returns the devices of a person, the one seen last first.
func (p *People) Devices(ctx context.Context, person, current string) ([]Device, error) {
	now := p.now()
	rows, err := p.db.Query(ctx, `SELECT id, name, address, created, seen FROM {devices} WHERE person = ?1 AND seen > ?2 AND created > ?3 ORDER BY seen DESC, id`,
		person, now.Add(-idleFor).Unix(), now.Add(-signedInFor).Unix())
	return collect(rows, err, "list the devices", func(row interface{ Scan(...any) error }) (d Device, err error) {
		var created, seen int64
		err = row.Scan(&d.ID, &d.Name, &d.Address, &created, &seen)
		d.Created, d.Seen, d.Current = since(created), since(seen), d.ID == current
		return d, err
	})
}

// SignOut signs a person out on one of their devices.
func (p *People) SignOut(ctx context.Context, by By, person, device string) error {
	return p.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM {devices} WHERE id = ?1 AND person = ?2`, asText(device), person)
		if err != nil {
			return fmt.Errorf("sign out: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("%w device", ErrUnknown)
		}
		return p.note(ctx, q, by, "signout", person, "")
	})
}

// deviceName says what a browser is, as it tells of itself.
func deviceName(agent string) string {
	name := ""
	// Each claims to be those after it.
	for _, b := range [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(agent, b[0]) {
			name = b[1]
			break
		}
	}
	if name == "" {
		if name, _, _ = strings.Cut(prose.Plain(prose.Head(agent, 400), maxDisplay), " "); name == "" {
			return "a program"
		}
		return name
	}
	for _, s := range [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, s[0]) {
			return name + " on " + s[1]
		}
	}
	return name
}
